"""The judge of real runs and the calibration say the same of the same blocks."""

from __future__ import annotations

import numpy as np
import pytest
from fakes import make_run, make_trials
from judging import analyse_unaudited, judge_unaudited

from dyno.judge.stats.interim_analyses import InterimAnalyses
from dyno.judge.stats.log_ratio import to_log, to_percent
from dyno.judge.stats.simulate import Rule, simulate_runs
from dyno.record import Trial

CASES = 16
NAMES = ("b", "c", "d")
RUN = make_run(["old", *NAMES])


def played(logs: np.ndarray) -> list[Trial]:
    """The trials up to the look at which the judge calls it over."""
    slowdowns = {name: list(values) for name, values in zip(NAMES, logs, strict=True)}
    trials = make_trials(slowdowns, per_s=1e9)
    ends = [blocks * (len(NAMES) + 1) for blocks in RUN.design.analyses]
    return next(trials[:end] for end in ends if analyse_unaudited(RUN, trials[:end]).over)


def test_the_judge_is_what_was_calibrated() -> None:
    """Three primaries each, of every kind of truth; words, blocks and bounds are the same."""
    rng = np.random.default_rng(8)
    truth = rng.choice([-0.03, 0.0, 0.01, 0.02, 0.05], size=(CASES, len(NAMES), 1))
    logs = truth + rng.normal(0.0, 0.02, (CASES, len(NAMES), 24))
    outcome = simulate_runs(
        logs, Rule(InterimAnalyses(RUN.design.analyses, RUN.design.alpha), to_log(2.0))
    )
    assert len(set(outcome.words.flat)) == 4  # every word is among the cases
    for case in range(CASES):
        found = [c for c in judge_unaudited(RUN, played(logs[case])).comparisons if c.primary]
        assert [c.candidate for c in found] == list(NAMES)
        assert [c.verdict for c in found] == list(outcome.words[case])
        assert {c.blocks for c in found} == {outcome.blocks[case]}
        for ours, theirs in (("low_percent", outcome.low), ("high_percent", outcome.high)):
            expected = [to_percent(float(bound)) for bound in theirs[case]]
            assert [getattr(c, ours) for c in found] == pytest.approx(expected, abs=1e-4)
