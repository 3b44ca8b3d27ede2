"""One statement's path in a DuckDB file: prepared, executed, and profiled by `EXPLAIN ANALYZE`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dyno.builds import Build
from dyno.driver.events import AskMode, TimedAnswer
from dyno.engines import PathRequest, Talk
from dyno.engines._library import EmbeddedPath
from dyno.errors import TrialFailed, UsageError
from dyno.record.explanation import NodeReading, PathRound, StageName
from dyno.sql.tokens import Quoting

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
