"""Capacities judged: the unit is the restart, the words are a comparison's, and the driver's own
limit is no answer.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from made_rates import make_blocks, make_plan, make_rate_step
from msgspec.structs import replace

from dyno.judge.analysis.capacity import judge_capacity, measure_change


def test_a_candidates_answer_is_the_mean_over_restarts_with_an_interval() -> None:
    result = judge_capacity(
        make_plan(["A"]), make_blocks({"A": (980, 1000, 1020, 990, 1010, 1000)})
    )
    (side,) = result.candidates
    assert side.rate_per_s == pytest.approx(1000, rel=0.002)
    assert side.low and side.high and 980 < side.low < 1000 < side.high < 1020
    assert result.complete and not result.comparisons and result.overall == "measured"


@pytest.mark.parametrize(
    ("gain", "word"),
    [(1.12, "faster"), (0.88, "slower"), (1.0, "not slower"), (0.985, "not slower")],
)
def test_candidates_are_compared_block_by_block(gain: float, word: str) -> None:
    # blocks differ by far more than the candidates within one
    hosts = (1000, 1300, 800, 1100, 900, 1200)
    jitter = (1.0, 1.004, 0.997, 1.002, 0.998, 1.001)
    rates = {"A": hosts, "B": [h * gain * j for h, j in zip(hosts, jitter, strict=True)]}
    (row,) = judge_capacity(make_plan(), make_blocks(rates)).comparisons
    assert row.verdict == word
    assert row.change_percent == pytest.approx(100 * (gain - 1), abs=0.3)
    change, low, high = measure_change(row)
    assert low < change < high and change == pytest.approx(row.change_percent)


def test_a_spread_that_hides_the_margin_is_inconclusive() -> None:
    rates = {"A": (1000,) * 6, "B": (700, 1300, 900, 1100, 750, 1250)}
    (row,) = judge_capacity(make_plan(), make_blocks(rates)).comparisons
    assert row.verdict == "inconclusive"


def test_one_that_holds_the_limit_at_no_rate_has_less_capacity_than_one_that_does() -> None:
    result = judge_capacity(make_plan(), make_blocks({"A": (1000,) * 6, "B": (0,) * 6}))
    assert [row.verdict for row in result.comparisons] == ["slower"]
    assert result.candidates[1].rate_per_s is None
    mixed = judge_capacity(make_plan(), make_blocks({"A": (1000,) * 6, "B": (0, 0, 900, 0, 0, 0)}))
    assert [row.verdict for row in mixed.comparisons] == ["inconclusive"]
    assert "5 of 6 restarts of B" in mixed.reason


def test_the_worst_word_of_several_candidates_decides() -> None:
    plan = make_plan(["A", "B", "C"])
    rates = {"A": (1000,) * 6, "B": (1100,) * 6, "C": (800, 801, 799, 800, 802, 800)}
    result = judge_capacity(plan, make_blocks(rates))
    assert [row.verdict for row in result.comparisons] == ["faster", "slower"]
    assert result.overall == "slower"


def test_the_drivers_own_limit_is_no_answer_and_ends_the_run_early() -> None:
    two = judge_capacity(
        make_plan(), make_blocks({"A": (1000, 1000), "B": (1000, 1000)}, (2.0, 1.5))
    )
    assert "without an engine" in two.sentence and two.overall == "invalid" and two.complete
    one = judge_capacity(make_plan(), make_blocks({"A": (1000,), "B": (1000,)}, (2.0, 1.5)))
    assert one.overall == "inconclusive" and not one.complete
    busy = judge_capacity(make_plan(), make_blocks({"A": (1000,) * 3, "B": (1000,) * 3}, busy=97))
    assert (
        "busiest thread worked 97 %" in busy.sentence and busy.comparisons[0].verdict == "invalid"
    )


def test_a_closed_loop_as_fast_as_without_an_engine_is_the_drivers() -> None:
    blocks = [
        replace(block, baseline_closed_per_s=2100.0) for block in make_blocks({"A": (1000,) * 6})
    ]
    assert "95 % of what the same script does" in judge_capacity(make_plan(["A"]), blocks).sentence


def test_a_driver_that_breaks_the_limit_not_far_beyond_is_a_doubt() -> None:
    blocks = make_blocks({"A": (1000,) * 6}, baselines=(1.4, 0.8))
    result = judge_capacity(make_plan(["A"]), blocks)
    assert (
        "breaks p99<10ms at 1,500 events/s" in result.doubts[0].sentence
        and result.overall == "measured"
    )


def test_overloads_are_counted_with_the_earliest_second() -> None:
    blocks = make_blocks({"A": (1000,) * 6})
    (restart,) = blocks[0].restarts
    steps = (*restart.steps, make_rate_step(2000.0, None))
    blocks[0] = replace(blocks[0], restarts=(replace(restart, steps=steps),))
    (side,) = judge_capacity(make_plan(["A"]), blocks).candidates
    assert (side.broken, side.overloaded, side.overloaded_after_s) == (7, 1, 2)
    assert side.rate_per_s is not None and math.isclose(side.rate_per_s, 1000, rel_tol=0.01)


@pytest.mark.parametrize(("slope", "is_doubted"), [(0.3, True), (2.0, False)])
def test_a_load_that_hardly_rises_with_the_rate_is_a_doubt(slope: float, is_doubted: bool) -> None:
    blocks = make_blocks({"A": (1000,) * 6})
    rng = np.random.default_rng(31)
    rates = np.geomspace(700, 1400, 6)
    for at, block in enumerate(blocks):
        loads = (rates / 1000) ** slope * np.exp(rng.normal(0, 0.02, 6))
        steps = tuple(make_rate_step(float(r), float(x)) for r, x in zip(rates, loads, strict=True))
        (restart,) = block.restarts
        blocks[at] = replace(block, restarts=(replace(restart, steps=steps),))
    doubts = judge_capacity(make_plan(["A"]), blocks).doubts
    assert (
        any("raises p99 by 2" in it.sentence and "too narrow" in it.sentence for it in doubts)
        == is_doubted
    )
