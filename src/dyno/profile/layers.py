"""The layers of an engine: which part of it a function belongs to, by a table for each engine.

A function's layer is told by its source file, where the build has debug information, else by its
name; where a stripped build has neither, by the named functions that stand around it. Tables are
`layers/ENGINE.toml`: layers in their order of trial, each with patterns of sources and of names
(`*` stands for anything); the first that matches counts. `waits` names the functions in which a
server waits for its client, or works by the clock; `hidden` is the layer of a library whose names
are all dropped: of code far from any named function. `layers/kernel.toml` is the kernel's, which
samples of CPU time meet, too.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from dyno.profile.callgrind import ADDRESS, UNKNOWN, CodeFunction, tidy_name
from dyno.profile.neighbours import read_functions
from dyno.record.profile import CpuProfile, ProfiledFunction

TABLES = Path(__file__).with_name("layers")
#: What a function is of that no pattern matches.
OTHER = "other"
#: Layers of libraries that every engine uses, by the beginning of their files' names.
ALLOCATION, C_LIBRARY, LOADER = "allocation", "C library", "loader"
SYSTEM = ("libc.so", "libc-", "libm.so", "libpthread", "libstdc++", "libgcc_s", "libdl.so")
LOADERS = ("ld-linux", "ld-2")
#: Other shared objects in an engine's process: what it links to, and what a user loads into it.
EXTENSIONS = "libraries and extensions"
SHARED_OBJECT = re.compile(r"\.so(\.\d+)*$")
#: Of these the layer is known by the file. `ha_*.so` are storage engines of MariaDB.
ALLOCATORS, STORAGE_ENGINES = ("libjemalloc", "libtcmalloc", "libmimalloc"), ("ha_",)
#: Layers that only samples meet. The driver is part of an embedded engine's process.
DRIVER, RUN_TIME_CODE, VDSO, UNNAMED = "driver", "code made at run time", "vDSO", "unknown"
KERNEL, KERNEL_OTHER = "[kernel]", "kernel: other"
#: The name of a function of which nothing is known.
NO_SYMBOL = "(no symbol)"
#: So many named functions on either side of a nameless one are asked for their layer, and one layer
#: must have so many times the voices of the next.
NEIGHBOURS, LEAD = 8, 3
#: Named functions of one library do not stand as far apart as this.
HIDDEN_BYTES = 1 << 16
DRIVER_PROGRAM = "dyno-driver"
ALLOCATES = re.compile(
    r"_?_?(?:libc_|int_)*(?:malloc|free|calloc|realloc|memalign|posix_memalign|aligned_alloc)\b"
    r"|malloc_\w+|_int_\w+|unlink_chunk|tcache_\w+|operator (?:new|delete)|sysmalloc|je_\w+|brk$"
)


@dataclass(frozen=True)
class LayerPattern:
    """A layer, and its functions: of these source files, or with these names."""

    name: str
    sources: re.Pattern[str] | None
    functions: re.Pattern[str] | None

    def holds(self, function: CodeFunction) -> bool:
        by_source = self.sources and function.file != UNKNOWN and self.sources.match(function.file)
        return bool(by_source or (self.functions and self.functions.match(function.name)))


@dataclass(frozen=True)
class LayerTable:
    """The layers of one engine; `waits` are functions of waits and of work by the clock, `hidden`
    the layer of code that drops all its names.
    """

    patterns: tuple[LayerPattern, ...]
    waits: re.Pattern[str] | None = None
    hidden: str = UNNAMED

    def find_layer(self, function: CodeFunction) -> str:
        """The function's layer, one of the table's, a library's, or `other`."""
        if function.layer:
            return function.layer
        library = Path(function.object).name
        if ALLOCATES.match(function.name) or library.startswith(ALLOCATORS):
            return ALLOCATION
        if library.startswith(LOADERS):
            return LOADER
        if library.startswith(SYSTEM):
            return C_LIBRARY
        return self.find_own_layer(function, UNNAMED if function.name == NO_SYMBOL else OTHER)

    def find_own_layer(self, function: CodeFunction, other: str = OTHER) -> str:
        found = (pattern.name for pattern in self.patterns if pattern.holds(function))
        return next(found, other)


@cache
def name_nameless(engine: str, path: str, address: int | None, offset: int) -> CodeFunction:
    """Return what is known of a function without a symbol in an engine's program, at an `address`
    or, where that is None, an `offset` of its file: the functions around it, and the layer that
    most of them have by far.
    """
    functions = read_functions(path)
    place = functions.find_address(offset) if functions and address is None else address
    if functions is None or place is None or place < functions.entry:
        return CodeFunction(NO_SYMBOL, UNKNOWN, engine, UNNAMED)
    before, after = functions.find_around(place, NEIGHBOURS)
    table, around = read_layers(engine), map(tidy_name, (*before, *after))
    known = (table.find_own_layer(CodeFunction(name, UNKNOWN, ""), "") for name in around)
    voices = Counter(filter(None, known)).most_common(2)
    ends = " and ".join(tidy_name(each[0]) for each in (before, after) if each)
    told = f"{NO_SYMBOL} by {ends}" if ends else NO_SYMBOL
    if functions.measure_gap(place) > HIDDEN_BYTES:
        layer = table.hidden
    elif voices and voices[0][1] >= LEAD * (voices[1][1] if len(voices) > 1 else 1):
        layer = voices[0][0]
    else:  # two files meet: a table may know which of them it is
        layer = table.find_own_layer(CodeFunction(told, UNKNOWN, ""), UNNAMED)
    return CodeFunction(told, UNKNOWN, engine, layer)


def tidy_function(function: CodeFunction, program: Path, engine: str) -> CodeFunction:
    """The function under the name that it has in other builds; its object is `engine` where it is
    the engine's own `program`, else a file's name.
    """
    own = function.object == str(program.resolve())
    if ADDRESS.match(function.name):
        if own:
            return name_nameless(engine, function.object, int(function.name, 16), 0)
        return CodeFunction(NO_SYMBOL, function.file, Path(function.object).name)
    return CodeFunction(
        tidy_name(function.name) or function.name,
        function.file,
        engine if own else Path(function.object).name,
    )


@cache
def read_layers(engine: str) -> LayerTable:
    """Return the table of an engine; one without layers of its own if there is none."""
    file = TABLES / f"{engine}.toml"
    if not file.is_file():
        return LayerTable(())
    read = tomllib.loads(file.read_text(encoding="utf-8"))
    if same := read.get("same"):
        table = read_layers(same)
        return LayerTable(table.patterns, table.waits, read.get("hidden", table.hidden))
    layers = read["layer"]
    return LayerTable(
        tuple(
            LayerPattern(
                each["name"],
                _join_patterns(each.get("sources", ())),
                _join_patterns(each.get("functions", ())),
            )
            for each in layers
        ),
        _join_patterns(read.get("waits", ())),
        read.get("hidden", UNNAMED),
    )


def find_sampled_layer(engine: str, function: ProfiledFunction) -> str:
    """The layer of a sampled function in a process of `engine`: as `LayerTable.find_layer`, or one
    of the kernel, the vDSO, the driver, code made at run time, or `unknown` where it has no name.
    """
    return _find_sampled_layer(engine, function.name, function.source, function.module)


@cache
def _find_sampled_layer(engine: str, name: str, source: str, module: str) -> str:
    file = Path(module).name
    code = CodeFunction(tidy_name(name), source or UNKNOWN, file)
    if module == KERNEL:
        return read_layers("kernel").find_own_layer(code, KERNEL_OTHER)
    if module == "[vdso]":
        return VDSO
    if not module or module.startswith(("[", "//", "/memfd:", "/dev/zero")):
        return RUN_TIME_CODE
    if file == DRIVER_PROGRAM:
        return DRIVER
    if is_extension(engine, file):
        return "storage engine" if file.startswith(STORAGE_ENGINES) else EXTENSIONS
    if not name and not source and not file.startswith((*SYSTEM, *LOADERS)):
        return UNNAMED
    return read_layers(engine).find_layer(code)


def is_extension(engine: str, file: str) -> bool:
    """Return whether a shared object is neither the engine's own, nor the system's, nor an
    allocator.
    """
    known = (*SYSTEM, *LOADERS, *ALLOCATORS)
    return bool(SHARED_OBJECT.search(file)) and engine not in file and not file.startswith(known)


def label_profile(engine: str, profile: CpuProfile, root: str = "") -> CpuProfile:
    """The profile with each function's layer, and its name as other builds have it, too.

    In a process that holds the driver, code made at run time is its Lua's.
    """
    with_driver = any(Path(each.module).name == DRIVER_PROGRAM for each in profile.functions)

    def label(function: ProfiledFunction) -> ProfiledFunction:
        name, layer = tidy_name(function.name), find_sampled_layer(engine, function)
        if layer == UNNAMED:
            found = name_nameless(engine, root + function.module, None, function.offset)
            name, layer = (found.name if found.name != NO_SYMBOL else ""), found.layer
        elif with_driver and layer == RUN_TIME_CODE:
            layer = DRIVER
        return replace(function, name=name, layer=layer)

    return replace(profile, functions=tuple(map(label, profile.functions)))


def list_sampled_layers(engine: str) -> tuple[str, ...]:
    """Every layer that a sampled function of a process of `engine` may have."""
    own = (pattern.name for name in (engine, "kernel") for pattern in read_layers(name).patterns)
    libraries = (ALLOCATION, C_LIBRARY, LOADER, EXTENSIONS)
    others = (OTHER, RUN_TIME_CODE, VDSO, UNNAMED, KERNEL_OTHER)
    return tuple(dict.fromkeys((*own, *libraries, *others)))


def _join_patterns(patterns: Iterable[str]) -> re.Pattern[str] | None:
    joined = "|".join(translate(each) for each in patterns)
    return re.compile(joined) if joined else None
