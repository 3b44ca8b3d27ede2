"""One statement's path in a SQLite file: compiled, executed, with what SQLite counted meanwhile;
and steps of `EXPLAIN QUERY PLAN` in words of all versions, so that only another plan differs.

SQLite times nothing itself: the driver times its calls. Libraries that are compiled with
SQLITE_ENABLE_STMT_SCANSTATUS count the rows of each scan.

What versions word otherwise was read from 3.24 to 3.54. Within its recursive step a query is
scanned by its name in all of them; outside it is a subquery, which had a number or an address
before 3.37.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dyno.builds import Build
from dyno.driver.events import TimedAnswer
from dyno.engines import PathRequest, Talk
from dyno.engines._library import EmbeddedPath, check_file
from dyno.engines.sqlite.builds import CRATES, find_library
from dyno.errors import UsageError
from dyno.record.explanation import NodeReading, PathRound, StageName
from dyno.sql.tokens import Quoting

#: Pairs of a step's words and what stands for them; earlier pairs first.
_WORDS = (
    # before 3.36 a table was called one
    (re.compile(r"^(SCAN|SEARCH) TABLE\b"), r"\1"),
    # before 3.39 a subquery was told by a number or its address, and a table beside its alias
    (re.compile(r"^(SCAN|SEARCH) (?:SUBQUERY )?\S+ AS (\S+)"), r"\1 \2"),
    (re.compile(r"^(SCAN|SEARCH) SUBQUERY \S+"), r"\1 SUBQUERY"),
    (re.compile(r"^(MATERIALIZE|CO-ROUTINE) .*"), r"\1"),
    # 3.24 numbered no subquery
    (re.compile(r"\b(LIST|SCALAR) SUBQUERY \d+$"), r"\1 SUBQUERY"),
    # since 3.39 the right table of a left join says so
    (re.compile(r" LEFT-JOIN$"), ""),
    # since 3.46 rows of VALUES, and the terms left to sort, are worded otherwise
    (re.compile(r"\b(\d+) CONSTANT ROWS$"), r"\1-ROW VALUES CLAUSE"),
    (re.compile(r"\bFOR LAST (?:\d+ )?TERMS? OF\b"), "FOR RIGHT PART OF"),
)
_SUBQUERY = re.compile(r"^(?:MATERIALIZE|CO-ROUTINE) (.+)$")
#: A heading since 3.31, above each index of a `MULTI-INDEX OR`.
_HEADING = re.compile(r"INDEX \d+")


#: Above the steps of a recursive query that are done again and again.
_RECURSIVE = "RECURSIVE STEP"
_READS = re.compile(r"^(SCAN|SEARCH|BLOOM FILTER ON) (\S+)")


@dataclass(frozen=True)
class PlanStep:
    """A row of `EXPLAIN QUERY PLAN`: its number, that of the step it belongs to, and its words."""

    number: str
    parent: str
    words: str


def convert_steps(steps: Sequence[PlanStep]) -> list[str]:
    named = {match[1] for step in steps if (match := _SUBQUERY.match(step.words))}
    repeated: set[str] = set()
    converted = []
    for step in steps:
        if step.words == _RECURSIVE or step.parent in repeated:
            repeated.add(step.number)
        elif (match := _READS.match(step.words)) and match[2] in named:
            rest = step.words[match.end() :]
            converted.append(f"{match[1]} SUBQUERY{rest}")
            continue
        if not _HEADING.fullmatch(step.words):
            converted.append(_convert_words(step.words))
    return converted


def _convert_words(step: str) -> str:
    for pattern, words in _WORDS:
        step = pattern.sub(words, step)
    return step


#: How each file of its begins.
MAGIC = b"SQLite format 3\0"
#: Names in "…" and `…`, no backslashes.
QUOTING = Quoting(False, False, names_in_double=True)
#: What is counted, by the driver's names, and in whose words it is told.
_COUNTS = {
    "execute": (
        ("machine_steps", "steps of the virtual machine"),
        ("scanned_rows", "rows of full scans"),
        ("sorts", "sorts"),
        ("automatic_index_rows", "rows put into automatic indexes"),
    ),
    "storage engine": (
        ("page_requests", "pages asked of the cache"),
        ("pages_read", "pages read"),
        ("pages_written", "pages written"),
        ("pages_spilled", "pages spilled"),
    ),
}


_UNTIMED = "SQLite times no part of an execution: the b-tree and the virtual machine are one row"
READ = f"{_UNTIMED}; rows of the plan's steps are sqlite3_stmt_scanstatus's"
UNREAD = (
    f"{_UNTIMED}; this library is compiled without SQLITE_ENABLE_STMT_SCANSTATUS, so that rows of "
    "the plan's steps are not known"
)


class SqlitePath(EmbeddedPath):
    engine = "sqlite"

    def __init__(self, build: Build, file: Path, request: PathRequest) -> None:
        pragmas = [["busy_timeout", str(round(1000 * request.limit_s))]]
        pragmas += [] if request.writes else [["query_only", "1"]]
        session = {"kind": "sqlite", "library": str(build.program), "database": str(file)}
        super().__init__(build, file, request, QUOTING, {**session, "pragmas": pragmas})
        self.sources = {
            "parse": "sqlite3_prepare",
            "execute": "sqlite3_step",
            "storage engine": "sqlite3_db_status",
            "lock wait": "the busy handler",
        }
        self.remarks = [
            "SQLite compiles a statement in one step: parse holds the optimiser and the code made",
            UNREAD,
        ]
        if request.writes:
            self.remarks.append(
                "a rolled-back statement syncs no journal: its commit would, and is not in these "
                "times"
            )

    def begin(self, talk: Talk) -> None:
        """Check that the connection itself says it only reads."""
        (answer,) = talk(["PRAGMA query_only"], "rows")
        if answer.rows != [["1"]] and not self._request.writes:
            raise UsageError("SQLite did not make the connection read-only")

    def extract_shape(self, talk: Talk) -> str:
        return "\n".join(convert_steps(_explain(talk, self._sql)))

    def play_round(self, talk: Talk) -> PathRound:
        prepared = _find_median(talk([self._sql] * self.repeats, "prepares"))
        executed = _find_median(
            talk(list(self.bare) * self.repeats, "executes")[len(self.bare) // 2 :: len(self.bare)]
        )
        bare = _find_median(
            talk(list(self.bare) * self.repeats, "counts")[len(self.bare) // 2 :: len(self.bare)]
        )
        lock_us = float(executed.counts.get("lock_wait_us", 0))
        stages: dict[StageName, float] = {
            "parse": prepared.elapsed_us,
            "execute": max(0.0, executed.elapsed_us - lock_us),
        }
        if lock_us:
            stages["lock wait"] = lock_us
        steps = _explain(talk, self._sql)
        scans = {str(words): (_count(loops), _count(rows)) for words, loops, rows in executed.rows}
        if scans and UNREAD in self.remarks:
            self.remarks[self.remarks.index(UNREAD)] = READ
        depths: dict[str, int] = {}
        for step in steps:
            depths[step.number] = depths.get(step.parent, -1) + 1
        return PathRound(
            bare.elapsed_us,
            stages,
            instrumented_us=prepared.elapsed_us + executed.elapsed_us,
            nodes=tuple(_read_node(step, depths[step.number], scans) for step in steps),
            rows=bare.found,
            changed=bare.changed,
            facts=_list_facts(executed),
        )


def _count(text: str | None) -> float:
    return float(text or 0)


def _read_node(step: PlanStep, depth: int, scans: Mapping[str, tuple[float, float]]) -> NodeReading:
    loops, rows = scans.get(step.words, (None, None))
    per_loop = rows / loops if loops and rows is not None else rows
    return NodeReading(depth, step.words, rows=per_loop, loops=loops)


def _explain(talk: Talk, sql: str) -> list[PlanStep]:
    (answer,) = talk([f"EXPLAIN QUERY PLAN {sql}"], "rows")
    return [PlanStep(str(row[0]), str(row[1]), str(row[-1])) for row in answer.rows]


def _find_median(answers: list[TimedAnswer]) -> TimedAnswer:
    return sorted(answers, key=lambda it: it.elapsed_ns)[len(answers) // 2]


def _list_facts(answer: TimedAnswer) -> dict[str, tuple[str, ...]]:
    facts = {
        stage: tuple(
            f"{answer.counts[name]:,} {what}" for name, what in names if answer.counts.get(name)
        )
        for stage, names in _COUNTS.items()
    }
    return {stage: them for stage, them in facts.items() if them}


class ExplainsSqlitePath:
    def is_own_file(self, head: bytes) -> bool:
        return head.startswith(MAGIC)

    def open_path(
        self, place: str, flags: Mapping[str, str], request: PathRequest, build: str = ""
    ) -> SqlitePath:
        file = check_file(place, flags)
        return SqlitePath(
            find_library(build or tuple(CRATES)[-1], {}, lambda _: None), file, request
        )
