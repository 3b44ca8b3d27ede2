"""Where builds of DuckDB come from: the makers' library for Node, or one at a path."""

from __future__ import annotations

import platform
from pathlib import Path

from dyno.builds import Build, Say, npm, sha256
from dyno.builds import path as path_source
from dyno.engines import _cached, _library
from dyno.errors import HostError, InternalError

PACKAGE = "@duckdb/node-bindings-linux-"
#: What Python calls a machine, and what the package does.
MACHINES = {"x86_64": "x64", "aarch64": "arm64"}

#: DuckDB's version to the newest package of it, by the packages' own numbers; `program` asks the
#: library for its version again.
PACKAGES = {
    "1.1.2": "1.1.2-alpha.4",
    "1.1.3": "1.1.3-alpha.12",
    "1.2.0": "1.2.0-alpha.15",
    "1.2.1": "1.2.1-alpha.17",
    "1.2.2": "1.2.2-alpha.19",
    "1.3.0": "1.3.0-alpha.21",
    "1.3.1": "1.3.1-alpha.23",
    "1.3.2": "1.3.2-alpha.26",
    "1.4.0": "1.4.0-r.2",
    "1.4.1": "1.4.1-r.5",
    "1.4.2": "1.4.2-r.1",
    "1.4.3": "1.4.3-r.3",
    "1.4.4": "1.4.4-r.4",
    "1.4.5": "1.4.5-r.1",
    "1.5.0": "1.5.0-r.1",
    "1.5.1": "1.5.1-r.2",
    "1.5.2": "1.5.2-r.2",
    "1.5.3": "1.5.3-r.3",
    "1.5.4": "1.5.4-r.1",
    "1.5.5": "1.5.5-r.5",
    "1.5.6": "1.5.6-r.1",
}

#: Asks a library for its version.
INSPECT = """
import ctypes, json, sys
version = ctypes.CDLL(sys.argv[1]).duckdb_library_version
version.restype = ctypes.c_char_p
print(json.dumps(version().decode()))
"""
LIBRARY = _library.Kind("DuckDB", "libduckdb.so", INSPECT)


def library(build: str, say: Say) -> Build:
    """The library at a path, or of a version in `PACKAGES`."""
    if _library.is_path(build):
        return _described(build, path_source.fetch("DuckDB library", build, say), "file")
    package = PACKAGE + _machine()
    folder = npm.fetch(package, PACKAGES[build], say)
    source = f"npm {package} {PACKAGES[build]}"
    with _cached.whole(folder.name):
        made = _described(build, folder / "libduckdb.so", source)
    if made.version != build:
        raise InternalError(f"{made.facts['source']} holds duckdb {made.version}")
    return made


def _machine() -> str:
    machine = platform.machine()
    if machine not in MACHINES:
        hint = "name a libduckdb.so built for this machine by its path"
        raise HostError(f"no package of duckdb for a {machine}", hint=hint)
    return MACHINES[machine]


def _described(build: str, program: Path, source: str) -> Build:
    """The build as the library itself describes it."""
    facts = {"source": source, "sha256": sha256(program)}
    return Build("duckdb", build, str(LIBRARY.asked(program)).removeprefix("v"), program, facts)
