"""What sessions waited for an operation: each candidate's difference from the base, with interval.

Sampled sessions become time: sessions in a state on average × the phase's own time ÷ operations.
Waits that an engine measures itself (`COUNTED_WAITS`) stand beside them. A block's datum
is candidate − base in µs an operation; the rest is that of counters (`counters.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from dyno import numbers
from dyno.judge.analysis.counters import (
    COUNTED_WAITS,
    JudgedPhase,
    MeanDifference,
    PairedColumn,
    judge_columns,
    list_judged_phases,
)
from dyno.judge.analysis.measures import count_operations
from dyno.judge.analysis.run_view import RunView
from dyno.record import PhaseRecord, WaitDifference
from dyno.record.waits import WaitKind

#: Fewer sessions met, in all blocks of the side with more, are chance.
MET_LEAST = 10
#: A difference in µs below which nobody would look for a cause.
DIFFERENCE_LEAST_US = 0.1


def compare_waits(view: RunView, candidate: str) -> tuple[WaitDifference, ...]:
    """A candidate's waits in the phases that are judged, the largest difference first; running is
    one row of them.
    """
    columns = [it for judged in list_judged_phases(view, candidate) for it in _find_columns(judged)]
    rows = [_compare(view, *each) for each in judge_columns(view, columns)]
    return tuple(sorted(rows, key=lambda row: (not row.differs, -abs(row.difference_us))))


@dataclass(frozen=True)
class _Times:
    """A trial's µs an operation, by kind and whether the engine counted it; those of each event;
    how many sessions were met; what the users' whole time was.
    """

    of_kinds: dict[tuple[WaitKind, bool], float]
    of_events: dict[tuple[WaitKind, str], float] = field(default_factory=dict)
    met: dict[tuple[WaitKind, bool], float] = field(default_factory=dict)
    users_us: float = 0.0
    is_sampled: bool = False

    @property
    def database_us(self) -> float | None:
        """The database's time an operation: all that was sampled."""
        sampled = [us for (_, is_counted), us in self.of_kinds.items() if not is_counted]
        return sum(sampled) if self.is_sampled else None


def _compute_times(record: PhaseRecord | None) -> _Times:
    operations = count_operations(record) if record else 0
    if record is None or not operations:
        return _Times({})
    own_us = record.own_time_ns / 1e3 / operations
    users = sum(tally.connections for tally in record.streams)
    times = _Times({}, users_us=users * own_us, is_sampled=record.waits is not None)
    for reading in record.readings:
        if kind := COUNTED_WAITS.get(reading.name):
            times.of_kinds[kind, True] = reading.value / operations
            times.met[kind, True] = float("inf")
    if record.waits:
        for state in record.waits.states:
            us = own_us * state.sessions / record.waits.samples
            for sums, key, more in (
                (times.of_kinds, (state.kind, False), us),
                (times.met, (state.kind, False), state.sessions),
            ):
                sums[key] = sums.get(key, 0.0) + more
            times.of_events[state.kind, state.event] = us
    return times


@dataclass(frozen=True)
class _Column(PairedColumn):
    kind: WaitKind
    is_counted: bool
    base_times: Sequence[_Times]
    times: Sequence[_Times]


def _find_columns(judged: JudgedPhase) -> Iterator[_Column]:
    """Those of kinds met at all; nothing where some trials were not sampled."""
    theirs, own = (
        [_compute_times(judged.find_record(trial)) for trial in judged.list_trials(side)]
        for side in (judged.base, judged.candidate)
    )
    trials = [*theirs, *own]
    for key in dict.fromkeys(key for times in trials for key in times.of_kinds):
        kind, is_counted = key
        if is_counted and not all(key in it.of_kinds for it in trials):
            continue
        if not is_counted and not all(it.is_sampled for it in trials):
            continue
        base_values = np.array([it.of_kinds.get(key, 0.0) for it in theirs])
        values = np.array([it.of_kinds.get(key, 0.0) for it in own])
        if base_values.any() or values.any():
            yield _Column(judged, base_values, values, kind, is_counted, theirs, own)


def _compare(view: RunView, column: _Column, found: MeanDifference) -> WaitDifference:
    judged, design = column.judged, view.run.design
    sides = column.base_times, column.times
    key = column.kind, column.is_counted
    met = max(sum(it.met.get(key, 0.0) for it in side) for side in sides)
    wholes_us = [_compute_mean(it.database_us or it.users_us for it in side) for side in sides]
    least_us = max(DIFFERENCE_LEAST_US, design.margin_percent / 100 * max(wholes_us))
    is_trifle = abs(found.difference) < least_us or met < MET_LEAST
    means = zip((found.base, found.candidate), sides, strict=True)
    shares = [_compute_share(us, side) for us, side in means]
    events = [None if column.is_counted else _compute_event_means(column.kind, it) for it in sides]
    where = judged.workload, judged.phase, judged.candidate
    differs = found.is_sure(design.alpha) and not is_trifle
    return WaitDifference(
        *(*where, column.kind, *found, differs, column.is_counted),
        base_share=shares[0],
        candidate_share=shares[1],
        base_events=events[0],
        events=events[1],
    )


def _compute_mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _compute_share(us: float, side: Sequence[_Times]) -> float | None:
    """Of the database's time; None where that was not sampled."""
    wholes = [it.database_us for it in side]
    whole = sum(it for it in wholes if it is not None) / len(side)
    return us / whole if None not in wholes and whole > 0.0 else None


def _compute_event_means(kind: WaitKind, side: Sequence[_Times]) -> dict[str, float]:
    """Mean µs of each event of a kind, the largest first."""
    names = dict.fromkeys(name for it in side for k, name in it.of_events if k == kind)
    rows = ((name, [it.of_events.get((kind, name), 0.0) for it in side]) for name in names)
    means = [(name, _compute_mean(row)) for name, row in rows]
    return dict(sorted(means, key=lambda each: -each[1]))


#: Kinds that a clause tells, of those that differ: the largest.
WAITS_NAMED = 1
#: Waits for what somebody else does; no counter explains them.
FOR_OTHERS: tuple[WaitKind, ...] = ("locks", "latches", "processes")
#: How a kind of waits is called in a sentence.
SPOKEN = {
    "latches": "latches in memory",
    "files": "reads and writes of files",
    "commit": "its commit",
    "processes": "other processes of the server",
    "client": "the client to take its rows",
    "other": "other things",
}


def say_waits_for_others(waits: Sequence[WaitDifference]) -> Iterator[str]:
    """`an operation waits 120 µs longer for locks [110, 130] (0.1 → 120 µs)`."""
    yield from _say_waits(waits, list_waits_for_others(waits))


def list_waits_for_others(waits: Sequence[WaitDifference]) -> list[WaitDifference]:
    """For what somebody else does."""
    return [each for each in waits if each.kind in FOR_OTHERS]


def say_other_waits(waits: Sequence[WaitDifference]) -> Iterator[str]:
    """Those that counters of pages, fsyncs and commits explain."""
    yield from _say_waits(waits, list_other_waits(waits))


def list_other_waits(waits: Sequence[WaitDifference]) -> list[WaitDifference]:
    """For nobody else: files, the commit, the client."""
    return [each for each in waits if each.kind not in (*FOR_OTHERS, "running")]


def _say_waits(all_waits: Sequence[WaitDifference], waits: Sequence[WaitDifference]) -> list[str]:
    is_phase_named = len({(each.workload, each.phase) for each in all_waits}) > 1
    differing = [each for each in waits if each.differs]
    return [_say_wait(each, is_phase_named) for each in differing[:WAITS_NAMED]]


def _say_wait(each: WaitDifference, is_phase_named: bool) -> str:
    word = "longer" if each.difference_us > 0 else "less"
    low, high = sorted((abs(each.low_us), abs(each.high_us)))
    interval = numbers.format_interval(low, high, numbers.format_digits)
    size = numbers.format_digits(abs(each.difference_us))
    sides = f"{numbers.format_digits(each.base_us)} → {numbers.format_digits(each.candidate_us)} µs"
    where = f" in {each.workload} {each.phase}" if is_phase_named else ""
    what = SPOKEN.get(each.kind, each.kind)
    return f"an operation waits {size} µs {word} for {what} {interval} ({sides}){where}"
