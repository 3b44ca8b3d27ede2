"""The streams of a sweep, and what each candidate did in them under each value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dyno.record import WorkloadPlan
from dyno.report import Book, facts


@dataclass(frozen=True)
class Swept:
    """A stream under each value of the swept option, in the experiment's order."""

    option: str
    streams: dict[str, facts.Stream]

    @property
    def label(self) -> str:
        """`oltp_point_select / run / event by threads`."""
        first = next(iter(self.streams.values()))
        script = first.workload.partition(f" {self.option}=")[0]
        return f"{script} / {first.phase} / {first.name} by {self.option}"


@dataclass(frozen=True)
class Point:
    """What a candidate's trials gave under one value: rates per s and p99 latencies in s."""

    value: str
    rates: list[float]
    p99s: list[float]


def streams(book: Book) -> list[Swept]:
    """Every stream of the run that an option is swept for."""
    groups: dict[tuple[str, str], list[WorkloadPlan]] = {}
    for workload in book.run.workloads:
        for option in workload.sweep:
            groups.setdefault((workload.script, option), []).append(workload)
    return [
        Swept(option, streams)
        for (_, option), workloads in groups.items()
        for streams in _by_stream(book, workloads, option)
    ]


def _by_stream(
    book: Book, workloads: Sequence[WorkloadPlan], option: str
) -> list[dict[str, facts.Stream]]:
    found: dict[tuple[str, str], dict[str, facts.Stream]] = {}
    for workload in workloads:
        for stream in facts.streams(book, workload.name):
            by_value = found.setdefault((stream.phase, stream.name), {})
            by_value[workload.sweep[option]] = stream
    return [by_value for (phase, _), by_value in found.items() if phase != "prepare"]


def points(book: Book, swept: Swept, candidate: str) -> list[Point]:
    """The candidate's trials that count, by value, where there are any."""
    found = []
    for value, stream in swept.streams.items():
        played = facts.tallies(facts.counted(book, stream.workload), stream)
        own = [(record, tally) for trial, record, tally in played if trial.candidate == candidate]
        rates = [t.done * t.units_per_event / r.duration_s for r, t in own if r.duration_s > 0]
        p99s = [t.latency.percentiles_ns["99"] / 1e9 for _, t in own if t.latency.count]
        if rates and p99s:
            found.append(Point(value, rates, p99s))
    return found
