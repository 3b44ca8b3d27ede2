"""A candidate that crashes is not cleared by the restarts in which it did not."""

from __future__ import annotations

import pytest
import scipy
from fakes import make_run, make_trial, make_trials
from judging import judge_unaudited, logs, primary

from dyno.judge.stats.verdict import compute_fisher_p
from dyno.record import Failure, Trial, Verdict


def crashes(side: str, count: int) -> list[Trial]:
    """Restarts of one side that failed, in blocks that were played anew."""
    gone = Failure("the server was gone")
    return [
        make_trial(500 + n, side, n, 1.0, attempt=0, status="failed", failure=gone)
        for n in range(count)
    ]


def judged_with(failed: list[Trial], slowdown: float, gate: str = "each") -> Verdict:
    trials = make_trials({"new": logs(slowdown, 0.005, 15)})
    return judge_unaudited(make_run(analyses=(15,), gate=gate), failed + trials)


@pytest.mark.parametrize("slowdown", [0.0, -0.1])
def test_a_candidate_that_failed_more_often_than_the_base_is_not_cleared(slowdown: float) -> None:
    verdict = judged_with(crashes("new", 5), slowdown)
    assert (primary(verdict).verdict, verdict.overall) == ("inconclusive", "inconclusive")
    assert "new failed in 5 of 20 restarts and old in 0 of 15" in verdict.sentence


@pytest.mark.parametrize("failed", [[], crashes("new", 2), crashes("old", 5)])
def test_a_failure_that_may_be_chance_or_is_the_base_s_bars_no_word(failed: list[Trial]) -> None:
    assert judged_with(failed, 0.0).overall == "not slower"


def test_a_candidate_that_is_slower_and_crashes_is_slower_and_its_crashes_are_noted() -> None:
    found = primary(judged_with(crashes("new", 5), 0.2))
    assert found.verdict == "slower"
    assert any("failed in 5 of 20 restarts" in note for note in found.notes)


def test_a_mean_over_all_workloads_counts_the_failures_of_all() -> None:
    assert judged_with(crashes("new", 5), 0.0, gate="mean").overall == "inconclusive"


@pytest.mark.parametrize("table", [(5, 20, 0, 15), (1, 6, 1, 7), (0, 6, 3, 9), (0, 0, 0, 0)])
def test_the_exact_test_is_scipy_s(table: tuple[int, int, int, int]) -> None:
    failed, ended, base_failed, base_ended = table
    rows = [[failed, ended - failed], [base_failed, base_ended - base_failed]]
    theirs = scipy.stats.fisher_exact(rows, alternative="greater").pvalue if ended else 1.0
    assert compute_fisher_p(*table) == pytest.approx(theirs)
