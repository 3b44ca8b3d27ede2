"""What servers counted for an operation: each candidate's difference from the base, with interval.

A block's datum is candidate − base in counts an operation. That is additive, and zeros are allowed,
unlike in the ratios of metrics. Interval and p value are those of any other comparison (Student's t
over blocks, at the level of the interim analysis); Holm adjusts over all counters of a candidate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from dyno.judge.analysis.blocks import group_dependent_blocks
from dyno.judge.analysis.measures import count_operations
from dyno.judge.analysis.run_view import RunView
from dyno.judge.stats.interval import Interval, compute_t_interval, extract_independent_data
from dyno.judge.stats.log_ratio import Floats
from dyno.judge.stats.verdict import adjust_holm
from dyno.record import CounterDifference, PhaseRecord, Trial
from dyno.record.waits import WaitKind

#: The probes whose readings are such counters.
PROBES = ("work", "contention")
#: Times among them, which are judged as waits of a kind (`waits.py`).
COUNTED_WAITS: dict[str, WaitKind] = {"lock_wait_us": "locks", "latch_wait_us": "latches"}
#: Fewer blocks have no spread, hence no interval.
BLOCKS_LEAST = 2
#: A difference in counts an operation, or in bytes, below which nobody would look for a cause.
DIFFERENCE_LEAST, BYTES_DIFFERENCE_LEAST = 0.001, 10.0
#: Nor below so many counts of a whole trial on either side: questions of ours cost some, of which a
#: slower side has more an operation. Of bytes `BYTES_LEAST`.
COUNT_LEAST, BYTES_LEAST = 50.0, 10_000.0
#: What one of each costs at a guess, in ns: it ranks causes in a sentence and enters no number.
NOMINAL_NS = {
    "fsyncs": 500_000.0,
    "temporary_disk_tables": 100_000.0,
    "lock_waits": 50_000.0,
    "temporary_tables": 10_000.0,
    "page_splits": 10_000.0,
    "index_lock_waits": 20_000.0,
    "page_lock_waits": 20_000.0,
    "pages_read": 10_000.0,
    "full_scans": 1_000.0,
    "sorted_rows": 100.0,
    "pages_spilled": 10_000.0,
    "pages_written": 5_000.0,
    "reprepares": 10_000.0,
    "sorts": 1_000.0,
    "automatic_index_rows": 200.0,
    "scanned_rows": 100.0,
    "machine_steps": 10.0,
    "rows_read": 100.0,
    "page_requests": 50.0,
    "temporary_bytes": 1.0,
    "log_bytes": 1.0,
}


def compare_counters(view: RunView, candidate: str) -> tuple[CounterDifference, ...]:
    """A candidate's counters in the phases that are judged, by their likely cost, the dearest
    difference first; none where there are fewer than two blocks.
    """
    columns = list(_find_columns(view, candidate))
    rows = [_compare_counter(view, *each) for each in judge_columns(view, columns)]
    return tuple(
        sorted(rows, key=lambda row: (not row.differs, -compute_nominal_ns(row), row.counter))
    )


def compute_nominal_ns(row: CounterDifference) -> float:
    """What the difference costs an operation at a guess."""
    return abs(row.difference) * NOMINAL_NS.get(row.counter, 1.0)


@dataclass(frozen=True)
class JudgedPhase:
    """A phase that is judged, with its valid blocks of an interim analysis."""

    workload: str
    phase: str
    base: str
    candidate: str
    blocks: Sequence[dict[str, Trial]]
    groups: Sequence[int] | None
    level: float

    def list_trials(self, side: str) -> list[Trial]:
        """One side's, block by block."""
        return [block[side] for block in self.blocks]

    def find_record(self, trial: Trial) -> PhaseRecord | None:
        """What a trial measured in the phase."""
        return next((record for record in trial.phases if record.phase == self.phase), None)

    def compute_interval(self, base_values: Floats, values: Floats) -> Interval:
        """Of candidate − base."""
        data = extract_independent_data(values - base_values, self.groups)
        return compute_t_interval(data, self.level)


class MeanDifference(NamedTuple):
    """Candidate − base with its interval, beside both sides' mean; `p_value` counts all analyses
    and all rows of the table (Holm).
    """

    base: float
    candidate: float
    difference: float
    low: float
    high: float
    p_value: float

    def is_sure(self, alpha: float) -> bool:
        """Does the interval exclude 0, and Holm agree?"""
        return self.p_value <= alpha and (self.low > 0.0 or self.high < 0.0)


@dataclass(frozen=True)
class PairedColumn:
    """A number of an operation in a phase, in each block, on both sides."""

    judged: JudgedPhase
    base_values: Floats
    values: Floats


ColumnT = TypeVar("ColumnT", bound=PairedColumn)


def judge_columns(
    view: RunView, columns: Sequence[ColumnT]
) -> Iterator[tuple[ColumnT, MeanDifference]]:
    """Each with its difference."""
    intervals = [it.judged.compute_interval(it.base_values, it.values) for it in columns]
    pairs = [*zip(columns, intervals, strict=True)]
    p_values = [float(view.analyses.adjust_p(it.p, own.values.size)) for own, it in pairs]
    for (own, it), p in zip(pairs, adjust_holm(np.array(p_values)), strict=True):
        means = float(own.base_values.mean()), float(own.values.mean())
        yield own, MeanDifference(*means, *map(float, (it.estimate, it.low, it.high, p)))


def list_judged_phases(view: RunView, candidate: str) -> Iterator[JudgedPhase]:
    """The phases that have a primary metric, where there are two blocks or more."""
    analyses = view.analyses
    base = view.run.design.base
    for workload in view.run.workloads:
        valid = view.blocks[workload.name].valid
        blocks = valid[: analyses.find_last_reached(len(valid)) or len(valid)]
        if len(blocks) < BLOCKS_LEAST:
            continue
        groups = group_dependent_blocks(blocks, (base, candidate))
        level = analyses.compute_level(len(blocks))
        for phase in dict.fromkeys(each.phase for each in view.list_primaries(workload.name)):
            yield JudgedPhase(workload.name, phase, base, candidate, blocks, groups, level)


@dataclass(frozen=True)
class _Counted(PairedColumn):
    """`counted` is the whole count of a trial of the side with more."""

    counter: str
    unit: str
    counted: float


def _find_columns(view: RunView, candidate: str) -> Iterator[_Counted]:
    for judged in list_judged_phases(view, candidate):
        sides = judged.base, candidate
        theirs, own = (
            [_compute_counts(trial, judged.phase) for trial in judged.list_trials(side)]
            for side in sides
        )
        for counter in _find_shared_counters([*theirs, *own]):
            before, after = (np.array([row[counter] for row in side]) for side in (theirs, own))
            means = (
                _compute_mean_count(judged.blocks, side, judged.phase, counter) for side in sides
            )
            yield _Counted(judged, before, after, *counter, max(means))


def list_uncounted(view: RunView, candidate: str) -> tuple[str, ...]:
    """The counters of judged phases that are known of some trials and not of all: one side's
    version does not count them, or its server did not tell.
    """
    found: dict[str, None] = {}
    for judged in list_judged_phases(view, candidate):
        trials = [*judged.list_trials(judged.base), *judged.list_trials(candidate)]
        columns = [_compute_counts(trial, judged.phase) for trial in trials]
        names = dict.fromkeys(key for column in columns for key in column)
        found |= {key[0]: None for key in names if not all(key in column for column in columns)}
    return tuple(found)


#: A counter's name and unit.
_Counter = tuple[str, str]


def _compute_counts(trial: Trial, phase: str) -> dict[_Counter, float]:
    """A trial's counters in a phase; none where nothing was done in it."""
    found: dict[_Counter, float] = {}
    for record in trial.phases:
        if record.phase == phase and (operations := count_operations(record)):
            found |= {key: value / operations for key, value in _list_readings(record)}
    return found


def _compute_mean_count(
    blocks: Sequence[dict[str, Trial]], side: str, phase: str, counter: _Counter
) -> float:
    """The whole count of a trial's phase, on average."""
    records = [it for block in blocks for it in block[side].phases if it.phase == phase]
    found = [value for it in records for key, value in _list_readings(it) if key == counter]
    return sum(found) / len(blocks)


def _list_readings(record: PhaseRecord) -> Iterator[tuple[_Counter, float]]:
    for reading in record.readings:
        if reading.probe in PROBES and reading.name not in COUNTED_WAITS:
            yield (reading.name, reading.unit), reading.value


def _find_shared_counters(columns: Sequence[dict[_Counter, float]]) -> list[_Counter]:
    """Those that every trial has, in their order, and that are not 0 everywhere."""
    first = columns[0] if columns else {}
    shared = [key for key in first if all(key in column for column in columns)]
    return [key for key in shared if any(column[key] for column in columns)]


def _compare_counter(view: RunView, column: _Counted, found: MeanDifference) -> CounterDifference:
    design, judged, in_bytes = view.run.design, column.judged, column.unit == "B"
    least = max(
        BYTES_DIFFERENCE_LEAST if in_bytes else DIFFERENCE_LEAST,
        design.margin_percent / 100 * max(found.base, found.candidate),
    )
    is_trifle = abs(found.difference) < least or column.counted < (
        BYTES_LEAST if in_bytes else COUNT_LEAST
    )
    where = judged.workload, judged.phase, judged.candidate
    differs = found.is_sure(design.alpha) and not is_trifle
    return CounterDifference(*where, column.counter, column.unit, *found, differs)
