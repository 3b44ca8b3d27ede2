"""The layers of an engine: which part of it a function belongs to, by a table for each engine.

A function's layer is told by its source file, where the build has debug information, else by its
name. Tables are `layers/ENGINE.toml`: layers in their order of trial, each with patterns of
sources and of names (`*` stands for anything); the first that matches counts. `waits` names the
functions in which a server waits for its client, or works by the clock. `layers/kernel.toml`
is the kernel's, which samples of CPU time meet, too.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from dyno.profile.callgrind import UNKNOWN, CodeFunction, tidy_name
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
    """The layers of one engine; `waits` are functions of waits and of work by the clock."""

    patterns: tuple[LayerPattern, ...]
    waits: re.Pattern[str] | None = None

    def find_layer(self, function: CodeFunction) -> str:
        """The function's layer, one of the table's, a library's, or `other`."""
        library = Path(function.object).name
        if ALLOCATES.match(function.name) or library.startswith(ALLOCATORS):
            return ALLOCATION
        if library.startswith(LOADERS):
            return LOADER
        if library.startswith(SYSTEM):
            return C_LIBRARY
        return self.find_own_layer(function)

    def find_own_layer(self, function: CodeFunction, other: str = OTHER) -> str:
        found = (pattern.name for pattern in self.patterns if pattern.holds(function))
        return next(found, other)


@cache
def read_layers(engine: str) -> LayerTable:
    """Return the table of an engine; one without layers of its own if there is none."""
    file = TABLES / f"{engine}.toml"
    if not file.is_file():
        return LayerTable(())
    read = tomllib.loads(file.read_text(encoding="utf-8"))
    if same := read.get("same"):
        return read_layers(same)
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


def label_profile(engine: str, profile: CpuProfile) -> CpuProfile:
    """The profile with each function's layer, and its name as other builds have it, too.

    In a process that holds the driver, code made at run time is its Lua's.
    """
    with_driver = any(Path(each.module).name == DRIVER_PROGRAM for each in profile.functions)

    def find_layer(function: ProfiledFunction) -> str:
        layer = find_sampled_layer(engine, function)
        return DRIVER if with_driver and layer == RUN_TIME_CODE else layer

    functions = (
        replace(each, name=tidy_name(each.name), layer=find_layer(each))
        for each in profile.functions
    )
    return replace(profile, functions=tuple(functions))


def list_sampled_layers(engine: str) -> tuple[str, ...]:
    """Every layer that a sampled function of a process of `engine` may have."""
    own = (pattern.name for name in (engine, "kernel") for pattern in read_layers(name).patterns)
    libraries = (ALLOCATION, C_LIBRARY, LOADER, EXTENSIONS)
    others = (OTHER, RUN_TIME_CODE, VDSO, UNNAMED, KERNEL_OTHER)
    return tuple(dict.fromkeys((*own, *libraries, *others)))


def _join_patterns(patterns: Iterable[str]) -> re.Pattern[str] | None:
    joined = "|".join(translate(each) for each in patterns)
    return re.compile(joined) if joined else None
