"""Engine `sqlite`: any SQLite library, opened by the driver through its C API; and its settings:
PRAGMAs, what each may be, and how the engine reports it.

What stands after the `@` is a version (`3.24.0`: compiled here; `3.53`: the newest of it),
`system`, a library's path, or a tree of its source (`source:/path/to/tree`); nothing stands for the
newest version. A compiled build is the plain amalgamation, as the crate `libsqlite3-sys` or the
tree brings it, with the macros that a configured build would find out by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from dyno.builds import Build, Say, crate
from dyno.builds.available import Offer
from dyno.builds.source.plan import BuildPlan
from dyno.engines import (
    NO_CONDITIONS,
    SURVIVES,
    Ask,
    Server,
    StartConditions,
    _builds,
    _library,
)
from dyno.engines.sqlite.builds import CRATE, CRATES, FLAGS, find_library
from dyno.engines.sqlite.explain import ExplainsSqlitePath, PlanStep, convert_steps
from dyno.errors import TrialFailed, UsageError, build_unknown_error
from dyno.record import DataCondition

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
#: Each setting's default and meaning, in the order in which they are set.
OPTIONS = {
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


PROFILES = ("cached", "durable", "stock")
#: No PRAGMA: which values the PRAGMAs have that are not chosen.
OURS = {
    "profile": (
        "cached",
        "cached (the defaults below), durable (synchronous=full: a commit waits for the disk) or "
        "stock (none is set: the library's own)",
    )
}


def check_profile(profile: str) -> None:
    if profile == "io-bound":
        hint = "it has no cache for all connections: data beyond memory, or cache_size, make reads"
        raise UsageError("sqlite has no profile 'io-bound'", hint=hint)
    if profile not in PROFILES:
        raise build_unknown_error("value of profile", profile, PROFILES)


def list_pragmas(settings: Mapping[str, str]) -> list[list[str]]:
    """All PRAGMAs that are set, in their order: those of the profile, and the user's on top.

    Under `stock` only the user's, and those that the driver keeps itself.
    """
    own = {name: check_setting(name, value) for name, value in settings.items() if name not in OURS}
    profile = settings.get("profile", PROFILES[0])
    table = {name: default for name, (default, _) in OPTIONS.items()}
    if profile == "stock":
        table = {name: table[name] for name in table if name in DRIVEN or name in own}
    if profile == "durable":
        table["synchronous"] = "full"
    return [list(pair) for pair in (table | own).items()]


def compute_cache_bytes(values: Mapping[str, str]) -> int:
    """Return the page cache of a connection; what `values` lack, or leave empty as a library does
    that knows no such PRAGMA, is SQLite's default.
    """
    pages, page = int(values.get("cache_size") or "-2000"), int(values.get("page_size") or "4096")
    return pages * page if pages > 0 else -pages * 1024


def check_setting(name: str, value: str) -> str:
    """The value as SQLite will report it; `UsageError` where it is none of the setting's."""
    if name not in OPTIONS:
        raise build_unknown_error("sqlite setting", name, OPTIONS)
    if name in NUMBERS:
        return _check_number(name, value)
    names = NAMES.get(name, JOURNAL_MODES)
    if value.lower() not in names:
        raise build_unknown_error(f"value of {name}", value, names)
    return value.lower()


def _check_number(name: str, value: str) -> str:
    least = NUMBERS[name]
    if not value.removeprefix("-").isdecimal() or int(value) < least:
        raise UsageError(f"cannot set {name} to '{value}'", hint=f"a whole number from {least} on")
    number = int(value)
    if name == "page_size" and (number > 65_536 or number & (number - 1)):
        raise UsageError(f"cannot set {name} to '{value}'", hint="a power of two, 512 to 65536")
    return str(number)


def name_answer(name: str, answer: str) -> str:
    """Return what a PRAGMA answers, by its name if the engine gives the name's place."""
    names = NAMES.get(name, ())
    return names[int(answer)] if answer.isdigit() and int(answer) < len(names) else answer


#: Those over all rows; each column with its index's collation. A rowid is the tree's own order.
UNIQUE_KEYS = """
SELECT 'unique', i.name, '"' || replace(t.name, '"', '""') || '"',
  '"' || replace(c.name, '"', '""') || '" COLLATE ' || c.coll, NULL, NULL
FROM sqlite_master t, pragma_index_list(t.name) i, pragma_index_xinfo(i.name) c
WHERE t.type = 'table' AND i."unique" AND NOT i.partial AND c.key
ORDER BY t.name, i.name, c.seqno
"""


class Engine(ExplainsSqlitePath):
    """SQLite inside the driver's process.

    The options are PRAGMAs, set on every connection in this order: the size of a page must stand
    before the journal's mode, since the latter writes the file's first page. All of them are
    always set (but under profile=stock), so that two builds differ in their code and not in what
    they were compiled to assume (Debian's library, for one, overwrites what is deleted).

    Left out: `locking_mode`, because settling, the ledger and the settings are asked from a
    second process, which an exclusive lock would keep out.
    """

    embedded: ClassVar[bool] = True
    session_kind: ClassVar[str] = "sqlite"
    tables_sql: ClassVar[str] = (
        """SELECT '"' || replace(name, '"', '""') || '"' FROM sqlite_master"""
        " WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY 1"
    )
    own_databases: ClassVar[frozenset[str]] = frozenset()
    has_use: ClassVar[bool] = False
    # the index of the write-ahead log is memory that processes share, made anew after a crash
    no_data: ClassVar[tuple[str, ...]] = ("-shm",)
    seen_with: ClassVar[dict[str, str]] = {}
    data: ClassVar[str] = "."
    options: ClassVar[dict[str, tuple[str, str]]] = OURS | OPTIONS
    flags: ClassVar[dict[str, tuple[str, str]]] = FLAGS
    versions: ClassVar[tuple[str, ...]] = tuple(CRATES)
    explain: ClassVar[str] = "EXPLAIN QUERY PLAN"
    integrity: ClassVar[dict[str, str]] = {
        "structure": "SELECT * FROM pragma_quick_check WHERE quick_check <> 'ok'",
        "foreign keys": "PRAGMA foreign_key_check",
    }
    keys_sql: ClassVar[str] = UNIQUE_KEYS
    deep: ClassVar[str] = "each index against its rows by PRAGMA integrity_check"
    deep_sql: ClassVar[tuple[str, ...]] = (
        "SELECT 'every page and index', 'PRAGMA integrity_check(3)'",
    )

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def check(self, build: str, flags: dict[str, str], settings: dict[str, str]) -> None:
        check_profile(settings.get("profile", PROFILES[0]))
        list_pragmas(settings)
        if _builds.is_source(build):
            _builds.check_source("sqlite", build, flags)
            return
        _builds.refuse_flags(build, {name: v for name, v in flags.items() if name != "cflags"})
        if build != "system" and not _library.is_path(build):
            _builds.choose_version("sqlite", build, self.versions, ("system",))
        elif flags:
            hint = "flags belong to a build by version, for instance sqlite@3.54.1?cflags=-O3"
            raise UsageError(f"sqlite@{build} takes no flags", hint=hint)

    def list_offers(self) -> list[Offer]:
        return [
            Offer(
                version,
                version,
                _builds.find_line(version, 2),
                "crate",
                entries=(
                    ("program", f"sqlite-{version}-*"),
                    crate.build_entry_pattern(CRATE, number),
                ),
            )
            for version, number in CRATES.items()
        ]

    def program(self, build: str, flags: dict[str, str], say: Say) -> Build:
        self.check(build, flags, {})
        return find_library(build or self.versions[-1], flags, say)

    def plan_build(self, place: str, flags: dict[str, str], say: Say) -> BuildPlan:
        return _builds.plan_source("sqlite", place, flags, say)

    def start(
        self,
        build: Build,
        home: Path,
        settings: dict[str, str],
        under: StartConditions = NO_CONDITIONS,
    ) -> Server:
        return _library.start_library(build, home, pragmas=list_pragmas(settings))

    def settings(self, server: Server) -> dict[str, str]:
        """The PRAGMAs as a new connection reports them, and the library's version.

        `TrialFailed` where the engine runs with another value than it was asked for, as it does
        without a word where a file system cannot share memory (wal).
        """
        asked = dict(server.session["pragmas"])
        waits = {name: asked.pop(name) for name in DRIVEN}
        names = [name for name in OPTIONS if name not in DRIVEN]
        questions = [*(f"PRAGMA {name}" for name in names), "SELECT sqlite_version()"]
        *answers, version = (_extract_single(rows) for rows in self._ask(server.session, questions))
        found = {
            name: name_answer(name, answer) for name, answer in zip(names, answers, strict=True)
        }
        for name, value in asked.items():
            if found[name] != value:
                message = f"sqlite runs with {name}={found[name]}, though {value} was asked for"
                raise TrialFailed(message, hint=f"this build or file system refuses {value}")
        return {**found, **waits, "version": version}

    def extract_plan(self, rows: list[list[str | None]]) -> str:
        steps = [PlanStep(str(row[0]), str(row[1]), str(row[-1])) for row in rows]
        return "\n".join(convert_steps(steps))

    def settle(self, server: Server) -> None:
        """Folds the write-ahead log into the database, and gathers the planner's statistics.

        The insert benchmark vacuums, analyses and checkpoints here. VACUUM is left out: it would
        rewrite the file and undo the fragmentation which the phases after it are to read through.
        """
        statements = ["ANALYZE", "PRAGMA wal_checkpoint(TRUNCATE)"]
        _, checkpoint = self._ask(server.session, statements)
        if _extract_single(checkpoint) == "1":
            hint = "a connection holds a transaction open between two phases"
            raise TrialFailed("sqlite could not finish its checkpoint", hint=hint)

    def stop(self, server: Server) -> None:
        """Nothing to stop: the engine ends with the driver's connections."""

    def select_file_settings(self, settings: dict[str, str]) -> dict[str, str]:
        filed = {name: settings[name] for name in FILED if name in settings}
        return filed | ({"profile": "stock"} if settings.get("profile") == "stock" else {})

    def estimate_memory_bytes(
        self, build: Build, settings: dict[str, str], connections: int
    ) -> int:
        """The cache of each connection; a memory map is the kernel's page cache."""
        del build
        return connections * compute_cache_bytes(dict(list_pragmas(settings)))

    def weigh(
        self, server: Server, requested: dict[str, str], reported: dict[str, str]
    ) -> DataCondition:
        """The file with its log; the cache of one connection; what the journal saves.

        SQLite's documentation of `synchronous`: only `off` leaves all to the kernel; `normal` does
        not wait for the end of a commit (`dyno crash` finds that). A journal in memory dies with
        the program, and without one (`off`) a commit cannot even be undone half-way.
        """
        del requested
        decided_by = {name: reported[name] for name in ("journal_mode", "synchronous")}
        return DataCondition(
            size_bytes=_library.measure_data_bytes(server),
            cache_bytes=compute_cache_bytes(reported),
            survives=SURVIVES[_rank_safety(**decided_by)] if all(decided_by.values()) else "",
            decided_by=decided_by,
            autocommits=True,
            flushes_per_commit=1 if decided_by["journal_mode"] == "wal" else 2,
        )


def _rank_safety(journal_mode: str, synchronous: str) -> int:
    if journal_mode in ("memory", "off"):
        return 0
    if synchronous == "off":
        return 1
    # a commit ends with the journal: where it is deleted, EXTRA alone syncs its folder after that
    is_synced = ("extra",) if journal_mode == "delete" else ("full", "extra")
    return 3 if synchronous in is_synced else 2


def _extract_single(rows: list[list[str | None]]) -> str:
    return (rows[0][0] if rows and rows[0] else None) or ""
