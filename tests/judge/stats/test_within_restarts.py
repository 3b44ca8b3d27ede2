"""Seconds within a restart: the best number is the cheapest, and seconds alike are no news."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dyno.judge.stats.within_restarts import (
    Costs,
    compute_time_times_variance,
    estimate_within_restarts,
    find_best_seconds,
)


def test_the_best_number_is_the_cheapest_of_all() -> None:
    """Kalibera & Jones' rule against a search by hand."""
    costs, second, restart = Costs(restart_s=20.0), 0.37, 0.63
    best = find_best_seconds(costs, second, restart)
    cheapest = min(
        range(1, 200), key=lambda m: compute_time_times_variance(costs, m, second, restart)
    )
    assert best == pytest.approx(math.sqrt(20.0 * 0.37 / 0.63))
    assert abs(cheapest - best) <= 0.5


def test_restarts_that_do_not_differ_ask_for_one_long_trial() -> None:
    assert find_best_seconds(Costs(5.0), 0.1, 0.0) == math.inf
    assert find_best_seconds(Costs(5.0), 0.0, 0.0) == 1.0
    assert find_best_seconds(Costs(5.0), 1e-9, 1.0) == 1.0


def test_seconds_are_pooled_over_restarts() -> None:
    found = estimate_within_restarts([np.array([0.0, 2.0]), np.array([10.0, 12.0, 14.0])])
    assert found is not None
    assert (found.variance, found.df) == ((2.0 + 8.0) / 3, 3)
    assert found.count == pytest.approx(2 / (1 / 2 + 1 / 3))
    assert found.inflation == 1.0


def test_a_restart_of_one_second_tells_nothing_of_seconds() -> None:
    assert estimate_within_restarts([np.array([0.0, 2.0]), np.array([1.0])]) is None
    assert estimate_within_restarts([]) is None


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
def test_the_mean_of_seconds_alike_varies_as_it_is_said_to(correlation: float) -> None:
    rng = np.random.default_rng(2)
    seconds = rng.normal(size=(3000, 40))
    for i in range(1, 40):
        keep = math.sqrt(1 - correlation**2)
        seconds[:, i] = correlation * seconds[:, i - 1] + keep * seconds[:, i]
    found = estimate_within_restarts(list(seconds))
    assert found is not None
    said = found.variance * found.inflation / found.count
    assert said == pytest.approx(float(seconds.mean(axis=1).var()), rel=0.15)
