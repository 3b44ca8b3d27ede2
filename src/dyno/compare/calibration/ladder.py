"""Is what is planted in an engine spent? A ladder of doses, ×1, ×3 and ×10, against what it cost.

A plant spins before an engine's answers, and the library counts what it spun. That it was spun does
not mean that an operation took so much longer: where the answer's time is mostly a wake-up between
two cores, a spin may hide in it. So the time of an operation is held against the dose: only where
each ns planted costs one ns (a slope of 1 ± 0.1) does the dose say how much slower the engine was
made. Where it does not, comparisons of a plant would count a truth that nobody knows.

A block holds a trial of every rung, played as those of a comparison are: by turns wherever the
engine's trials take turns, since a plant is judged by what its comparisons see. What a block's hour
adds to all of its trials is taken off. The time is the mean of all operations, as a rate's is: a
small dose is saved up and spun before some answers (control `plant`), which the median may not see,
or see twice. One trial after the other the mean would hold what neighbours took of one and not of
another.

A spin touches no memory, and meanwhile a neighbour on the same caches takes them: what is planted
costs more where an operation reads more memory (docs/evidence/injected-delays.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dyno.compare.calibration.pilot import Pilot, Shape, operation_ns, reading_value, with_plant
from dyno.compare.experiment import Experiment
from dyno.judge.analysis.blocks import sort_blocks
from dyno.judge.analysis.measures import operations_of
from dyno.judge.stats.interval import Floats
from dyno.record import PhaseRecord, Run, Trial

#: The rungs, in doses of `DOSE_PERCENT` of an operation; the first is none.
RUNGS = (0, 1, 3, 10)
DOSE_PERCENT = 5.0
BLOCKS = 5
#: So far from 1 the slope may be, and so well it must be known.
SLOPE_WITHIN = 0.1
KNOWN_WITHIN = 0.05

#: Plays an experiment: the run, and its trials.
BlockPlayer = Callable[[Experiment], tuple[Run, list[Trial]]]


@dataclass(frozen=True)
class Ladder:
    """`slope`: ns that an operation took longer for each ns planted in it; `error`, its own."""

    slope: float
    error: float

    @property
    def known(self) -> bool:
        """Is the slope known well enough to say so? On a noisy host it is not."""
        return self.error <= KNOWN_WITHIN

    @property
    def transmitted(self) -> bool:
        """Is what is planted what it costs, as far as two errors of the slope can tell?"""
        return self.known and abs(self.slope - 1.0) <= SLOPE_WITHIN + 2.0 * self.error

    @property
    def sentence(self) -> str:
        """The slope in words, and what follows where it is not 1."""
        told = f"1 ns planted costs {self.slope:.2f} ± {self.error:.2f} ns (ladder ×1, ×3, ×10)"
        if self.transmitted:
            return told
        if not self.known:
            return f"{told}: this host is too noisy to tell, so no plant is compared now"
        lost = "; a smaller table loses less of its caches meanwhile (e.g. --set table_size=100)"
        return f"{told}: not transmitted, so no plant is compared{lost if self.slope > 1 else ''}"


def climb(text: str, shape: Shape, pilot: Pilot, play: BlockPlayer) -> Ladder:
    """Plays the ladder on the engine that `text` names; `TrialFailed` where an engine does not
    work. Blocks that the host's noise spoilt do not count.
    """
    spin_ns = pilot.per_op_ns * DOSE_PERCENT / 100 / pilot.answers_per_op
    specs = [f"x{rung}={with_plant(text, round(spin_ns * rung))}" for rung in RUNGS]
    small = replace(shape, blocks=BLOCKS)
    run, trials = play(small.experiment(specs, "rate_per_s"))
    valid = sort_blocks(run, run.workloads[0], trials).valid
    return fit(*_doses_and_times(valid))


def _doses_and_times(blocks: Sequence[Mapping[str, Trial]]) -> tuple[Floats, Floats]:
    """What an operation was given, and what it took as rates tell, both in ns (blocks, rungs).

    Rates are what a comparison judges, but a window's beginning is in them, with all rungs alike:
    it is taken off by what the first rung's rate and its operations' own time differ.
    """
    doses, times = np.empty((2, len(blocks), len(RUNGS)))
    for row, block in enumerate(blocks):
        unplanted = block[f"x{RUNGS[0]}"].phases[-1]
        own_share = operation_ns(unplanted) / _by_rate_ns(unplanted)
        for column, rung in enumerate(RUNGS):
            record = block[f"x{rung}"].phases[-1]
            spun_ns = reading_value(record, "planted_ns")
            doses[row, column] = spun_ns / max(1, operations_of(record))
            times[row, column] = _by_rate_ns(record) * own_share
    return doses, times


def _by_rate_ns(record: PhaseRecord) -> float:
    """Time that counted ÷ operations, for a connection: what a rate says."""
    tally = record.streams[0]
    return record.duration_s * 1e9 * tally.connections / max(1, tally.done * tally.units_per_event)


def fit(doses: Floats, times: Floats) -> Ladder:
    """Least squares of times on doses, both (blocks, rungs) in ns; each block has its own level."""
    x, y = (each - each.mean(axis=1, keepdims=True) for each in (doses, times))
    square = float((x**2).sum())
    if square == 0.0:
        return Ladder(0.0, float("inf"))
    slope = float((x * y).sum()) / square
    freedom = x.size - x.shape[0] - 1
    error = np.sqrt(float(((y - slope * x) ** 2).sum()) / freedom / square)
    return Ladder(slope, float(error))
