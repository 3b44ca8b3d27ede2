"""The spending bounds against what others published, and against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from dyno.judge.stats.interim_analyses import (
    InterimAnalyses,
    compute_adjusted_p,
    compute_critical_values,
    compute_nominal_levels,
    spend_pocock,
)
from dyno.judge.stats.interval import compute_t_interval
from dyno.judge.stats.log_ratio import to_log, to_percent
from dyno.judge.stats.scenarios import Scenario
from dyno.judge.stats.simulate import Rule, simulate_runs

FIVE_EQUAL = (0.2, 0.4, 0.6, 0.8, 1.0)
DEFAULT = InterimAnalyses((6, 10, 14, 18, 24), 0.05)


def test_five_equal_analyses_give_the_published_bounds() -> None:
    found = [round(value, 3) for value in compute_critical_values(FIVE_EQUAL, 0.05)]
    assert found == [2.438, 2.427, 2.410, 2.397, 2.386]


def test_all_of_alpha_is_spent_at_the_last_analysis() -> None:
    assert spend_pocock(1.0, 0.05) == pytest.approx(0.05)


def test_one_analysis_at_max_is_the_plain_test() -> None:
    assert InterimAnalyses((6,), 0.05).compute_level(6) == pytest.approx(0.05)
    assert InterimAnalyses((5,), 0.05).adjust_p(0.03, 5) == pytest.approx(0.03, rel=1e-3)


def test_the_bounds_let_out_what_the_spending_function_says() -> None:
    values = np.array(compute_critical_values(DEFAULT.compute_fractions(24), 0.05))
    steps = np.random.default_rng(4).normal(size=(200_000, 24)).cumsum(axis=1)
    ends = np.array(DEFAULT.blocks)
    crossed = np.abs(steps[:, ends - 1]) / np.sqrt(ends) > values
    spent = np.maximum.accumulate(crossed, axis=1).mean(axis=0)
    expected = [spend_pocock(end / 24, 0.05) for end in DEFAULT.blocks]
    assert spent == pytest.approx(expected, abs=0.002)


def test_of_few_blocks_the_analyses_let_out_a_little_more_than_alpha() -> None:
    """Student's quantile at the level of a normal bound is not the bound of t itself."""
    logs = np.random.default_rng(2).normal(size=(100_000, 24))
    outside, above = np.zeros((2, len(logs)), dtype=bool)
    for n in DEFAULT.blocks:
        seen = compute_t_interval(logs[:, :n], DEFAULT.compute_level(n))
        above |= seen.low > 0.0
        outside |= (seen.low > 0.0) | (seen.high < 0.0)
    assert 0.050 < outside.mean() < 0.056
    assert 0.025 < above.mean() < 0.028  # no more than these can be called slower


def test_the_estimate_leans_towards_what_a_run_stopped_for() -> None:
    rule = Rule(DEFAULT, to_log(2.0))
    for truth, mean in ((0.0, -0.09), (2.0, 2.19)):
        logs = Scenario("normal", 2.0, truth).draw_logs(20_000, 24)
        ended = simulate_runs(logs[:, None, :], rule)
        assert to_percent(float(ended.estimate.mean())) == pytest.approx(mean, abs=0.03)


def test_sixty_analyses_cost_more_than_five_and_less_than_bonferroni() -> None:
    many = compute_nominal_levels(tuple(n / 60 for n in range(1, 61)), 0.05)
    assert 0.05 / 60 < many[-1] < compute_nominal_levels(FIVE_EQUAL, 0.05)[-1]


@pytest.mark.parametrize("blocks", DEFAULT.blocks)
def test_the_adjusted_p_is_alpha_where_the_nominal_level_is_met(blocks: int) -> None:
    assert DEFAULT.adjust_p(DEFAULT.compute_level(blocks), blocks) == pytest.approx(0.05, rel=2e-3)


def test_the_adjusted_p_rises_with_p_and_never_flatters() -> None:
    p_values = np.geomspace(1e-15, 1.0, 200)
    adjusted = compute_adjusted_p(p_values, DEFAULT.compute_fractions(24))
    assert (np.diff(adjusted) >= 0.0).all()
    assert (adjusted >= p_values).all()
    assert adjusted[-1] == 1.0


def test_analyses_say_which_was_reached_and_which_follows() -> None:
    assert [DEFAULT.find_last_reached(n) for n in (0, 5, 6, 9, 10, 30)] == [0, 0, 6, 6, 10, 24]
    assert [DEFAULT.find_next(n) for n in (0, 6, 9, 24, 30)] == [6, 10, 10, 24, 24]
