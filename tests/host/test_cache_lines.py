"""How long a cache line takes: pairs combined, and what the driver measures here."""

from __future__ import annotations

import os

import pytest

from dyno.errors import TrialFailed
from dyno.host.cache_lines import (
    CorePair,
    combine_pairs,
    combine_wakeups,
    measure_core_pairs,
)


def test_a_wake_up_is_the_mean_without_what_was_taken_away() -> None:
    one = CorePair((0, 1), (), (*[10_000] * 45, *[20_000] * 45, *[900_000] * 10))
    two = CorePair((0, 2), (), tuple([40_000] * 100))
    found = combine_wakeups((one, two))
    assert found and found.ns == 27_500.0
    assert 13_000 < found.low_ns < 15_000 and found.high_ns == 40_000.0
    assert combine_wakeups(()) is None and combine_wakeups((make_pair(1.0),)) is None


def make_pair(*bursts: float, second: int = 1) -> CorePair:
    return CorePair((0, second), bursts)


def test_one_core_has_no_transfer() -> None:
    assert combine_pairs(()) is None


def test_a_pair_is_judged_by_its_median_burst_whatever_was_taken_away() -> None:
    found = combine_pairs((make_pair(*[90.0] * 60, *[91.0] * 30, *[50_000.0] * 11),))
    assert found
    assert (found.ns, found.low_ns, found.high_ns, found.pairs) == (90.0, 90.0, 91.0, 1)


def test_near_and_far_cores_bound_the_transfer_and_pairs_without_bursts_do_not_count() -> None:
    near, far = make_pair(*[60.0] * 40), make_pair(*[140.0] * 40, second=9)
    found = combine_pairs((near, far, make_pair(1.0, 1.0, second=3)))
    assert found
    assert (found.ns, found.low_ns, found.high_ns, found.pairs) == (100.0, 60.0, 140.0, 2)


def test_cores_that_were_not_to_be_had_are_said() -> None:
    with pytest.raises(TrialFailed, match="was not measured"):
        combine_pairs((make_pair(90.0),))


def test_the_driver_measures_the_cores_that_we_may_run_on() -> None:
    cores = len(os.sched_getaffinity(0))
    pairs = measure_core_pairs()
    woken = combine_wakeups(pairs)
    assert (woken is None) == (cores == 1)
    try:
        found = combine_pairs(pairs)
    except TrialFailed as busy:
        assert "was not measured" in str(busy) and cores > 1
        return
    assert (found is None) == (cores == 1)
    assert found is None or found.pairs <= min(8, cores * (cores - 1) // 2)
