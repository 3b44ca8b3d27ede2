"""Is an injected delay spent? Sizes ×1, ×3 and ×10 against what they cost (dose-response check).

An injected delay spins before an engine's answers, and the library counts what it spun. That it was
spun does not mean that an operation took so much longer: where the answer's time is mostly a
wake-up between two cores, a spin may hide in it. So the time of an operation is held against the
size: only where each ns injected costs one ns (a slope of 1 ± 0.1) does the size say how much
slower the engine was made. Where it does not, comparisons of an injected delay would count a truth
that nobody knows.

A block holds a trial of every multiple, played as those of a comparison are: interleaved wherever
the engine's trials are interleaved, since an injected delay is judged by what its comparisons see.
What a block's hour adds to all of its trials is taken off. The time is the mean of all operations,
as a rate's is: a small size is saved up and spun before some answers (control `inject`), which the
median may not see, or see twice. One trial after the other the mean would hold what neighbours took
of one and not of another.

A spin touches no memory, and meanwhile a neighbour on the same caches takes them: what is injected
costs more where an operation reads more memory (docs/evidence/injected-delays.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dyno.compare.calibration.pilot import (
    CalibrationPilot,
    Shape,
    compute_cpu_ns,
    compute_operation_ns,
    sum_reading,
    with_injected_delay,
)
from dyno.judge.analysis.blocks import sort_blocks
from dyno.judge.analysis.measures import count_operations
from dyno.judge.stats.log_ratio import Floats
from dyno.record import PhaseRecord, Run, Trial
from dyno.runs.experiment import Experiment

#: The sizes, in multiples of `SIZE_PERCENT` of an operation; the first is none.
MULTIPLES = (0, 1, 3, 10)
SIZE_PERCENT = 5.0
BLOCKS = 5
#: So far from 1 the slope may be, and so well it must be known.
SLOPE_WITHIN = 0.1
KNOWN_WITHIN = 0.05

#: Plays an experiment: the run, and its trials.
BlockPlayer = Callable[[Experiment], tuple[Run, list[Trial]]]


@dataclass(frozen=True)
class DoseResponse:
    """`slope`: ns that an operation took longer for each ns injected in it; `error`, its own."""

    slope: float
    error: float

    @property
    def known(self) -> bool:
        """Is the slope known well enough to say so? On a noisy host it is not."""
        return self.error <= KNOWN_WITHIN

    @property
    def transmitted(self) -> bool:
        """Is what is injected what it costs, as far as two errors of the slope can tell?"""
        return self.known and abs(self.slope - 1.0) <= SLOPE_WITHIN + 2.0 * self.error

    @property
    def sentence(self) -> str:
        """The slope in words, and what follows where it is not 1."""
        told = f"1 ns injected costs {self.slope:.2f} ± {self.error:.2f} ns (sizes ×1, ×3, ×10)"
        if self.transmitted:
            return told
        if not self.known:
            return f"{told}: this host is too noisy to tell, so no delay is compared now"
        lost = "; a smaller table loses less of its caches meanwhile (e.g. --set table_size=100)"
        return f"{told}: not transmitted, so no delay is compared{lost if self.slope > 1 else ''}"


def run_dose_series(
    text: str, shape: Shape, pilot: CalibrationPilot, play: BlockPlayer
) -> DoseResponse:
    """Plays the sizes on the engine that `text` names; `TrialFailed` where an engine does not
    work. Blocks that the host's noise spoilt do not count.
    """
    spin_ns = pilot.per_op_ns * SIZE_PERCENT / 100 / pilot.answers_per_op
    specs = [
        f"x{multiple}={with_injected_delay(text, round(spin_ns * multiple))}"
        for multiple in MULTIPLES
    ]
    small = replace(shape, blocks=BLOCKS)
    run, trials = play(small.build_experiment(specs, "rate_per_s"))
    valid = sort_blocks(run, run.workloads[0], trials).valid
    if shape.by == "cpu":
        return fit_dose_response(*_collect_sizes_and_costs(valid, spin_ns))
    return fit_dose_response(*_collect_sizes_and_times(valid))


def _collect_sizes_and_costs(
    blocks: Sequence[Mapping[str, Trial]], spin_ns: float
) -> tuple[Floats, Floats]:
    """What an operation was given, and the CPU time that it took, both in ns (blocks, sizes).

    What the library counts has the time in it that others had the core, so the size that was asked
    for counts.
    """
    sizes, costs = np.empty((2, len(blocks), len(MULTIPLES)))
    for row, block in enumerate(blocks):
        for column, multiple in enumerate(MULTIPLES):
            record = block[f"x{multiple}"].phases[-1]
            answers = sum_reading(record, "injected_answers") / max(1, count_operations(record))
            sizes[row, column] = round(spin_ns * multiple) * answers
            costs[row, column] = compute_cpu_ns(record)
    return sizes, costs


def _collect_sizes_and_times(blocks: Sequence[Mapping[str, Trial]]) -> tuple[Floats, Floats]:
    """What an operation was given, and what it took as rates tell, both in ns (blocks, sizes).

    Rates are what a comparison judges, but a slice's beginning is in them, with all sizes alike:
    it is taken off by what the first multiple's rate and its operations' own time differ.
    """
    sizes, times = np.empty((2, len(blocks), len(MULTIPLES)))
    for row, block in enumerate(blocks):
        undelayed = block[f"x{MULTIPLES[0]}"].phases[-1]
        own_share = compute_operation_ns(undelayed) / _compute_rate_time_ns(undelayed)
        for column, multiple in enumerate(MULTIPLES):
            record = block[f"x{multiple}"].phases[-1]
            spun_ns = sum_reading(record, "injected_ns")
            sizes[row, column] = spun_ns / max(1, count_operations(record))
            times[row, column] = _compute_rate_time_ns(record) * own_share
    return sizes, times


def _compute_rate_time_ns(record: PhaseRecord) -> float:
    """Time that counted ÷ operations, for a connection: what a rate says."""
    tally = record.streams[0]
    return record.duration_s * 1e9 * tally.connections / max(1, tally.done * tally.units_per_event)


def fit_dose_response(sizes: Floats, times: Floats) -> DoseResponse:
    """Least squares of times on sizes, both (blocks, sizes) in ns; each block has its own level."""
    x, y = (each - each.mean(axis=1, keepdims=True) for each in (sizes, times))
    square = float((x**2).sum())
    if square == 0.0:
        return DoseResponse(0.0, float("inf"))
    slope = float((x * y).sum()) / square
    freedom = x.size - x.shape[0] - 1
    error = np.sqrt(float(((y - slope * x) ** 2).sum()) / freedom / square)
    return DoseResponse(slope, float(error))
