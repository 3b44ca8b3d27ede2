"""A rehearsal made of numbers: what both sides answered, and how long classes took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fakes import make_candidate, make_latency, make_record, make_run, make_tally, make_trial
from msgspec import structs

from dyno.judge.analysis.judge import judge
from dyno.record import (
    ComparedStatement,
    Contents,
    OptionVerdict,
    Rehearsal,
    Run,
    Trial,
    name_contents,
)
from dyno.report import Book

OLD, NEW = "engine@13", "engine@18"
#: One class for each word, by its text.
FAILS = ComparedStatement(
    *("SELECT gone(?)", "read"),
    same=1,
    differs=3,
    failed=3,
    what="error",
    why='ERROR: function gone(integer) does not exist "7"',
    example="SELECT gone(7)",
    base=("7",),
    name="SELECT gone(?)",
)
OTHERWISE = ComparedStatement(
    *("SELECT a, b FROM t GROUP BY a", "read"),
    same=8,
    differs=2,
    what="order",
    why="the order differs",
    example="SELECT a, b FROM t GROUP BY a",
    base=("1, x", "2, y"),
    own=("2, y", "1, x"),
    name="SELECT a, b FROM t GROUP BY a",
)
WARNS = ComparedStatement(
    *("INSERT INTO t VALUES (?)", "insert"),
    differs=5,
    what="warnings",
    why="1 warning, not 0",
    example="INSERT INTO t VALUES (300)",
    name="INSERT INTO t VALUES (?)",
)
PLANNED = ComparedStatement("SELECT * FROM p WHERE i=?", "read", same=40, name="planned")
SLOW = ComparedStatement("SELECT slow FROM t WHERE i=?", "read", same=100, name="slow")
FAST = ComparedStatement("SELECT fast FROM t WHERE i=?", "read", same=50, name="fast")
SAME = ComparedStatement("SELECT 1", "read", same=9_000, name="SELECT 1")
LEFT = ComparedStatement("SELECT now()", "read", undecidable=3, unsteady=3, why="it is unsteady")
TABLE = ComparedStatement("rows of t", "table", same=1)
EVERY = (FAILS, OTHERWISE, WARNS, PLANNED, SLOW, FAST, SAME, LEFT, TABLE)
OPTIONS = (
    OptionVerdict("port", "taken", "3307", held="connections"),
    OptionVerdict("soft", "warned of", "1", "", "'soft' is deprecated"),
    OptionVerdict("gone", "fails", "a b", "use other_option", "unknown variable 'gone=a b'"),
)
#: How many times as long a class takes on NEW; each takes 1 ms on OLD.
FACTORS = {"slow": 11.04, "fast": 0.5, "SELECT 1": 1.0, "planned": 1.0}
PLANS = {OLD: {"planned": "Index Scan using p_i\n  Cond: i=5"}, NEW: {"planned": "Seq Scan on p"}}
BLOCKS = 8
SETTINGS = {
    OLD: {"gone_option": "1", "jit": "off", "work_mem": "4MB", "version": "13.1"},
    NEW: {"new_option": "2", "jit": "on", "work_mem": "4MB (override)", "version": "18.0"},
}


def make_rehearsal_run(**design: Any) -> Run:
    sides = [structs.replace(make_candidate(it), engine="engine") for it in (OLD, NEW)]
    run = make_run(sides, rehearses=True, **({"analyses": (BLOCKS,)} | design))
    command = "dyno rehearse engine@13 engine@18 --log general.log --data dump.sql"
    return structs.replace(run, name="general-13-18", command=command, question="")


def make_contents(statements: Sequence[ComparedStatement], **changes: Any) -> list[Trial]:
    """The trials in which both sides answered; `changes` are those of NEW's."""
    told = {OLD: Contents("", 1.0, is_log=True), NEW: Contents(OLD, 1.0, (*statements,), True)}
    return [
        make_trial(
            number,
            name_contents(name),
            -1,
            1,
            phases=(),
            **(
                {"contents": contents, "settings": SETTINGS[name]}
                | (changes if name == NEW else {})
            ),
        )
        for number, (name, contents) in enumerate(told.items(), 1)
    ]


def make_timed(factors: Mapping[str, float], spread: float = 0.002) -> list[Trial]:
    """Blocks in which each class takes 1 ms on OLD, and on NEW a bit more or less."""
    trials: list[Trial] = []
    for block in range(BLOCKS):
        for side in (OLD, NEW):
            jitter = 1 + (spread if block % 2 else -spread) * (side == NEW)
            latencies = {
                name: make_latency(1e6 * jitter * (factor if side == NEW else 1.0))
                for name, factor in factors.items()
            }
            record = make_record([make_tally(1000, transactions=latencies)])
            number = 10 + len(trials)
            own = {"phases": (record,), "plans": PLANS[side]}
            trials.append(make_trial(number, side, block, 1, **own))
    return trials


def make_book(folder: Path, statements: Sequence[ComparedStatement] = EVERY, **design: Any) -> Book:
    """A finished rehearsal, judged without audits: made-up trials need not be sound."""
    run = make_rehearsal_run(**design)
    trials = [*make_contents(statements), *make_timed(FACTORS)]
    return Book(folder, run, trials, judge(run, trials, audits={}))


def rehearse(
    statements: Sequence[ComparedStatement] = EVERY,
    factors: Mapping[str, float] | None = None,
    spread: float = 0.002,
    **design: Any,
) -> Rehearsal:
    """What the judge says of these answers and times; `factors` of none: nothing was timed."""
    run = make_rehearsal_run(**design)
    timed = make_timed(FACTORS if factors is None else factors, spread) if factors != {} else []
    found = judge(run, [*make_contents(statements), *timed], audits={}).rehearsal
    assert found
    return found
