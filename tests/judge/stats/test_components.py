"""Variance components: against statsmodels' REML, by simulation, and where they cannot be told."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from dyno.judge.stats.components import (
    BLOCKS,
    LOADS,
    RESTARTS,
    SECONDS,
    Components,
    Layout,
    compute_cov_interval,
    compute_cov_percent,
    compute_range_percent,
    estimate_components,
)
from dyno.judge.stats.log_ratio import Floats

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Truth:
    """Standard deviations of the sources, and the shape of the run."""

    block: float = 0.03
    load: float = 0.0
    restart: float = 0.02
    second: float = 0.04
    blocks: int = 24
    loads: int = 0
    seconds: int = 5


def made(truth: Truth, seed: int, lost: frozenset[int] = frozenset()) -> Layout:
    """A run of two candidates with these sources; the trials in `lost` are left out."""
    rng = np.random.default_rng(seed)
    blocks = rng.normal(0.0, truth.block, truth.blocks)
    load = rng.normal(0.0, truth.load, (2, truth.loads or 1))
    kept = [i for i in range(2 * truth.blocks) if i not in lost]
    rows: list[tuple[str, int, str, Floats]] = []
    for side, block in ((i % 2, i // 2) for i in kept):
        turn = block % (truth.loads or 1)
        middle = 0.1 * side + blocks[block] + load[side, turn] + rng.normal(0.0, truth.restart)
        seconds = middle + rng.normal(0.0, truth.second, truth.seconds)
        rows.append((f"c{side}", block, f"c{side}/{turn}", seconds))
    names, places, loads, seconds = zip(*rows, strict=True)
    values = np.array([each.mean() for each in seconds])
    return Layout(values, names, places, loads if truth.loads else None, seconds)


def variances(found: Components | None) -> dict[str, float]:
    assert found is not None
    return {each.source: each.variance for each in found.parts}


def reml(layout: Layout) -> dict[str, float]:
    """The same components by statsmodels' MixedLM, second by second."""
    from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

    counts = [each.size for each in layout.seconds]
    y = np.concatenate(layout.seconds)
    side = np.repeat([name == "c1" for name in layout.candidates], counts).astype(float)
    trials = np.repeat(np.eye(len(counts)), counts, axis=0)
    places = np.repeat(np.unique(layout.blocks, return_inverse=True)[1], counts)
    effects = [np.eye(places.max() + 1)[places], trials]
    names = [[str(i) for i in range(each.shape[1])] for each in effects]
    spec = VCSpec([BLOCKS, RESTARTS], [[n] for n in names], [[e] for e in effects])
    design = np.column_stack([np.ones_like(y), side])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = MixedLM(y, design, groups=np.ones_like(y), exog_vc=spec).fit(reml=True)
    return dict(zip([BLOCKS, RESTARTS], fit.vcomp, strict=True)) | {SECONDS: fit.scale}


def test_of_balanced_data_they_are_those_of_reml() -> None:
    layout = made(Truth(blocks=12), 3)
    found, theirs = variances(estimate_components(layout)), reml(layout)
    assert found == pytest.approx(theirs, rel=0.01)


def test_of_data_with_gaps_they_are_close_to_reml() -> None:
    layout = made(Truth(blocks=14), 4, frozenset({3, 8, 9, 20}))
    found, theirs = variances(estimate_components(layout)), reml(layout)
    assert found == pytest.approx(theirs, rel=0.2)


@pytest.mark.parametrize(
    "truth", [Truth(), Truth(load=0.03, loads=8), Truth(load=0.03, loads=6, blocks=12)]
)
def test_estimates_of_components_are_the_truth_on_average(truth: Truth) -> None:
    found = [variances(estimate_components(made(truth, seed))) for seed in range(100)]
    expected = {BLOCKS: truth.block, RESTARTS: truth.restart, SECONDS: truth.second}
    if truth.loads:
        expected[LOADS] = truth.load
    for source, sd in expected.items():
        average = np.mean([each[source] for each in found])
        assert average == pytest.approx(sd**2, rel=0.2), source


def test_intervals_of_components_hold_the_truth() -> None:
    truth, lost = Truth(load=0.02, loads=8), frozenset({5, 30})
    wanted = {BLOCKS: 0.03, LOADS: 0.02, RESTARTS: 0.02, SECONDS: 0.04}
    inside = dict.fromkeys(wanted, 0)
    for seed in range(150):
        found = estimate_components(made(truth, seed, lost))
        assert found is not None
        for each in found.parts:
            inside[each.source] += each.low <= wanted[each.source] ** 2 <= each.high
    assert all(hits >= 135 for hits in inside.values()), inside


def test_what_blocks_add_cancels_and_the_rest_makes_the_blocks_sd() -> None:
    truth = Truth(blocks=200)
    layout = made(truth, 1)
    found = estimate_components(layout)
    assert found is not None
    ratios = np.diff(layout.values.reshape(-1, 2), axis=1)
    assert found.estimate_block_sd() == pytest.approx(ratios.std(ddof=1), rel=1e-3)
    fewer = np.sqrt(2 * (truth.restart**2 + truth.second**2))
    assert found.estimate_block_sd(seconds=1) == pytest.approx(fewer, rel=0.1)


def test_shares_add_up_and_lie_in_their_bounds() -> None:
    found = estimate_components(made(Truth(load=0.02, loads=8), 2))
    assert found is not None
    assert sum(each.share for each in found.parts) == pytest.approx(1.0)
    assert all(0 <= each.share_low <= each.share_high <= 1 for each in found.parts)
    assert [each.df for each in found.parts] == [23, 7, 16, 192]


def test_a_source_that_adds_nothing_is_nothing() -> None:
    found = estimate_components(made(Truth(block=0.0), 6))
    assert found is not None
    part = found.find_part(BLOCKS)
    assert part is not None and part.low == 0.0 and part.share < 0.2


def test_too_few_blocks_tell_nothing() -> None:
    assert estimate_components(made(Truth(blocks=2), 1)) is None


def test_a_metric_without_seconds_has_none() -> None:
    layout = made(Truth(), 1)
    bare = Layout(layout.values, layout.candidates, layout.blocks)
    found = estimate_components(bare)
    assert found is not None
    assert found.find_part(SECONDS) is None and found.find_part(LOADS) is None


def test_the_range_is_the_same_for_a_rate_and_for_its_time() -> None:
    rates = np.array([100.0, 110.0, 105.0])
    assert (
        compute_range_percent(rates)
        == pytest.approx(10.0)
        == pytest.approx(compute_range_percent(1 / rates))
    )
    assert compute_cov_percent(rates) == pytest.approx(100 * 5 / 105)


def test_the_interval_of_a_coefficient_of_variation_holds_it() -> None:
    rng = np.random.default_rng(22)
    found = [compute_cov_interval(values) for values in rng.normal(100, 3, (2000, 6))]
    assert 0.94 <= np.mean([low <= 3 <= high for low, high in found]) <= 0.96
    low, high = compute_cov_interval(np.array([99.0, 101.0, 99.0, 101.0, 99.0, 101.0]))
    cov = compute_cov_percent(np.array([99.0, 101.0] * 3))
    assert (low / cov, high / cov) == pytest.approx((0.624, 2.453), abs=0.001)
