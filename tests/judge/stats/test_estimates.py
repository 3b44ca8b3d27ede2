"""Interval, second opinion, power and multiplicity against the libraries that know them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from dyno.judge.stats.interim_analyses import InterimAnalyses
from dyno.judge.stats.interval import (
    compute_sign_flip_p,
    compute_t_interval,
    estimate_hodges_lehmann,
)
from dyno.judge.stats.log_ratio import to_log, to_percent
from dyno.judge.stats.power import compute_detectable, solve_noncentrality
from dyno.judge.stats.verdict import adjust_benjamini_hochberg, adjust_holm

LOGS = np.random.default_rng(7).normal(0.01, 0.02, 12)
P_VALUES = np.array([0.012, 0.4, 0.001, 0.03, 0.049, 1.0])


def test_the_interval_is_that_of_the_t_test() -> None:
    ours, theirs = compute_t_interval(LOGS, 0.05), scipy.stats.ttest_1samp(LOGS, 0.0)
    limits = theirs.confidence_interval(0.95)
    assert (ours.low, ours.high) == pytest.approx((limits.low, limits.high))
    assert ours.p == pytest.approx(theirs.pvalue)


def test_no_bound_lies_farther_than_twice_the_farthest_block() -> None:
    """Six blocks of a demo that took 23 to 46 % less time were held back by a bound of +15 %."""
    logs = np.array([-0.561, -0.268, -0.514, -0.616, -0.35, -0.544])
    level = InterimAnalyses((6, 10, 14, 18, 24), 0.05).compute_level(6)
    seen = compute_t_interval(logs, level)
    assert seen.high < float(seen.high_skewed) < 0.0
    assert seen.high_skewed == pytest.approx(seen.estimate + 2 * (logs.max() - seen.estimate))
    turned = compute_t_interval(-logs, level)
    assert (turned.low_skewed, turned.high_skewed) == pytest.approx(
        (-seen.high_skewed, -seen.low_skewed)
    )


def test_blocks_that_agree_exactly_give_an_interval_without_width() -> None:
    same, other = compute_t_interval(np.zeros(6), 0.05), compute_t_interval(np.full(6, 0.5), 0.05)
    assert (float(same.low), float(same.high), float(same.p)) == (0.0, 0.0, 1.0)
    assert (float(other.low), float(other.high), float(other.p)) == (0.5, 0.5, 0.0)


@pytest.mark.parametrize("blocks", [8, 9, 12])
def test_the_sign_flip_test_is_exact(blocks: int) -> None:
    logs = LOGS[:blocks]
    every = scipy.stats.permutation_test(
        (logs,), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    assert compute_sign_flip_p(logs) == pytest.approx(every.pvalue)


def test_the_sign_flip_test_knows_its_limits() -> None:
    assert compute_sign_flip_p(np.ones(8)) == 2.0**-7
    assert compute_sign_flip_p(np.zeros(8)) == 1.0
    assert compute_sign_flip_p(np.ones(40)) == pytest.approx(1e-5)


def test_one_wild_block_hardly_moves_hodges_lehmann() -> None:
    wild = np.append(LOGS, 5.0)
    assert (
        abs(estimate_hodges_lehmann(wild) - estimate_hodges_lehmann(LOGS))
        < 0.01
        < abs(wild.mean() - LOGS.mean())
    )


def test_hodges_lehmann_of_three_is_the_median_of_six_means() -> None:
    assert estimate_hodges_lehmann(np.array([0.0, 1.0, 5.0])) == np.median(
        [0.0, 1.0, 5.0, 0.5, 2.5, 3.0]
    )


@pytest.mark.parametrize("blocks", [3, 6, 24])
def test_what_can_be_detected_is_what_statsmodels_says(blocks: int) -> None:
    from statsmodels.stats.power import TTestPower  # loads pandas

    effect = TTestPower().solve_power(nobs=blocks, alpha=0.05, power=0.8, alternative="two-sided")
    assert solve_noncentrality(blocks, 0.05) / blocks**0.5 == pytest.approx(effect, rel=0.01)


def test_ten_blocks_find_a_slowdown_as_large_as_their_spread_and_nine_do_not() -> None:
    assert compute_detectable(10, 0.02, 0.05) <= 0.02 < compute_detectable(9, 0.02, 0.05)


def test_the_chance_at_the_detectable_effect_is_four_in_five() -> None:
    sd, blocks = 0.02, 10
    effect = compute_detectable(blocks, sd, 0.05)
    logs = np.random.default_rng(3).normal(effect, sd, (40_000, blocks))
    assert (compute_t_interval(logs, 0.05).low > 0.0).mean() == pytest.approx(0.8, abs=0.01)


def test_two_blocks_at_a_strict_level_still_have_a_number() -> None:
    assert np.isfinite(solve_noncentrality(2, 0.0005))


@pytest.mark.slow
def test_holm_and_benjamini_hochberg_are_those_of_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    assert adjust_holm(P_VALUES) == pytest.approx(multipletests(P_VALUES, method="holm")[1])
    found = adjust_benjamini_hochberg(P_VALUES)
    assert found == pytest.approx(multipletests(P_VALUES, method="fdr_bh")[1])
    assert adjust_holm(P_VALUES.reshape(2, 3))[1] == pytest.approx(adjust_holm(P_VALUES[3:]))


def test_no_p_values_are_adjusted_to_none() -> None:
    assert adjust_holm(np.zeros(0)).size == adjust_benjamini_hochberg(np.zeros(0)).size == 0


def test_percent_and_logs_are_each_other_turned_round() -> None:
    assert to_percent(np.log(210 / 200)) == pytest.approx(5.0)
    assert to_percent(to_log(-3.0)) == pytest.approx(-3.0)
