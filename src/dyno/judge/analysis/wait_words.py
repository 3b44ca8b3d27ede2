"""Waits that differ, as clauses of the sentence that says what changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dyno import numbers
from dyno.record import WaitDifference
from dyno.record.waits import WaitKind

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
