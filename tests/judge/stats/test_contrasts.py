"""Effects of crossed factors: the weights by hand, by regression, and against simulated truth."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

from dyno.judge.stats.contrasts import Contrast, build_factorial, build_one_at_a_time
from dyno.judge.stats.interim_analyses import InterimAnalyses
from dyno.judge.stats.interval import compute_t_interval
from dyno.judge.stats.log_ratio import Floats
from dyno.judge.stats.simulate import Rule, simulate_runs


def named(contrasts: list[Contrast]) -> dict[tuple[tuple[int, ...], tuple[int, ...]], Contrast]:
    return {(each.factors, each.levels): each for each in contrasts}


def balanced(sizes: tuple[int, ...], blocks: int, seed: int = 1) -> Floats:
    """Logs of (blocks, cells): cells and blocks of their own, and noise."""
    rng = np.random.default_rng(seed)
    cells = int(np.prod(sizes))
    noise = rng.normal(0, 0.02, (blocks, cells))
    return noise + rng.normal(0, 0.1, cells) + rng.normal(0, 0.05, (blocks, 1))


def test_the_effects_of_two_factors_are_those_of_the_books() -> None:
    found = named(build_factorial([2, 2]))
    a, b, both = found[(0,), (1,)], found[(1,), (1,)], found[(0, 1), (1, 1)]
    assert a.weights.tolist() == [-0.5, -0.5, 0.5, 0.5]
    assert b.weights.tolist() == [-0.5, 0.5, -0.5, 0.5]
    assert both.weights.tolist() == [1.0, -1.0, -1.0, 1.0]
    assert (a.corner.tolist(), both.corner.tolist()) == ([0, 0, 0.5, 0.5], [0, 0, 0, 1])


@pytest.mark.parametrize("sizes", [(2,), (2, 2), (3, 2), (2, 2, 2), (2, 3, 4)])
def test_there_is_an_effect_for_each_cell_but_the_base_and_none_sees_a_block(
    sizes: tuple[int, ...],
) -> None:
    weights = np.array([each.weights for each in build_factorial(sizes)])
    assert len(weights) == np.prod(sizes) - 1 == np.linalg.matrix_rank(weights)
    assert np.allclose(weights.sum(axis=1), 0)
    orders = [len(each.factors) for each in build_factorial(sizes)]
    assert orders == sorted(orders)


def test_injected_effects_come_back_exactly_where_there_is_no_noise() -> None:
    a, b, ab = (0.0, 0.05, -0.02), (0.0, 0.1), 0.03
    cells = [a[i] + b[j] + ab * (i == 2 and j == 1) for i, j in itertools.product(range(3), (0, 1))]
    found = {
        key: float(each.weights @ cells) for key, each in named(build_factorial([3, 2])).items()
    }
    assert found[(0,), (1,)] == pytest.approx(0.05)
    assert found[(0,), (2,)] == pytest.approx(-0.02 + ab / 2)
    assert found[(0, 1), (1, 1)] == pytest.approx(0.0)
    assert found[(0, 1), (2, 1)] == pytest.approx(ab)


def test_one_at_a_time_holds_each_cell_against_the_base() -> None:
    found = build_one_at_a_time([2, 3])
    assert [(each.factors, each.levels) for each in found] == [
        ((0,), (1,)),
        ((1,), (1,)),
        ((1,), (2,)),
    ]
    assert found[1].weights.tolist() == [-1, 0, 1, 0]
    assert all(each.weights.sum() == 0 and each.corner.sum() == 1 for each in found)


def regression(formula: str, columns: dict[str, Any], term: str) -> tuple[float, float, float]:
    """The coefficient of `term` and its 95 % interval by least squares."""
    pandas = pytest.importorskip("pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from statsmodels.formula.api import ols

        fitted = ols(formula, pandas.DataFrame(columns)).fit()
    low, high = fitted.conf_int().loc[term]
    return float(fitted.params[term]), float(low), float(high)


def test_a_main_effect_is_the_regression_s_with_blocks_in_it() -> None:
    """Of what each block has at either level, averaged over the other factor's cells."""
    logs = balanced((2, 3), 8)
    sides = logs.reshape(8, 2, 3).mean(axis=2)
    columns = {"y": sides.ravel(), "block": np.repeat(range(8), 2), "a": [0, 1] * 8}
    expected = regression("y ~ C(block) + a", columns, "a")
    found = compute_t_interval(logs @ named(build_factorial([2, 3]))[(0,), (1,)].weights, 0.05)
    ours = float(found.estimate), float(found.low), float(found.high)
    assert ours == pytest.approx(expected)


def test_an_interaction_is_the_regression_s_with_blocks_in_all_but_it() -> None:
    logs = balanced((2, 2), 7)
    columns = {
        "y": logs.ravel(),
        "block": np.repeat(range(7), 4),
        "a": [0, 0, 1, 1] * 7,
        "b": [0, 1, 0, 1] * 7,
    }
    expected = regression("y ~ C(block) * a + C(block) * b + a:b", columns, "a:b")
    found = compute_t_interval(logs @ named(build_factorial([2, 2]))[(0, 1), (1, 1)].weights, 0.05)
    ours = float(found.estimate), float(found.low), float(found.high)
    assert ours == pytest.approx(expected)


def test_the_estimates_of_three_factors_are_those_of_the_whole_regression() -> None:
    logs = balanced((2, 2, 2), 5)
    signs = np.array(list(itertools.product((-0.5, 0.5), repeat=3)) * 5)
    columns = {"y": logs.ravel(), "block": np.repeat(range(5), 8)}
    columns |= {name: signs[:, at] for at, name in enumerate("abc")}
    for factors, term in {(0,): "a", (1, 2): "b:c", (0, 1, 2): "a:b:c"}.items():
        expected, _, _ = regression("y ~ C(block) + a * b * c", columns, term)
        found = named(build_factorial([2, 2, 2]))[factors, (1,) * len(factors)]
        assert float((logs @ found.weights).mean()) == pytest.approx(expected)


def test_intervals_hold_the_truth_as_often_as_they_say_though_the_cells_spread_differently() -> (
    None
):
    rng = np.random.default_rng(20)
    runs, blocks = 4000, 6
    truth, sds = np.linspace(0, 0.1, 8), np.linspace(0.005, 0.06, 8)
    logs = rng.normal(truth, sds, (runs, blocks, 8)) + rng.normal(0, 0.05, (runs, blocks, 1))
    for each in build_factorial([2, 2, 2]):
        found = compute_t_interval(logs @ each.weights, 0.05)
        true = each.weights @ truth
        assert 0.94 <= ((found.low <= true) & (true <= found.high)).mean() <= 0.96


def test_of_three_main_effects_of_nothing_few_runs_call_one_slower() -> None:
    rng = np.random.default_rng(21)
    logs = rng.normal(0, 0.03, (3000, 24, 8))
    main = [each.weights for each in build_factorial([2, 2, 2]) if len(each.factors) == 1]
    rule = Rule(InterimAnalyses((6, 10, 14, 18, 24), 0.05), 0.02)
    outcome = simulate_runs(np.stack([logs @ weights for weights in main], axis=1), rule)
    assert (outcome.words == "slower").any(axis=1).mean() <= 0.05
    assert outcome.compute_coverage(0.0) >= 0.95
