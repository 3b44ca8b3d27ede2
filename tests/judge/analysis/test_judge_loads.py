"""The judge where loads of the data come again: the blocks that share one are one datum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import scipy
from fakes import make_load, make_run, make_trials
from judging import judge_unaudited
from msgspec import structs

from dyno.judge.stats.log_ratio import to_percent
from dyno.record import Comparison, Conditions, Trial

LOGS = [0.01, 0.03, 0.02, 0.012, 0.034, 0.019, 0.011, 0.029, 0.024]
#: Three loads in turn: their means over three blocks each.
MEANS = np.array(LOGS).reshape(3, 3).mean(axis=0)
TRIALS = make_trials({"new": LOGS}, per_s=1e9)


def kept(trials: Sequence[Trial], of: int, *, shared: bool = False) -> list[Trial]:
    """The trials, begun with `of` kept loads in turn."""
    return [
        structs.replace(
            trial,
            conditions=Conditions(
                load=make_load(f"{'' if shared else trial.candidate}{trial.block % of}")
            ),
        )
        for trial in trials
    ]


def row(trials: Sequence[Trial]) -> Comparison:
    verdict = judge_unaudited(make_run(analyses=(len(LOGS),)), trials)
    return next(c for c in verdict.comparisons if c.primary)


def test_the_interval_is_that_of_the_loads_and_not_of_the_blocks() -> None:
    found = row(kept(TRIALS, 3))
    limits = scipy.stats.ttest_1samp(MEANS, 0.0).confidence_interval(0.95)
    expected = [to_percent(limits.low), to_percent(limits.high)]
    assert [found.low_percent, found.high_percent] == pytest.approx(expected, abs=1e-4)
    assert found.blocks == len(LOGS)
    assert found.sd_percent == pytest.approx(to_percent(float(np.std(LOGS, ddof=1))), abs=1e-4)
    assert found.candidate_value / found.base_value == pytest.approx(
        1.0 / (1.0 + found.slowdown_percent / 100.0)
    )


def test_the_standard_error_that_a_row_tells_is_that_of_its_interval() -> None:
    found, plain = (row(it) for it in (kept(TRIALS, 3), TRIALS))
    error = to_percent(float(MEANS.std(ddof=1)) / 3**0.5)
    assert found.error_percent == pytest.approx(error, abs=1e-4)
    assert found.freedom == 2
    assert (plain.freedom, plain.blocks) == (len(LOGS) - 1, found.blocks)


def test_a_load_that_both_sides_begin_with_cancels() -> None:
    plain = make_trials({"new": LOGS})
    assert row(kept(plain, 3, shared=True)) == row(plain)


def test_loads_that_never_come_again_and_a_single_one_change_nothing() -> None:
    plain = make_trials({"new": LOGS})
    assert row(kept(plain, 99)) == row(plain)
    assert row(kept(plain, 1)) == row(plain)  # the audit `loads` says what that is worth


def test_a_second_opinion_needs_eight_loads_too() -> None:
    plain = make_trials({"new": LOGS})
    assert row(plain).sign_flip_p is not None
    assert row(kept(plain, 3)).sign_flip_p is None
