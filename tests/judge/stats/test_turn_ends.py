"""What events gain at turn ends, held against simulated users who play interleaved."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from dyno.judge.stats.log_ratio import Floats
from dyno.judge.stats.turn_ends import Turn

#: The default: slices of 100 ms, drained for 5, of two candidates; ramp-ins of 10.
SLOT, EDGE = Turn(100.0, 5.0, 105.0), 10.0
SLICES = 20_000


def lengths(kind: str, mean: float, seed: int = 1) -> Iterator[float]:
    """Of a user's events."""
    rng = np.random.default_rng(seed)
    while True:
        if kind == "even":
            yield float(mean * rng.uniform(0.8, 1.2))
        elif kind == "skewed":
            yield float(mean * np.exp(rng.normal(-0.18, 0.6)))
        else:
            yield mean


def waiting_user(kind: str, mean: float) -> Floats:
    """The lengths of the events begun in so many slices, whose waits pass in others' time too."""
    own, at, found = 0, 0.0, []
    for length in lengths(kind, mean):
        found.append(length)
        end = at + length
        while end > SLOT.slice_ns + SLOT.drain_ns:  # the turn is over
            own, left = own + 1, end - SLOT.slice_ns - SLOT.drain_ns
            end = left - SLOT.others_ns if left > SLOT.others_ns else SLOT.drain_ns
        if end >= SLOT.slice_ns:
            own, end = own + 1, end - SLOT.slice_ns
        at = end
        if own >= SLICES:
            break
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["even", "skewed"])
@pytest.mark.parametrize("mean", [2.0, 10.0, 20.0, 40.0])
def test_slices_hold_more_of_events_that_wait_by_what_they_gain(kind: str, mean: float) -> None:
    took = waiting_user(kind, mean)
    more = took.sum() / (SLICES * SLOT.slice_ns) - 1.0
    share = SLOT.compute_gained_share(took, np.ones_like(took))
    assert share == pytest.approx(more / (1 + more), abs=0.04)


def test_an_event_that_the_drain_holds_gains_nothing_and_a_long_one_others_time_at_most() -> None:
    def share(length: float) -> float:
        return SLOT.compute_gained_share(np.array([length]), np.array([1.0]))

    assert share(5.0) == 0.0
    assert share(20.0) == pytest.approx(15.0**2 / 2 / 100.0 / 20.0)
    # one end of a turn: the others' time of 105
    assert share(1000.0) == pytest.approx(0.105)
    assert share(100.0) == pytest.approx(95.0**2 / 2 / 100.0 / 100.0)
