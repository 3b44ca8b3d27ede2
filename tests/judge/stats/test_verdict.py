"""The words for an interval: each rule of METHOD.md, The words, and both sides of its edge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyno.judge.stats.interval import Interval
from dyno.judge.stats.verdict import choose_verdicts, compute_unseen_share


def made(low: float, high: float, wider: float = 0.0) -> Interval:
    """An interval in the middle of which the estimate lies; `wider` where skewness counts."""
    low_, high_ = np.array(low), np.array(high)
    estimate, sd, p = (low_ + high_) / 2.0, np.array(1.0), np.array(0.5)
    return Interval(estimate, low_, high_, sd, sd, 9, p, low_ - wider, high_ + wider)


def word(low: float, high: float, **known: Any) -> str:
    """Its word at the last analysis at 24 blocks, unless something else is `known`."""
    interval = made(low, high, known.pop("wider", 0.0))
    return str(choose_verdicts(interval, 2.0, **{"blocks": 24, "last": True, **known}))


@pytest.mark.parametrize(
    "low,high,expected",
    [
        (3.0, 5.0, "slower"),
        (0.9, 2.1, "slower"),
        (0.1, 2.8, "inconclusive"),
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


def test_an_estimate_of_the_margin_is_slower_and_at_the_last_analysis_three_quarters_of_it() -> (
    None
):
    assert word(0.1, 3.8, last=False) == "inconclusive"
    assert word(0.1, 3.9, last=False) == "slower"
    assert word(0.1, 2.8, last=True) == "inconclusive"
    assert word(0.1, 2.9, last=True) == "slower"


def test_a_candidate_is_cleared_from_ten_blocks_on_or_at_the_last_analysis() -> None:
    assert word(-1.0, 1.9, blocks=9, last=False) == "inconclusive"
    assert word(-1.0, 1.9, blocks=10, last=False) == "not slower"
    assert word(-1.0, 1.9, blocks=5, last=True) == "not slower"
    assert word(-3.0, -0.1, blocks=6, last=False) == "faster"


def test_skewed_data_keep_a_word_back_that_students_interval_alone_would_say() -> None:
    assert word(0.5, 5.0, wider=0.6) == "inconclusive"
    assert word(-1.0, 1.9, wider=0.2) == "inconclusive"
    assert word(-3.0, -0.1, wider=0.2) == "not slower"
    # wide enough to hold the margin: no less slower for it
    assert word(0.7, 1.9, wider=0.2) == "inconclusive"


@pytest.mark.parametrize("restarts,percent", [(6, 39), (10, 26), (24, 12)])
def test_what_share_of_slow_restarts_may_have_been_missed(restarts: int, percent: int) -> None:
    share = compute_unseen_share(restarts)
    assert round(100 * share) == percent
    assert (1 - share) ** restarts == pytest.approx(0.05)


def test_without_significance_neither_slower_nor_faster_is_said() -> None:
    assert word(3.0, 5.0, significant=False) == "inconclusive"
    assert word(-3.0, -0.1, significant=False) == "not slower"
