"""Intervals by batch means: how often they err for series whose neighbours are alike."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dyno.judge.stats.batch_means import (
    ALPHA,
    compute_p_value,
    estimate_series_mean,
    subtract_means,
)
from dyno.judge.stats.log_ratio import Floats

SIMULATED = 1_500


def draw_series(rng: np.random.Generator, slices: int, correlation: float) -> Floats:
    """Around 1, each slice like the one before by `correlation`."""
    found = np.empty(slices)
    found[0] = rng.normal(scale=1 / math.sqrt(1 - correlation**2))
    for at in range(1, slices):
        found[at] = correlation * found[at - 1] + rng.normal()
    return 1.0 + 0.05 * found


@pytest.mark.parametrize(
    ("slices", "correlation", "most"),
    [
        (10, 0.0, 0.06),
        (10, 0.5, 0.08),
        (12, 0.5, 0.07),
        (20, 0.7, 0.08),
        (30, 0.0, 0.06),
        (30, 0.7, 0.07),
        (120, 0.7, 0.07),
    ],
)
def test_equal_series_differ_about_as_seldom_as_is_said(
    slices: int, correlation: float, most: float
) -> None:
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(SIMULATED):
        pair = [estimate_series_mean(list(draw_series(rng, slices, correlation))) for _ in range(2)]
        wrong += compute_p_value(subtract_means(*pair)) <= ALPHA
    assert wrong / SIMULATED <= most


def test_a_real_difference_is_found_with_its_size() -> None:
    rng = np.random.default_rng(8)
    base, other = (estimate_series_mean(list(draw_series(rng, 30, 0.3))) for _ in range(2))
    raised = estimate_series_mean(list(1.3 * draw_series(rng, 30, 0.3)))
    assert compute_p_value(subtract_means(base, raised)) < 0.001
    low, high = subtract_means(base, raised).compute_ends()
    assert low < 0.3 < high and low > 0.1
    assert compute_p_value(subtract_means(base, other)) > 0.01


def test_few_slices_have_a_mean_and_no_interval() -> None:
    found = estimate_series_mean([1.0, 2.0, 3.0])
    assert found.mean == 2.0 and not found.is_bounded
    assert math.isnan(compute_p_value(subtract_means(found, found)))
    assert math.isnan(estimate_series_mean([]).mean)


def test_time_a_call_is_all_time_by_all_calls() -> None:
    calls = [1.0, 3.0] * 10
    found = estimate_series_mean([5.0 * n for n in calls], calls)
    assert found.mean == 5.0 and found.error == pytest.approx(0.0)
    assert not estimate_series_mean([1.0] * 10, [0.0] * 9 + [1.0]).is_bounded
