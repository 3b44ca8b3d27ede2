"""Where builds of SQLite come from: compiled from a crate, the system's, or one at a path."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dyno.builds import Build, Say, compute_sha256, crate
from dyno.builds import path as path_source
from dyno.builds.compiler import Recipe, compile_library
from dyno.engines import _builds, _library
from dyno.errors import InternalError

CRATE = "libsqlite3-sys"

#: SQLite's version to the crate's. Each was fetched and its `SQLITE_VERSION` read; `program`
#: reads it again from what was built.
CRATES = {
    "3.24.0": "0.9.4",
    "3.26.0": "0.11.0",
    "3.29.0": "0.16.0",
    "3.31.1": "0.18.0",
    "3.33.0": "0.20.1",
    "3.35.4": "0.22.2",
    "3.37.0": "0.23.2",
    "3.39.2": "0.25.2",
    "3.41.2": "0.26.0",
    "3.45.0": "0.28.0",
    "3.46.0": "0.30.1",
    "3.48.0": "0.31.0",
    "3.50.2": "0.35.0",
    "3.51.1": "0.36.0",
    "3.53.2": "0.38.1",
    "3.54.1": "0.39.1",
}

#: What `configure` finds on a Linux, and old amalgamations do not: without the second macro an
#: old build waits whole seconds for a lock, without the third it flushes with fsync.
DEFINES = "SQLITE_THREADSAFE=1 HAVE_USLEEP=1 HAVE_FDATASYNC=1"

#: What a user may choose of a build: the default, and what it is.
FLAGS = {
    "cflags": ("-O2", "flags of the C compiler"),
    "defines": (DEFINES, "macros of the build, without -D; these replace the default ones"),
    **{name: about for name, about in _builds.FLAGS.items() if name != "cflags"},
}

#: Asks a library for itself.
INSPECT = """
import ctypes, json, sys
library = ctypes.CDLL(sys.argv[1])
said = {}
for name in ("libversion", "sourceid"):
    function = getattr(library, "sqlite3_" + name)
    function.restype = ctypes.c_char_p
    said[name] = function().decode()
option = library.sqlite3_compileoption_get
option.restype = ctypes.c_char_p
options = iter(lambda n=iter(range(1000)): option(next(n)), None)
said["options"] = b" ".join(options).decode()
print(json.dumps(said))
"""
LIBRARY = _library.LibraryKind("SQLite", "libsqlite3.so.0", INSPECT)


def find_library(build: str, flags: dict[str, str], say: Say) -> Build:
    """The library at a path, the system's, built from a tree, or of the newest version in
    `CRATES` that begins so.
    """
    if _builds.is_source(build):
        chosen = {name: flags.get(name, default) for name, (default, _) in FLAGS.items()}
        made = _builds.find_source("sqlite", build, chosen, say)
        library = _describe(build, made.prefix / "lib" / "libsqlite3.so")
        return replace(library, facts={**library.facts, **made.facts})
    if _library.is_path(build):
        return _describe(build, path_source.fetch("SQLite library", build, say))
    if build == "system":
        return _describe(build, path_source.find_system_library("libsqlite3.so.0", "libsqlite3-0"))
    return _make_from_crate(build, flags, say)


def _make_from_crate(asked: str, flags: dict[str, str], say: Say) -> Build:
    version = _builds.choose_version("sqlite", asked, tuple(CRATES))
    cflags, defines = (flags.get(name, FLAGS[name][0]) for name in ("cflags", "defines"))
    source = crate.fetch(CRATE, CRATES[version], say) / "sqlite3" / "sqlite3.c"
    recipe = Recipe(f"sqlite-{version}", source, cflags, defines, ("pthread", "dl", "m"))
    made = compile_library(recipe, say)
    coordinate = f"{CRATE} {CRATES[version]}"
    with _builds.check_cached(made.program.parent.name):
        build = _describe(asked, made.program, f"crate {coordinate}")
    if build.version != version:
        raise InternalError(f"crate {coordinate} holds sqlite {build.version}, not {version}")
    return replace(build, facts={**build.facts, **made.facts})


def _describe(build: str, program: Path, source: str = "file") -> Build:
    said = LIBRARY.ask(program)
    facts = {
        "source": source,
        "sha256": compute_sha256(program),
        "source_id": said["sourceid"],
        "compile_options": said["options"],
        "assertions": "on" if "DEBUG" in said["options"].split() else "off",
    }
    return Build("sqlite", build, said["libversion"], program, facts)
