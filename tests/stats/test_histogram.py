"""Histograms are added before a percentile is read; a mean of percentiles would mislead."""

from __future__ import annotations

import base64
import dataclasses
import math

import numpy as np
import pytest
from hdr import encoded

from dyno.judge.stats.histogram import decode_histogram, merge_histograms

FAST, SLOW = [1_000_000] * 990, [100_000_000] * 10


def near(found: int, expected: int) -> bool:
    """Within a bucket of three digits."""
    return expected <= found <= expected * 1.001


def test_averaged_percentiles_would_mislead_and_merged_ones_do_not() -> None:
    sides = [decode_histogram(encoded(FAST)), decode_histogram(encoded(SLOW))]
    averaged = sum(side.percentile(99) for side in sides) / 2
    together = merge_histograms(sides)
    assert averaged > 50_000_000
    assert near(together.percentile(99), 1_000_000)
    assert near(together.percentile(99.1), 100_000_000)
    assert together.count == 1000


def test_a_merged_histogram_is_that_of_all_values_together() -> None:
    dice = np.random.default_rng(3)
    values = (dice.lognormal(12, 1.5, 5000)).astype(int).tolist()
    parts = [decode_histogram(encoded(values[at::4])) for at in range(4)]
    whole = decode_histogram(encoded(values))
    for percent in (1, 50, 95, 99, 99.9, 100):
        assert merge_histograms(parts).percentile(percent) == whole.percentile(percent)
        exact = sorted(values)[math.ceil(round(percent * 10) * len(values) / 1000) - 1]
        assert near(whole.percentile(percent), exact)


def test_small_values_are_exact_and_nothing_has_no_percentile() -> None:
    assert decode_histogram(encoded(range(1, 1001))).percentile(50) == 500
    assert decode_histogram(encoded(range(1, 1001))).percentile(99.9) == 999
    assert decode_histogram(encoded([7])).percentile(0) == 7
    assert decode_histogram(encoded([])).percentile(99) == 0


@pytest.mark.parametrize("text", ["", "=", "AAAA", base64.b64encode(bytes(48)).decode()])
def test_what_is_no_histogram_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an HDR histogram"):
        decode_histogram(text)


def test_other_buckets_cannot_be_added() -> None:
    one = decode_histogram(encoded([1]))
    with pytest.raises(ValueError, match="cannot be added"):
        merge_histograms([one, dataclasses.replace(one, digits=2)])
