"""Is what is planted in an engine spent? A ladder of doses, ×1, ×3 and ×10, against what it cost.

A plant spins before an engine's answers, and the library counts what it spun. That it was spun does
not mean that an operation took so much longer: where the answer's time is mostly a wake-up between
two cores, a spin may hide in it. So the time of an operation is held against the dose: only where
each ns planted costs one ns (a slope of 1 ± 0.1) does the dose say how much slower the engine was
made. Where it does not, comparisons of a plant would count a truth that nobody knows.

The time is that of the median answer: the mean holds what neighbours on the host took as well. On
a crowded host the slope of SQLite's mean was 5.2 ± 2.6, that of its median 1.02.

Each round has a trial of every rung, in an order of its own; what a round's hour adds to all of
its trials is taken off.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dyno.analysis.measures import operations_of
from dyno.builds import Say
from dyno.calibration.pilot import Pilot, Shape, planted_trial, reading_value
from dyno.record import Trial
from dyno.stats.interval import Floats

#: The rungs, in doses of `DOSE_PERCENT` of an operation; the first is none.
RUNGS = (0, 1, 3, 10)
DOSE_PERCENT = 5.0
ROUNDS = 3
#: So far from 1 the slope may be.
SLOPE_WITHIN = 0.1

#: Plays a trial of the engine with a plant of so many ns before each answer.
PlantedTrial = Callable[[str, Shape, int, Say], Trial]


@dataclass(frozen=True)
class Ladder:
    """`slope`: ns that an operation took longer for each ns planted in it; `error`, its own."""

    slope: float
    error: float

    @property
    def known(self) -> bool:
        """Is the slope known well enough to say so? On a noisy host it is not."""
        return self.error <= SLOPE_WITHIN

    @property
    def transmitted(self) -> bool:
        """Is what is planted what it costs?"""
        return self.known and abs(self.slope - 1.0) <= SLOPE_WITHIN

    @property
    def sentence(self) -> str:
        """The slope in words, and what follows where it is not 1."""
        told = f"1 ns planted costs {self.slope:.2f} ± {self.error:.2f} ns (ladder ×1, ×3, ×10)"
        if self.transmitted:
            return told
        if not self.known:
            return f"{told}: this host is too noisy to tell, so no plant is compared now"
        return f"{told}: not transmitted, so no plant is compared"


def climb(
    text: str, shape: Shape, pilot: Pilot, say: Say, play: PlantedTrial = planted_trial
) -> Ladder:
    """Plays the ladder on the engine that `text` names; `TrialFailed` where a trial fails."""
    dice = random.Random(1)
    spin_ns = pilot.per_op_ns * DOSE_PERCENT / 100 / pilot.answers_per_op
    doses, times = np.empty((2, ROUNDS, len(RUNGS)))
    for at in range(ROUNDS):
        for rung in dice.sample(range(len(RUNGS)), len(RUNGS)):
            record = play(text, shape, round(spin_ns * RUNGS[rung]), say).phases[-1]
            doses[at, rung] = reading_value(record, "planted_ns") / max(1, operations_of(record))
            tally = record.streams[0]
            times[at, rung] = tally.latency.percentiles_ns["50"] / tally.units_per_event
    return fit(doses, times)


def fit(doses: Floats, times: Floats) -> Ladder:
    """Least squares of times on doses, both (rounds, rungs) in ns; each round has its own level."""
    x, y = (each - each.mean(axis=1, keepdims=True) for each in (doses, times))
    square = float((x**2).sum())
    if square == 0.0:
        return Ladder(0.0, float("inf"))
    slope = float((x * y).sum()) / square
    freedom = x.size - x.shape[0] - 1
    error = np.sqrt(float(((y - slope * x) ** 2).sum()) / freedom / square)
    return Ladder(slope, float(error))
