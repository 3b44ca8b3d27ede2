"""How much of a change of time the instructions explain, in the sentence of what changed."""

from __future__ import annotations

import pytest
from counts import make_count
from fakes import make_run, make_trials
from judging import logs

from dyno.judge.analysis.judge import judge
from dyno.record import Cause
from dyno.report.export import to_json_rows


def find_cause(slower: float, base: tuple[float, ...], new: tuple[float, ...]) -> Cause:
    """What changed where the candidate's time is so much slower (a log)."""
    trials = make_trials({"new": logs(slower, 0.005, 6)})
    counts = [make_count({"old": base, "new": new})]
    verdict = judge(make_run(), trials, audits={}, counts=counts)
    (cause,) = verdict.causes
    (row, *_) = to_json_rows(verdict)
    assert row["cause"] == cause.sentence
    assert row["instructions"]["candidate_value"] == pytest.approx(sum(new) / len(new))
    return cause


def test_instructions_explain_at_most_their_share_of_the_times_change() -> None:
    cause = find_cause(0.20, (1000.0, 1000.0), (1105.17, 1105.17))
    (counted,) = cause.instructions
    assert counted.explained_percent == pytest.approx(50.0, abs=0.1)
    assert counted.explained_low_percent is not None
    assert counted.explained_low_percent < 50.0 < (counted.explained_high_percent or 0.0)
    # the time's interval in logs is around 0.20, the instructions' 0.10 has no width
    ends = (10.0 / counted.explained_low_percent, 10.0 / (counted.explained_high_percent or 1.0))
    assert sum(ends) == pytest.approx(0.40, abs=0.001)
    assert (
        "instructions +10.5 % an event (1,000 → 1,105), most in b-tree +105: they explain at "
        "most 50 % [4" in cause.sentence
    )
    assert "of the time's change" in cause.sentence


def test_more_instructions_than_time_are_its_whole_change() -> None:
    cause = find_cause(0.05, (1000.0, 1000.0), (1200.0, 1200.0))
    assert "as much as the time's whole change, or more" in cause.sentence


@pytest.mark.parametrize("slower", [0.0, -0.1])
def test_heavier_is_not_slower(slower: float) -> None:
    cause = find_cause(slower, (1000.0, 1000.0), (1050.0, 1050.0))
    assert cause.instructions[0].explained_percent is None
    assert "the time is not shown to follow, and heavier is not slower" in cause.sentence


def test_a_slower_side_with_equal_instructions_stays_unexplained() -> None:
    cause = find_cause(0.1, (1000.0, 1000.0), (1000.0, 1000.0))
    assert "instructions +0.0 %" in cause.sentence
    assert cause.sentence.endswith("nothing that was looked at is shown to explain the difference")


def test_restarts_that_differ_give_an_interval() -> None:
    cause = find_cause(0.2, (1000.0, 1000.4), (1105.0, 1105.4))
    assert "instructions +10.5 % [10.1, 10.9] an event" in cause.sentence
