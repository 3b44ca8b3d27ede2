"""Audit `stalls`: were there whole seconds of a stationary phase in which nothing was answered?

A stall is the engine's own (a checkpoint, a lock) or the machine's (a host that was paused, a disk
that hung); a mean rate hides either. A second counts as stalled where the stream answers ten events
a second or more in some restart of the candidate, which by chance alone has an empty second once in
22,000 (e⁻¹⁰): a restart that stood still for most of its time answers fewer.

Where stalled seconds are a larger part of all seconds than the margin, they alone move a rate by
that much: *doubtful*. Fewer are told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits._cases import (
    Case,
    Inapplicable,
    Unchecked,
    Unjudged,
    conclude,
    count_full_seconds,
    list_cases,
)
from dyno.record import Finding

PER_SECOND_LEAST = 10.0
_FEW = "under a second, or under 10 events a second in every restart"


@dataclass(frozen=True)
class _Stalls:
    """Of a stream over all restarts: seconds, those without an answer, the longest row of them."""

    seconds: int
    stalled: int
    longest: int
    restarts: int

    @property
    def percent(self) -> float:
        return 100 * self.stalled / self.seconds if self.seconds else 0.0

    @property
    def words(self) -> str:
        return (
            f"nothing was answered in {self.stalled} of {self.seconds} s "
            f"(in {self.restarts} restarts, {self.longest} s at a stretch)"
        )


class Stalls:
    """Seconds without an answer."""

    summary = "few seconds of a stationary phase pass without any answer"
    judges_wall_time = True

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each stream that stalled for more than the margin; else one."""
        run, trials = view.run, view.trials
        seen = [
            (case, stream, _count_stalls(case, stream))
            for case in list_cases(run, trials)
            if case.plan and case.plan.stationary
            for stream in case.streams
        ]
        findings = [
            case.make_finding("stalls", "doubtful", f"{stream}: {stalls.words}")
            for case, stream, stalls in seen
            if stalls.percent > case.find_margin_percent(run, stream)
        ]
        counted = [each for each in seen if each[2].seconds]
        unjudged: list[Unjudged] = [
            Unchecked(_FEW, f"{case.name}, {stream}")
            for case, stream, stalls in seen
            if not stalls.seconds
        ]
        if not seen and any(list_cases(run, trials)):
            unjudged = [Inapplicable("no phase with a primary metric declares itself stationary")]
        return conclude("stalls", findings, _describe_sound(counted), unjudged)


def _count_stalls(case: Case, stream: str) -> _Stalls:
    series = [count_full_seconds(record, tally) for record, tally in case.streams[stream]]
    counted = [s for s in series if s]
    if not any(sum(s) >= PER_SECOND_LEAST * len(s) for s in counted):
        return _Stalls(0, 0, 0, 0)
    rows = [
        [len(list(group)) for empty, group in groupby(s, key=lambda done: done == 0) if empty]
        for s in counted
    ]
    return _Stalls(
        seconds=sum(len(s) for s in counted),
        stalled=sum(sum(row) for row in rows),
        longest=max((max(row) for row in rows if row), default=0),
        restarts=sum(bool(row) for row in rows),
    )


def _describe_sound(seen: Sequence[tuple[Case, str, _Stalls]]) -> str:
    worst = max(seen, key=lambda each: each[2].percent, default=None)
    if worst is None:
        return ""
    if not worst[2].stalled:
        streams = f"none of {len(seen)} streams of stationary phases with a primary metric"
        return f"{streams} stood still for a whole second"
    case, stream, stalls = worst
    return f"{case.name}, {stream}: {stalls.words}, less than the margin"


AUDIT = Stalls()
