"""A side whose events take longer than the phase is judged by a bound."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import make_latency, make_run, make_tally, make_trials
from judging import judge_unaudited, logs, primary
from msgspec import structs

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits.ledger import AUDIT
from dyno.record import Run, Tally, Trial

#: Two users of whom each had one event under way for the whole phase.
OUTLASTED: dict[str, Any] = {
    "done": 0,
    "intended": 0,
    "connections": 2,
    "under_way": 2,
    "under_way_ns_min": 15_000_000_000,
    "latency": make_latency(1.0, 0),
}


def outlasted(*sides: str, **changes: Any) -> tuple[Run, list[Trial]]:
    """Six blocks, a million events a second; of these sides no event ended."""
    tally = make_tally(1e6, **OUTLASTED | changes)
    trials = make_trials({"new": logs(0.0, 0.005, 6)})
    return make_run(), [replace_tally(it, tally) if it.candidate in sides else it for it in trials]


def replace_tally(trial: Trial, tally: Tally) -> Trial:
    records = tuple(structs.replace(it, streams=(tally,)) for it in trial.phases)
    return structs.replace(trial, phases=records)


def test_a_candidate_whose_event_outlasts_the_phase_is_slower_by_so_much_at_least() -> None:
    verdict = judge_unaudited(*outlasted("new"))
    found = primary(verdict)
    assert (found.verdict, verdict.overall) == ("slower", "slower")
    # two users, 15 s each: at most 2 / 15 events a second, beside a million
    assert found.slowdown_percent == pytest.approx(100 * (1e6 * 15 / 2 - 1))
    assert "is at least 7,400,000× slower" in verdict.sentence
    assert "takes longer than the phase of 10 s, 15 s at least" in verdict.sentence
    assert "`--time 100` would measure it" in found.notes[0]


def test_a_base_whose_event_outlasts_the_phase_leaves_the_candidate_faster() -> None:
    verdict = judge_unaudited(*outlasted("old"))
    assert primary(verdict).verdict == "faster"
    assert "is at least 7,400,000× faster" in verdict.sentence


def test_where_events_of_both_sides_outlast_the_phase_nothing_is_said() -> None:
    verdict = judge_unaudited(*outlasted("old", "new"))
    found = primary(verdict)
    assert found.verdict == "inconclusive" and "--time 100" in found.notes[0]


def test_a_bound_never_clears_a_candidate() -> None:
    found = primary(judge_unaudited(*outlasted("new", under_way_ns_min=1_000)))
    assert found.verdict == "inconclusive"


@pytest.mark.parametrize("changes", [{"under_way": 1}, {"failed": 1, "intended": 1}])
def test_users_that_were_idle_or_failed_bound_nothing(changes: dict[str, int]) -> None:
    verdict = judge_unaudited(*outlasted("new", **changes))
    assert not [row for row in verdict.comparisons if row.metric.name == "rate_per_s"]


def test_the_ledger_does_not_call_a_trial_idle_whose_event_outlasts_its_phase() -> None:
    run, trials = outlasted("new")
    assert {it.soundness for it in AUDIT.judge(RunView(run, trials))} <= {"sound", "does not apply"}
    run, trials = outlasted("new", under_way=0)
    assert "did nothing at all" in AUDIT.judge(RunView(run, trials))[0].sentence
