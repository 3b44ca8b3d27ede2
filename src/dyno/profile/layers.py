"""The layers of an engine: which part of it a function belongs to, by a table for each engine.

A function's layer is told by its source file, where the build has debug information, else by its
name. Tables are `layers/ENGINE.toml`: layers in their order of trial, each with patterns of
sources and of names (`*` stands for anything); the first that matches counts.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from pathlib import Path

from dyno.profile.callgrind import UNKNOWN, CodeFunction

TABLES = Path(__file__).with_name("layers")
#: What a function is of that no pattern matches.
OTHER = "other"
#: Layers of libraries that every engine uses, by the beginning of their files' names.
ALLOCATION, C_LIBRARY, LOADER = "allocation", "C library", "loader"
SYSTEM = ("libc.so", "libc-", "libm.so", "libpthread", "libstdc++", "libgcc_s", "libdl.so")
LOADERS = ("ld-linux", "ld-2")
ALLOCATES = re.compile(
    r"_?_?(?:libc_|int_)*(?:malloc|free|calloc|realloc|memalign|posix_memalign|aligned_alloc)\b"
    r"|malloc_\w+|_int_\w+|unlink_chunk|tcache_\w+|operator (?:new|delete)|sysmalloc|je_\w+|brk$"
)


@dataclass(frozen=True)
class LayerPattern:
    """A layer, and whose functions are its: of these source files, or with these names."""

    name: str
    sources: re.Pattern[str] | None
    functions: re.Pattern[str] | None

    def holds(self, function: CodeFunction) -> bool:
        """Does the function belong to it?"""
        by_source = self.sources and function.file != UNKNOWN and self.sources.match(function.file)
        return bool(by_source or (self.functions and self.functions.match(function.name)))


@dataclass(frozen=True)
class LayerTable:
    """The layers of one engine."""

    patterns: tuple[LayerPattern, ...]

    def find_layer(self, function: CodeFunction) -> str:
        """The function's layer, one of the table's, a library's, or `other`."""
        library = Path(function.object).name
        if ALLOCATES.match(function.name):
            return ALLOCATION
        if library.startswith(LOADERS):
            return LOADER
        if library.startswith(SYSTEM):
            return C_LIBRARY
        found = (pattern.name for pattern in self.patterns if pattern.holds(function))
        return next(found, OTHER)


@cache
def read_layers(engine: str) -> LayerTable:
    """The table of an engine; one without layers of its own where there is none."""
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
        )
    )


def _join_patterns(patterns: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern for all of them, None where there are none."""
    joined = "|".join(translate(each) for each in patterns)
    return re.compile(joined) if joined else None
