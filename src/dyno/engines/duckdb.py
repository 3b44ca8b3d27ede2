"""Engine `duckdb`: any DuckDB library from 1.1 on, opened by the driver through its C API; and one
statement's path in a file: prepared, executed, and profiled by `EXPLAIN ANALYZE`.

What stands after the `@` is a version (`1.4.4`: fetched by npm; `1.4`: the newest of it) or a
library's path; nothing stands for the newest version. The library is the one that DuckDB's makers
build for Node.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from dyno import numbers
from dyno.builds import Build, Say, compute_sha256, npm
from dyno.builds import path as path_source
from dyno.builds.available import Offer
from dyno.driver.events import AskMode, TimedAnswer
from dyno.engines import (
    NO_CONDITIONS,
    SURVIVES,
    Ask,
    PathRequest,
    Server,
    StartConditions,
    Talk,
    _builds,
    _library,
)
from dyno.engines._library import EmbeddedPath, check_file
from dyno.errors import HostError, InternalError, TrialFailed, UsageError, build_unknown_error
from dyno.record import DataCondition
from dyno.record.explanation import NodeReading, PathRound, StageName
from dyno.sql.tokens import Quoting

#: DuckDB reports a size in binary units; a `MB` of its own is decimal, and not taken.
SIZE = re.compile(r"([0-9]+(?:\.[0-9])?) ?(KiB|MiB|GiB|TiB)")
SIZES = ("memory_limit", "checkpoint_threshold")
SWITCHES = (
    "preserve_insertion_order",
    "autoinstall_known_extensions",
    "autoload_known_extensions",
)
#: Versions of which 1.1.3, 1.4.4 and 1.5.6 were watched by strace: each commit flushes the
#: write-ahead log, and no setting of theirs, of checkpoints or of the log, changes that. A later
#: one may have a setting that does.
FLUSHING = re.compile(r"v?1\.[1-5]\.")
#: A reported size is rounded to a tenth of its unit.
ROUNDED = 0.06
#: Each setting's default and meaning.
OPTIONS = {
    "threads": (
        "1",
        "threads that work at a statement, the connection's own included; DuckDB's default, "
        "one per core, would let one connection's query take another's core",
    ),
    "memory_limit": ("1GiB", "memory of the buffer pool; DuckDB's own is 80 % of the machine"),
    "checkpoint_threshold": (
        "16MiB",
        "size of the write-ahead log that starts a checkpoint; DuckDB's own is 16 MB",
    ),
    "preserve_insertion_order": ("true", "true or false: rows without ORDER BY come in order"),
    "autoinstall_known_extensions": ("false", "true or false: fetch extensions when named"),
    "autoload_known_extensions": ("false", "true or false: load extensions when named"),
}


def check_setting(name: str, value: str) -> str:
    """The value as it is handed to DuckDB; `UsageError` where it is none of the setting's."""
    if name not in OPTIONS:
        raise build_unknown_error("duckdb setting", name, OPTIONS)
    if name in SIZES:
        if not SIZE.fullmatch(value):
            raise UsageError(f"cannot set {name} to '{value}'", hint="a size, for instance 512MiB")
        return value
    if name in SWITCHES:
        if value.lower() not in ("true", "false"):
            raise build_unknown_error(f"value of {name}", value, ("true", "false"))
        return value.lower()
    if not value.isdecimal() or int(value) < 1:
        raise UsageError(f"cannot set {name} to '{value}'", hint="a whole number from 1 on")
    return str(int(value))


def compare_setting(requested: str, reported: str) -> bool:
    wanted_bytes, told_bytes = parse_size_bytes(requested), parse_size_bytes(reported)
    if wanted_bytes is None or told_bytes is None:
        return requested == reported
    return abs(told_bytes - wanted_bytes) <= ROUNDED * (
        numbers.parse_size_bytes(f"1{reported[-3:]}") or 0
    )


def parse_size_bytes(text: str) -> float | None:
    return numbers.parse_size_bytes(text) if SIZE.fullmatch(text) else None


PACKAGE = "@duckdb/node-bindings-linux-"
#: The library, and what its buffer pool does not count: an allowance.
OUTSIDE_BYTES = 128 << 20
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
LIBRARY = _library.LibraryKind("DuckDB", "libduckdb.so", INSPECT)


def find_library(build: str, say: Say, fetch: Callable[[str, str, Say], Path] = npm.fetch) -> Build:
    """The library at a path, or of the newest version in `PACKAGES` that begins so, whose package
    `fetch` brings.
    """
    if _library.is_path(build):
        return _describe(build, path_source.fetch("DuckDB library", build, say), "file")
    version = _builds.choose_version("duckdb", build, tuple(PACKAGES))
    package = PACKAGE + _name_machine()
    folder = fetch(package, PACKAGES[version], say)
    source = f"npm {package} {PACKAGES[version]}"
    with _builds.check_cached(folder.name):
        made = _describe(build, folder / "libduckdb.so", source)
    if made.version != version:
        raise InternalError(f"{made.facts['source']} holds duckdb {made.version}")
    return made


def _name_machine() -> str:
    machine = platform.machine()
    if machine not in MACHINES:
        hint = "name a libduckdb.so built for this machine by its path"
        raise HostError(f"no package of duckdb for a {machine}", hint=hint)
    return MACHINES[machine]


def _describe(build: str, program: Path, source: str) -> Build:
    facts = {"source": source, "sha256": compute_sha256(program)}
    return Build("duckdb", build, str(LIBRARY.ask(program)).removeprefix("v"), program, facts)


#: One row a column; what a foreign key refers to, its older versions tell in words alone.
KEYS = """
SELECT CASE constraint_type WHEN 'FOREIGN KEY' THEN 'foreign' ELSE 'unique' END,
  constraint_index, '"' || replace(table_name, '"', '""') || '"',
  CASE WHEN constraint_type <> 'FOREIGN KEY' THEN '"' || replace(column_name, '"', '""') || '"' END,
  NULL, NULL
FROM (SELECT *, unnest(constraint_column_names) AS column_name FROM duckdb_constraints()
  WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY') AND schema_name = 'main')
ORDER BY table_name, constraint_index
"""


class Engine:
    """DuckDB inside the driver's process.

    The options are settings of the database, given when it is opened, all of them always: DuckDB's
    own defaults hang on the machine's cores and memory.

    One process at a time may have the file open. The driver's connections share one instance, and
    what is asked from a second process is asked while they are closed.

    Before 1.2 an update of an indexed column, and an insert of a key deleted in the same
    transaction, break the primary key (seen on 1.1.3; "over-eager constraint checking" in DuckDB's
    documentation): `oltp_update_index`, `oltp_read_write` and `oltp_write_only` fail there.
    """

    embedded: ClassVar[bool] = True
    no_data: ClassVar[tuple[str, ...]] = ()
    seen_with: ClassVar[dict[str, str]] = {}
    data: ClassVar[str] = "."
    integrity: ClassVar[dict[str, str]] = {}
    keys_sql: ClassVar[str] = KEYS
    deep: ClassVar[str] = ""
    deep_sql: ClassVar[tuple[str, ...]] = ()
    session_kind: ClassVar[str] = "duckdb"
    tables_sql: ClassVar[str] = (
        """SELECT '"' || replace(table_name, '"', '""') || '"' FROM information_schema.tables"""
        " WHERE table_type = 'BASE TABLE' ORDER BY 1"
    )
    own_databases: ClassVar[frozenset[str]] = frozenset()
    has_use: ClassVar[bool] = False
    options: ClassVar[dict[str, tuple[str, str]]] = OPTIONS
    flags: ClassVar[dict[str, tuple[str, str]]] = {}
    versions: ClassVar[tuple[str, ...]] = tuple(PACKAGES)
    explain: ClassVar[str] = "EXPLAIN"

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def check(self, build: str, flags: dict[str, str], settings: dict[str, str]) -> None:
        """`UsageError` for what DuckDB would refuse, or fetch, later."""
        for name, value in settings.items():
            check_setting(name, value)
        if flags:
            raise build_unknown_error("duckdb build flag", next(iter(flags)), self.flags)
        if not _library.is_path(build):
            _builds.choose_version("duckdb", build, self.versions)

    def list_offers(self) -> list[Offer]:
        package = PACKAGE + MACHINES.get(platform.machine(), "x64")
        return [
            Offer(
                version,
                version,
                _builds.find_line(version, 2),
                "npm",
                entries=(npm.build_entry_pattern(package, number),),
                machines=frozenset(MACHINES),
            )
            for version, number in PACKAGES.items()
        ]

    def program(self, build: str, flags: dict[str, str], say: Say) -> Build:
        self.check(build, flags, {})
        return find_library(build or self.versions[-1], say)

    def start(
        self,
        build: Build,
        home: Path,
        settings: dict[str, str],
        under: StartConditions = NO_CONDITIONS,
    ) -> Server:
        return _library.start_library(
            build, home, settings=_library.read_all_settings(OPTIONS, settings, check_setting)
        )

    def settings(self, server: Server) -> dict[str, str]:
        """Every setting as a database opened with ours reports it, and the library's version.

        Paths below the trial's home are left out: they differ from trial to trial.
        `TrialFailed` where the engine runs with another value than it was asked for.
        """
        all_of_them = "SELECT name, value FROM duckdb_settings() ORDER BY name"
        rows, version = self._ask(server.session, [all_of_them, "SELECT version()"])
        found = {str(name): value or "" for name, value in rows}
        for name, value in server.session["settings"]:
            if not compare_setting(value, found.get(name, "")):
                raise TrialFailed(
                    f"duckdb runs with {name}={found.get(name)}, though {value} was asked for",
                    hint=f"this build refuses {value}",
                )
        kept = {name: value for name, value in found.items() if str(server.home) not in value}
        return kept | {"version": str(version[0][0]).removeprefix("v")}

    def extract_plan(self, rows: list[list[str | None]]) -> str:
        lines = (re.sub(r"[^\w\s.,:;()<>=+*/-]+", " ", str(row[-1])) for row in rows)
        words = (line.strip() for text in lines for line in text.splitlines())
        return "\n".join(it for it in words if it and not re.search(r"~|\bRows?\b|^-+$", it))

    def is_own_file(self, head: bytes) -> bool:
        return head[MAGIC_AT:].startswith(MAGIC)

    def open_path(
        self, place: str, flags: Mapping[str, str], request: PathRequest, build: str = ""
    ) -> DuckdbPath:
        file = check_file(place, flags)
        library = find_library(build or self.versions[-1], lambda _: None)
        return DuckdbPath(library, file, request)

    def settle(self, server: Server) -> None:
        self._ask(server.session, ["ANALYZE", "CHECKPOINT"])

    def stop(self, server: Server) -> None:
        """Nothing to stop: the engine ends with the driver's connections."""

    def estimate_memory_bytes(
        self, build: Build, settings: dict[str, str], connections: int
    ) -> int:
        """The buffer pool, which all connections share, and what lies outside of it."""
        del build, connections
        limit = settings.get("memory_limit", OPTIONS["memory_limit"][0])
        return round(parse_size_bytes(limit) or 0) + OUTSIDE_BYTES

    def weigh(
        self, server: Server, requested: dict[str, str], reported: dict[str, str]
    ) -> DataCondition:
        """The file with its log, and the buffer pool. What a commit survives is known of `FLUSHING`
        alone, and of tables in the file: temporary ones and other databases promise less.
        """
        del requested
        pool_bytes = parse_size_bytes(reported.get("memory_limit", ""))
        return DataCondition(
            size_bytes=_library.measure_data_bytes(server),
            cache_bytes=None if pool_bytes is None else round(pool_bytes),
            survives=SURVIVES[-1] if FLUSHING.match(reported.get("version", "")) else "",
            autocommits=True,
        )


#: How each file of its goes on after a checksum.
MAGIC, MAGIC_AT = b"DUCK", 8
#: $tag$…$tag$, names in "…", no backslashes.
QUOTING = Quoting(True, False, names_in_double=True)
PROFILING = ("PRAGMA enable_profiling = 'no_output'", "PRAGMA profiling_mode = 'detailed'")
#: What the optimiser is, of the profile's times.
_OPTIMISING = ("all_optimizers", "physical_planner")
#: Operators that read a table.
_SCANS = ("SEQ_SCAN", "INDEX_SCAN", "TABLE_SCAN")
READS_ONLY = "SELECT current_setting('access_mode'), current_setting('threads')"


class DuckdbPath(EmbeddedPath):
    engine = "duckdb"

    def __init__(self, build: Build, file: Path, request: PathRequest) -> None:
        settings = [] if request.writes else [["access_mode", "READ_ONLY"]]
        session = {"kind": "duckdb", "library": str(build.program), "database": str(file)}
        super().__init__(build, file, request, QUOTING, {**session, "settings": settings})
        self.sources = {
            "parse": "duckdb_prepare",
            "optimise": "the profile",
            "execute": "duckdb_execute",
            "storage engine": "the profile's scans",
        }
        self.remarks = [
            "DuckDB counts no pages and no waits of a statement",
            "the file is open to one process at a time, or to several that only read",
        ]
        if request.writes:
            self.remarks.append(
                "a rolled-back statement writes no log: its commit would, and is not in these times"
            )

    def begin(self, talk: Talk) -> None:
        """Check that the database itself says it only reads; read how many threads work at a
        statement.
        """
        ((mode, threads),) = talk([READS_ONLY], "rows")[0].rows
        if str(mode).lower() != "read_only" and not self._request.writes:
            raise UsageError("DuckDB did not open the file read-only")
        remark = f"{threads} threads work at a statement: their times are added up at each operator"
        if threads != "1" and remark not in self.remarks:
            self.remarks.append(remark)

    def extract_shape(self, talk: Talk) -> str:
        (answer,) = talk([f"EXPLAIN (FORMAT JSON) {self._sql}"], "rows")
        try:
            told = json.loads(str(answer.rows[0][-1]))
        except ValueError:
            return ""
        return "\n".join(_list_names(told if isinstance(told, list) else [told], 0))

    def play_round(self, talk: Talk) -> PathRound:
        prepared = self._repeat(talk, [self._sql], "prepares")
        executed = self._repeat(talk, list(self.bare), "executes")
        profiled = (
            self._repeat(
                talk, [*PROFILING, f"EXPLAIN (ANALYZE, FORMAT JSON) {self._sql}"], "rows", at=2
            )
            if not self._request.writes
            else None
        )
        bare = self._repeat(talk, list(self.bare), "counts")
        told = _read_profile(profiled)
        nodes = list(_read_nodes(told.get("children", []), 0))
        optimise_us = 1e6 * sum(float(told.get(name) or 0.0) for name in _OPTIMISING)
        optimise_us = min(optimise_us, prepared.elapsed_us)
        operators_us = sum(it.us or 0.0 for it in nodes)
        scans_us = sum(it.us or 0.0 for it in nodes if it.name.startswith(_SCANS))
        engine_us = executed.elapsed_us * scans_us / operators_us if operators_us else 0.0
        stages: dict[StageName, float] = {
            "parse": prepared.elapsed_us - optimise_us,
            "execute": executed.elapsed_us - engine_us,
        }
        stages |= {"optimise": optimise_us} if optimise_us else {}
        stages |= {"storage engine": engine_us} if engine_us else {}
        return PathRound(
            bare.elapsed_us,
            stages,
            instrumented_us=profiled.elapsed_us if profiled else None,
            nodes=tuple(nodes),
            rows=bare.found,
            changed=bare.changed,
            facts=_list_facts(told),
        )

    def _repeat(
        self, talk: Talk, statements: list[str], mode: AskMode, at: int | None = None
    ) -> TimedAnswer:
        at = len(statements) // 2 if at is None else at
        answers = talk(statements * self.repeats, mode)[at :: len(statements)]
        return sorted(answers, key=lambda it: it.elapsed_ns)[len(answers) // 2]


def _read_profile(answer: TimedAnswer | None) -> dict[str, Any]:
    if answer is None:
        return {}
    try:
        return dict(json.loads(str(answer.rows[0][-1])))
    except ValueError as error:
        raise TrialFailed("cannot read DuckDB's profile", cause=error) from None


def _list_names(told: list[Any], depth: int) -> Iterator[str]:
    for node in told:
        yield f"{'  ' * depth}{str(node.get('name', '')).strip()}"
        yield from _list_names(node.get("children", []), depth + 1)


def _read_nodes(children: list[Any], depth: int) -> Iterator[NodeReading]:
    for told in children:
        # DuckDB 1.1 tells an operator's type alone
        name = str(told.get("operator_name") or told.get("operator_type") or "").strip()
        below = depth
        if name != "EXPLAIN_ANALYZE":
            below += 1
            table = told.get("extra_info", {}).get("Table")
            seconds = told.get("operator_timing")
            yield NodeReading(
                depth,
                f"{name} {table}" if table else name,
                us=None if seconds is None else 1e6 * float(seconds),
                rows=float(told.get("operator_cardinality") or 0),
                loops=1.0,
                facts=(
                    (f"{told['operator_rows_scanned']:,} rows scanned",)
                    if told.get("operator_rows_scanned")
                    else ()
                ),
            )
        yield from _read_nodes(told.get("children", []), below)


def _list_facts(told: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return what the profile of newer versions has beside times."""
    words = {
        "execute": (
            ("system_peak_buffer_memory", "bytes of memory at most"),
            ("system_peak_temp_dir_size", "bytes of temporary files at most"),
        ),
        "storage engine": (("total_bytes_read", "bytes read"),),
        "log": (("total_bytes_written", "bytes written"),),
    }
    facts = {
        stage: tuple(f"{told[name]:,} {what}" for name, what in them if told.get(name))
        for stage, them in words.items()
    }
    return {stage: them for stage, them in facts.items() if them}
