"""METHOD.md, calibration: what is injected counts where it is spent, found by a series of sizes."""

from __future__ import annotations

import numpy as np
import pytest

from dyno.compare.calibration.dose_response import (
    BLOCKS,
    MULTIPLES,
    SIZE_PERCENT,
    DoseResponse,
    fit_dose_response,
)


def responses(slope: float, sd: float, runs: int = 2000) -> list[DoseResponse]:
    """Trials of an operation of 1, which vary by `sd`, in blocks whose hour adds its own."""
    rng = np.random.default_rng(4)
    sizes = np.tile(np.array(MULTIPLES) * SIZE_PERCENT / 100, (BLOCKS, 1))
    hours = rng.normal(1.0, 0.1, (runs, BLOCKS, 1))
    times = hours + slope * sizes + rng.normal(0.0, sd, (runs, *sizes.shape))
    return [fit_dose_response(sizes, each) for each in times]


@pytest.mark.parametrize("slope,sd,share", [(1.0, 0.01, 1.0), (1.0, 0.02, 1.0), (0.6, 0.03, 0.0)])
def test_a_delay_that_is_spent_is_transmitted_and_one_that_hides_is_not(
    slope: float, sd: float, share: float
) -> None:
    found = responses(slope, sd)
    assert np.mean([each.transmitted for each in found]) == pytest.approx(share, abs=0.02)
    slopes = [each.slope for each in found]
    assert np.mean(slopes) == pytest.approx(slope, abs=0.01)
    assert np.mean([each.error for each in found]) == pytest.approx(np.std(slopes), rel=0.1)


def test_a_dose_response_check_without_a_delay_transmits_nothing() -> None:
    flat = fit_dose_response(np.zeros((BLOCKS, len(MULTIPLES))), np.ones((BLOCKS, len(MULTIPLES))))
    assert not flat.transmitted
    assert "too noisy to tell" in flat.sentence
    assert DoseResponse(0.6, 0.04).sentence.endswith("not transmitted, so no delay is compared")
    assert "a smaller table" in DoseResponse(1.4, 0.04).sentence


def test_a_slope_that_a_noisy_host_leaves_open_is_not_believed() -> None:
    assert DoseResponse(1.0, 0.05).transmitted
    assert not DoseResponse(1.0, 0.06).transmitted


def test_a_slope_counts_as_another_only_where_its_error_says_so() -> None:
    assert DoseResponse(1.12, 0.03).transmitted
    assert not DoseResponse(1.12, 0.005).transmitted
