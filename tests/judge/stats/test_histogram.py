"""Histograms in the driver's encoding are read as what was recorded."""

from __future__ import annotations

import base64
import math

import numpy as np
import pytest
from hdr import encoded, percentile

from dyno.judge.stats.histogram import decode_histogram


def near(found: int, expected: int) -> bool:
    """Within a bucket of three digits."""
    return expected <= found <= expected * 1.001


def test_a_histogram_is_that_of_all_its_values() -> None:
    rng = np.random.default_rng(3)
    values = (rng.lognormal(12, 1.5, 5000)).astype(int).tolist()
    whole = decode_histogram(encoded(values))
    for percent in (1, 50, 95, 99, 99.9, 100):
        exact = sorted(values)[math.ceil(round(percent * 10) * len(values) / 1000) - 1]
        assert near(percentile(whole, percent), exact)


def test_small_values_are_exact_and_nothing_has_no_percentile() -> None:
    assert percentile(decode_histogram(encoded(range(1, 1001))), 50) == 500
    assert percentile(decode_histogram(encoded(range(1, 1001))), 99.9) == 999
    assert percentile(decode_histogram(encoded([7])), 0) == 7
    assert percentile(decode_histogram(encoded([])), 99) == 0


@pytest.mark.parametrize("text", ["", "=", "AAAA", base64.b64encode(bytes(48)).decode()])
def test_what_is_no_histogram_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an HDR histogram"):
        decode_histogram(text)
