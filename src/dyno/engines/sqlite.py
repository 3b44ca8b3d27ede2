"""Engine `sqlite`: any SQLite library, opened by the driver through its C API.

What stands after the `@` is a version (`3.24.0`: compiled here), `system`, or a library's path;
nothing stands for the newest version. A compiled build is the plain amalgamation, as the crate
`libsqlite3-sys` brings it, with the macros that a configured build would find out by itself.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from dyno.builds import Build, Say, crate, sha256
from dyno.builds import path as path_source
from dyno.builds.compiler import Recipe, compiled
from dyno.engines import UNHELD, Ask, Server, Under, _cached, _library, _versions
from dyno.engines._holding import SURVIVES, Holding
from dyno.errors import InternalError, TrialFailed, UsageError, unknown

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
LIBRARY = _library.Kind("SQLite", "libsqlite3.so.0", INSPECT)

#: Named values of a setting; the engine reports their place in the list.
NAMES = {
    "auto_vacuum": ("none", "full", "incremental"),
    "synchronous": ("off", "normal", "full", "extra"),
    "temp_store": ("default", "file", "memory"),
    "secure_delete": ("off", "on", "fast"),
    "foreign_keys": ("off", "on"),
}
#: Named values that the engine reports by name. `off` is left out: a rollback would be undefined.
JOURNAL_MODES = ("wal", "delete", "truncate", "persist", "memory")
#: Settings that are sizes, counts or times, and the least that each may be.
NUMBERS = {
    "page_size": 512,
    "cache_size": -(2**31),
    "mmap_size": 0,
    "wal_autocheckpoint": 0,
    "busy_timeout": 0,
}
#: Settings that shape the file.
FILED = ("page_size", "auto_vacuum", "journal_mode")
#: Settings that the driver keeps itself: its own handler waits for a lock, and counts that.
DRIVEN = ("busy_timeout",)


class Engine:
    """SQLite inside the driver's process.

    The options are PRAGMAs, set on every connection in this order: the size of a page must stand
    before the journal's mode, since the latter writes the file's first page. All of them are
    always set, so that two builds differ in their code and not in what they were compiled to
    assume (Debian's library, for one, overwrites what is deleted).

    Left out: `locking_mode`, because settling, the ledger and the settings are asked from a
    second process, which an exclusive lock would keep out.
    """

    embedded: ClassVar[bool] = True
    options: ClassVar[dict[str, tuple[str, str]]] = {
        "page_size": ("4096", "bytes of a page, a power of two; SQLite's default since 3.12"),
        "auto_vacuum": ("none", "none, full or incremental: give free pages back to the disk"),
        "journal_mode": ("wal", f"{', '.join(JOURNAL_MODES)}: readers beside a writer need wal"),
        "synchronous": (
            "normal",
            "off, normal, full or extra: in wal, normal flushes at checkpoints only (a power cut "
            "may lose the last commits, a crash of the program none), full at each commit",
        ),
        "cache_size": (
            "-65536",
            "pages, or KiB where negative, for each connection; SQLite's own 2 MB would measure "
            "the kernel's page cache",
        ),
        "mmap_size": ("0", "bytes of the file read through a memory map"),
        "temp_store": ("default", "default, file or memory: where sorts spill to"),
        "secure_delete": ("off", "off, on or fast: overwrite what is deleted with zeros"),
        "foreign_keys": ("off", "off or on: check references; off is SQLite's default"),
        "wal_autocheckpoint": ("1000", "pages in the write-ahead log that start a checkpoint"),
        "busy_timeout": ("5000", "ms that a statement waits for a lock before it fails"),
    }
    flags: ClassVar[dict[str, tuple[str, str]]] = {
        "cflags": ("-O2", "flags of the C compiler"),
        "defines": (DEFINES, "macros of the build, without -D; these replace the default ones"),
    }
    versions: ClassVar[tuple[str, ...]] = tuple(CRATES)

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def check(self, build: str, flags: dict[str, str], settings: dict[str, str]) -> None:
        """`UsageError` for what SQLite would ignore, as it does with most nonsense."""
        for name, value in settings.items():
            _valid(name, value)
        if build in ("", *CRATES):
            return
        if build != "system" and not _library.is_path(build):
            raise _versions.strange("sqlite", build, self.versions, ("system",))
        if flags:
            hint = "flags belong to a build by version, for instance sqlite@3.54.1?cflags=-O3"
            raise UsageError(f"sqlite@{build} is not compiled here", hint=hint)

    def program(self, build: str, flags: dict[str, str], say: Say) -> Build:
        """The library for a version (compiled, ~20 s), for `system`, or at a path."""
        self.check(build, flags, {})
        if _library.is_path(build):
            return _described(build, path_source.fetch("SQLite library", build, say))
        if build == "system":
            return _described(build, path_source.library("libsqlite3.so.0", "libsqlite3-0"))
        return _from_crate(build or self.versions[-1], flags, say)

    def start(
        self, build: Build, home: Path, settings: dict[str, str], under: Under = UNHELD
    ) -> Server:
        """A session on a new database in `home`; nothing is opened yet."""
        chosen = {name: default for name, (default, _) in self.options.items()}
        chosen |= {name: _valid(name, value) for name, value in settings.items()}
        session = {
            "kind": "sqlite",
            "library": str(build.program),
            "database": str(home / "dyno.db"),
            "pragmas": [list(pair) for pair in chosen.items()],
        }
        return Server(session, home)

    def settings(self, server: Server) -> dict[str, str]:
        """The PRAGMAs as a new connection reports them, and the library's version.

        `TrialFailed` where the engine runs with another value than it was asked for, as it does
        without a word where a file system cannot share memory (wal).
        """
        asked = dict(server.session["pragmas"])
        waits = {name: asked.pop(name) for name in DRIVEN}
        questions = [*(f"PRAGMA {name}" for name in asked), "SELECT sqlite_version()"]
        *answers, version = (_single(rows) for rows in self._ask(server.session, questions))
        found = {name: _named(name, answer) for name, answer in zip(asked, answers, strict=True)}
        for name, value in asked.items():
            if found[name] != value:
                message = f"sqlite runs with {name}={found[name]}, though {value} was asked for"
                raise TrialFailed(message, hint=f"this build or file system refuses {value}")
        return {**found, **waits, "version": version}

    def settle(self, server: Server) -> None:
        """Folds the write-ahead log into the database, and gathers the planner's statistics.

        The insert benchmark vacuums, analyses and checkpoints here. VACUUM is left out: it would
        rewrite the file and undo the fragmentation which the phases after it are to read through.
        """
        statements = ["ANALYZE", "PRAGMA wal_checkpoint(TRUNCATE)"]
        _, checkpoint = self._ask(server.session, statements)
        if _single(checkpoint) == "1":
            hint = "a connection holds a transaction open between two phases"
            raise TrialFailed("sqlite could not finish its checkpoint", hint=hint)

    def stop(self, server: Server) -> None:
        """Nothing to stop: the engine ends with the driver's connections."""

    def filed(self, settings: dict[str, str]) -> dict[str, str]:
        """What the file's own pages hold."""
        return {name: settings[name] for name in FILED if name in settings}

    def holding(self, server: Server, asked: dict[str, str], told: dict[str, str]) -> Holding:
        """The file with its log; the cache of one connection; what the journal saves.

        SQLite's documentation of `synchronous`: only `off` leaves all to the kernel; in a
        write-ahead log `normal` flushes at checkpoints. A journal in memory dies with the program.
        """
        del asked
        files = server.home.glob("dyno.db*")
        pages, page = int(told["cache_size"]), int(told["page_size"])
        decided_by = {name: told[name] for name in ("journal_mode", "synchronous")}
        return Holding(
            data_bytes=sum(file.stat().st_size for file in files),
            cache_bytes=pages * page if pages > 0 else -pages * 1024,
            survives=SURVIVES[_safety(**decided_by)],
            decided_by=decided_by,
        )


def _safety(journal_mode: str, synchronous: str) -> int:
    if journal_mode == "memory":
        return 0
    if synchronous == "off":
        return 1
    return 2 if journal_mode == "wal" and synchronous == "normal" else 3


def _from_crate(version: str, flags: dict[str, str], say: Say) -> Build:
    chosen = {name: flags.get(name, default) for name, (default, _) in Engine.flags.items()}
    source = crate.fetch(CRATE, CRATES[version], say) / "sqlite3" / "sqlite3.c"
    recipe = Recipe(f"sqlite-{version}", source, **chosen, libraries=("pthread", "dl", "m"))
    made = compiled(recipe, say)
    coordinate = f"{CRATE} {CRATES[version]}"
    with _cached.whole(made.program.parent.name):
        build = _described(version, made.program, f"crate {coordinate}")
    if build.version != version:
        raise InternalError(f"crate {coordinate} holds sqlite {build.version}, not {version}")
    return replace(build, facts={**build.facts, **made.facts})


def _described(build: str, program: Path, source: str = "file") -> Build:
    """The build as the library itself describes it."""
    said = LIBRARY.asked(program)
    facts = {
        "source": source,
        "sha256": sha256(program),
        "source_id": said["sourceid"],
        "compile_options": said["options"],
        "assertions": "on" if "DEBUG" in said["options"].split() else "off",
    }
    return Build("sqlite", build, said["libversion"], program, facts)


def _valid(name: str, value: str) -> str:
    """The value as SQLite will report it; `UsageError` where it is none of the setting's."""
    if name not in Engine.options:
        raise unknown("sqlite setting", name, Engine.options)
    if name in NUMBERS:
        return _number(name, value)
    names = NAMES.get(name, JOURNAL_MODES)
    if value.lower() not in names:
        raise unknown(f"value of {name}", value, names)
    return value.lower()


def _number(name: str, value: str) -> str:
    least = NUMBERS[name]
    if not value.removeprefix("-").isdecimal() or int(value) < least:
        raise UsageError(f"cannot set {name} to '{value}'", hint=f"a whole number from {least} on")
    number = int(value)
    if name == "page_size" and (number > 65_536 or number & (number - 1)):
        raise UsageError(f"cannot set {name} to '{value}'", hint="a power of two, 512 to 65536")
    return str(number)


def _named(name: str, answer: str) -> str:
    names = NAMES.get(name, ())
    return names[int(answer)] if answer.isdigit() and int(answer) < len(names) else answer


def _single(rows: list[list[str | None]]) -> str:
    """The first field of an answer; empty where there is none (an option left out of a build)."""
    return (rows[0][0] if rows and rows[0] else None) or ""
