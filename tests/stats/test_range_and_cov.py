"""Range and coefficient of variation between restarts, by hand and against simulated truth."""

from __future__ import annotations

import numpy as np
import pytest

from dyno.stats.components import cov_interval, cov_percent, range_percent


def test_the_range_is_the_same_for_a_rate_and_for_its_time() -> None:
    rates = np.array([100.0, 110.0, 105.0])
    assert range_percent(rates) == pytest.approx(10.0) == pytest.approx(range_percent(1 / rates))
    assert cov_percent(rates) == pytest.approx(100 * 5 / 105)


def test_the_interval_of_a_coefficient_of_variation_holds_it() -> None:
    dice = np.random.default_rng(22)
    found = [cov_interval(values) for values in dice.normal(100, 3, (2000, 6))]
    assert 0.94 <= np.mean([low <= 3 <= high for low, high in found]) <= 0.96
    low, high = cov_interval(np.array([99.0, 101.0, 99.0, 101.0, 99.0, 101.0]))
    cov = cov_percent(np.array([99.0, 101.0] * 3))
    assert (low / cov, high / cov) == pytest.approx((0.624, 2.453), abs=0.001)
