"""METHOD.md, calibration: what is planted counts where it is spent, found by a ladder of doses."""

from __future__ import annotations

import numpy as np
import pytest

from dyno.compare.calibration.ladder import BLOCKS, DOSE_PERCENT, RUNGS, Ladder, fit


def ladders(slope: float, sd: float, runs: int = 2000) -> list[Ladder]:
    """Trials of an operation of 1, which vary by `sd`, in blocks whose hour adds its own."""
    dice = np.random.default_rng(4)
    doses = np.tile(np.array(RUNGS) * DOSE_PERCENT / 100, (BLOCKS, 1))
    hours = dice.normal(1.0, 0.1, (runs, BLOCKS, 1))
    times = hours + slope * doses + dice.normal(0.0, sd, (runs, *doses.shape))
    return [fit(doses, each) for each in times]


@pytest.mark.parametrize("slope,sd,share", [(1.0, 0.01, 1.0), (1.0, 0.02, 1.0), (0.6, 0.03, 0.0)])
def test_a_dose_that_is_spent_is_transmitted_and_one_that_hides_is_not(
    slope: float, sd: float, share: float
) -> None:
    found = ladders(slope, sd)
    assert np.mean([each.transmitted for each in found]) == pytest.approx(share, abs=0.02)
    slopes = [each.slope for each in found]
    assert np.mean(slopes) == pytest.approx(slope, abs=0.01)
    assert np.mean([each.error for each in found]) == pytest.approx(np.std(slopes), rel=0.1)


def test_a_ladder_without_a_dose_transmits_nothing() -> None:
    flat = fit(np.zeros((BLOCKS, len(RUNGS))), np.ones((BLOCKS, len(RUNGS))))
    assert not flat.transmitted
    assert "too noisy to tell" in flat.sentence
    assert Ladder(0.6, 0.04).sentence.endswith("not transmitted, so no plant is compared")
    assert "a smaller table" in Ladder(1.4, 0.04).sentence


def test_a_slope_that_a_noisy_host_leaves_open_is_not_believed() -> None:
    assert Ladder(1.0, 0.05).transmitted
    assert not Ladder(1.0, 0.06).transmitted


def test_a_slope_counts_as_another_only_where_its_error_says_so() -> None:
    assert Ladder(1.12, 0.03).transmitted
    assert not Ladder(1.12, 0.005).transmitted
