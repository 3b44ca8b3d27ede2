"""The words for an interval: each rule of METHOD.md, The words, and both sides of its edge."""

from __future__ import annotations

import numpy as np
import pytest

from dyno.stats.interval import Interval
from dyno.stats.verdict import verdicts


def word(low: float, high: float, *, last: bool = True, significant: bool = True) -> str:
    low_, high_ = np.array(low), np.array(high)
    interval = Interval((low_ + high_) / 2.0, low_, high_, np.array(1.0), np.array(0.5))
    return str(verdicts(interval, 2.0, last=last, significant=significant))


@pytest.mark.parametrize(
    "low,high,expected",
    [
        (3.0, 5.0, "slower"),
        (0.1, 2.0, "slower"),
        (0.1, 1.9, "not slower"),
        (-1.0, 1.9, "not slower"),
        (-1.0, 2.0, "inconclusive"),
        (0.0, 5.0, "inconclusive"),
        (-3.0, 0.0, "not slower"),
        (-3.0, -0.1, "faster"),
    ],
)
def test_the_verdict_follows_from_the_interval(low: float, high: float, expected: str) -> None:
    assert word(low, high) == expected


def test_before_the_last_look_the_estimate_must_reach_the_margin_too() -> None:
    assert word(0.1, 3.8, last=False) == "inconclusive"
    assert word(0.1, 3.9, last=False) == "slower"
    assert word(0.1, 3.8, last=True) == "slower"


def test_without_significance_neither_slower_nor_faster_is_said() -> None:
    assert word(3.0, 5.0, significant=False) == "inconclusive"
    assert word(-3.0, -0.1, significant=False) == "not slower"
