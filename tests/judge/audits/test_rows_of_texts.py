"""Every text's rows are judged: exactly where the work is the same, else beyond chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from audit_records import a_run, a_trial, findings
from fakes import make_phase
from msgspec import structs

from dyno.judge.audits._rows import ALPHA, judge_averages
from dyno.record import Finding, Run, StatementKind, StatementTally, Trial

UPDATE, SELECT = "UPDATE t SET k=? WHERE v<?", "SELECT k FROM t WHERE v<?"
AUDITS = (("rows_changed", UPDATE), ("results", SELECT))
REPLAYED: dict[str, Any] = {"kind": "count", "events": 0}
COUNTED: dict[str, Any] = {"kind": "count", "events": 400}
TIMED: dict[str, Any] = {"kind": "time", "duration_s": 10.0}


def rows(text: str, count: int, found: int) -> StatementTally:
    """A text that was sent so often, and changed or read so many rows."""
    kind: StatementKind = "update" if text.startswith("UPDATE") else "read"
    changed = found if kind == "update" else 0
    return StatementTally(text, str(hash(text)), kind, count, 0, found - changed, changed)


def log(
    audit_text: str, found: dict[str, int], count: int = 400, blocks: int = 1, **tally: Any
) -> list[Trial]:
    """Blocks of a log of three texts, of which one finds so many rows on each side."""
    trials = []
    for at in range(2 * blocks):
        side = ("old", "new")[at % 2]
        others = (rows("SELECT ?", count, count), rows("SELECT v FROM u", count, 3 * count))
        own = (rows(audit_text, count, found[side]), *others)
        trial = a_trial(at + 2, side, statements=own, **tally)
        trials.append(structs.replace(trial, block=at // 2))
    return trials


def a_phase(stop: dict[str, Any], **changes: Any) -> Run:
    return a_run(phase=make_phase() | {"stop": stop} | changes)


def told(audit: str, trials: Sequence[Trial], stop: dict[str, Any], **changes: Any) -> Finding:
    """What is told of the text; nothing else may be blamed."""
    every = findings(audit, a_phase(stop, **changes), *trials)
    (found,) = (it for it in every if it.soundness != "does not apply")
    return found


@pytest.mark.parametrize(("audit", "text"), AUDITS)
@pytest.mark.parametrize("stop", [REPLAYED, COUNTED])
@pytest.mark.parametrize(
    "rows_found", [(400, 110, 165), (5, 25, 20), (5, 25, 24), (1, 1, 0), (400, 110, 111)]
)
def test_the_same_work_that_finds_other_rows_is_invalid_however_rare(
    audit: str, text: str, stop: dict[str, Any], rows_found: tuple[int, int, int]
) -> None:
    count, old, new = rows_found
    found = told(audit, log(text, {"old": old, "new": new}, count), stop)
    assert found.soundness == "invalid"
    assert f"{new} rows in {count} executions, and {old} in the same on old" in found.sentence


@pytest.mark.parametrize(("audit", "text"), AUDITS)
def test_the_same_work_that_finds_the_same_says_how_much_was_compared(
    audit: str, text: str
) -> None:
    found = told(audit, log(text, {"old": 110, "new": 110}, blocks=3), REPLAYED)
    texts = 1 if audit == "rows_changed" else 3
    assert found.soundness == "sound"
    assert f"; {texts} texts were compared over {2400 * texts:,} executions, {texts} exactly" in (
        found.sentence
    )


@pytest.mark.parametrize(("audit", "text"), AUDITS)
@pytest.mark.parametrize("stop", [REPLAYED, COUNTED, TIMED])
def test_a_text_with_as_many_rows_each_time_may_have_no_other_number(
    audit: str, text: str, stop: dict[str, Any]
) -> None:
    trials = log(text, {"old": 25, "new": 20}, count=5, blocks=4, connections=2)
    assert told(audit, trials, stop).soundness == "invalid"


@pytest.mark.parametrize(("audit", "text"), AUDITS)
def test_connections_that_race_for_rows_may_differ_by_chance_and_no_more(
    audit: str, text: str
) -> None:
    def judged(new: Callable[[int], int]) -> str:
        trials = []
        for block in range(4):
            found = {"old": 105 + 3 * block, "new": new(block)}
            pair = log(text, found, connections=4)
            trials += [structs.replace(it, block=block) for it in pair]
        return told(audit, trials, COUNTED).soundness

    assert judged(lambda block: 108 - block) == "sound"
    assert judged(lambda block: 165 + block) == "invalid"


def test_one_restart_of_other_work_is_not_checked_by_name() -> None:
    trials = log(UPDATE, {"old": 110, "new": 165}, connections=4)
    found = findings("rows_changed", a_phase(TIMED), *trials)
    assert [it.soundness for it in found] == ["sound", "not checked"]
    assert UPDATE in found[1].sentence


@pytest.mark.parametrize("spoiled", [{"warmup": 3}, {"failed": 1, "done": 9_999}])
def test_work_that_only_looks_the_same_is_not_counted_exactly(spoiled: dict[str, Any]) -> None:
    trials = log(UPDATE, {"old": 110, "new": 111}, blocks=2)
    (record,) = trials[1].phases
    streams = (structs.replace(record.streams[0], **spoiled),)
    other = structs.replace(record, streams=streams)
    trials[1] = structs.replace(trials[1], phases=(other,))
    trials[3] = structs.replace(trials[3], phases=(other,))
    assert told("rows_changed", trials, REPLAYED).soundness == "sound"


def test_rows_that_the_base_itself_finds_otherwise_in_each_block_of_a_log_are_no_fault() -> None:
    first, second = (log(SELECT, {"old": old, "new": 111}) for old in (110, 112))
    again = [structs.replace(it, block=1) for it in second]
    assert told("results", [*first, *again], REPLAYED).soundness == "sound"


def test_a_text_that_asks_for_chance_may_answer_otherwise() -> None:
    text = "SELECT k FROM t WHERE v<random()*?"
    assert (
        told("results", log(text, {"old": 110, "new": 111}, blocks=2), COUNTED).soundness == "sound"
    )


def test_what_a_timed_phase_wrote_before_makes_other_rows_of_the_same_statements() -> None:
    trials = []
    for trial in log(SELECT, {"old": 110, "new": 111}, blocks=2):
        (record,) = trial.phases
        many = 500 if trial.candidate == "old" else 600
        tally = structs.replace(record.streams[0], statements=(rows(UPDATE, many, many),))
        before = structs.replace(record, phase="writes", streams=(tally,))
        trials.append(structs.replace(trial, phases=(before, record)))
    assert told("results", trials, REPLAYED).soundness == "sound"


DRAWS: dict[str, Callable[[np.random.Generator, int], int]] = {
    "few of many": lambda draw, n: int(draw.binomial(n, 0.02)),
    "one or none": lambda draw, n: int(draw.binomial(n, 0.9)),
    "counted": lambda draw, n: int(draw.poisson(3.0 * n)),
    "scattered": lambda draw, n: int(draw.geometric(0.05, n).sum()),
    "all or none": lambda draw, n: 100 * int(draw.binomial(n, 0.01)),
    "by restart": lambda draw, n: int(draw.poisson(draw.lognormal(0, 0.3) * n)),
}


@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize(("restarts", "executions"), [(2, 5), (3, 40), (6, 1), (6, 5), (6, 400)])
def test_of_a_thousand_texts_that_differ_by_chance_at_most_one_is_blamed(
    kind: str, restarts: int, executions: int
) -> None:
    draw = np.random.default_rng(7)
    runs = 2_000
    blamed = 0
    for _ in range(runs):
        sides = [
            (
                np.full(restarts, float(executions)),
                np.array([float(DRAWS[kind](draw, executions)) for _ in range(restarts)]),
            )
            for _ in range(2)
        ]
        blamed += judge_averages(sides) is not None
    assert blamed <= runs / 1000 and ALPHA <= 1e-3
