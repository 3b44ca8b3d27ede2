"""Audit `steady_state`: does a phase that declares itself stationary do constant work?

Where the warm-up is not over, or an engine slows down as it works, a rate depends on how long was
measured. Judged is the rate of each closed-loop stream (that of a paced one is set) in the second
half of the phase beside the first, one number for each restart, and what the restarts agree upon
(`stats.drift`): a limit counts as passed where the 98 % interval of their mean lies beyond it, so a
phase at the limit is blamed once in a hundred times, and one without a drift never in practice.

- A change of over 5 %, which is 10 % from beginning to end along a straight line: *doubtful*. So
  far may that line wander in a steady state as SNIA's Solid State Storage Performance Test
  Specification defines one. Most of it cancels from the ratio of two candidates: where both warm up
  as fast, all of it, and where the slower one does so slower by x, 5 % of x is left.
- To less than half, or to more than double: *invalid*; no one number describes such a phase.
- The slowdown itself changes by more than the margin, pairs taken within blocks: *doubtful*,
  whatever the rates do. It holds for a phase of this length.

Phases of fewer than 2 s, and fewer than 3 restarts, are too little to tell; that is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

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
from dyno.judge.stats.interval import Interval
from dyno.judge.stats.log_ratio import to_log, to_percent
from dyno.judge.stats.within_restarts import compute_half_means, estimate_common_change, is_beyond
from dyno.record import Finding, Run, Soundness

LIMIT_PERCENT = 5.0
INVALID = math.log(2.0)
_SHORT = "a phase of under 2 s, or under 3 restarts"

#: Rates of the first half and of the second, by block.
_Halves = dict[int, tuple[float, float]]


class SteadyState:
    """The second half of a stationary phase beside its first."""

    summary = "a stationary phase does as much in its second half as in its first"
    judges_wall_time = True

    def judge(self, view: RunView) -> list[Finding]:
        """A finding for each stream that drifts; else one with the largest change."""
        run, trials = view.run, view.trials
        seen = [
            (case, stream, _compute_halves(case, stream))
            for case in list_cases(run, trials)
            if case.plan and case.plan.stationary
            for stream in _list_closed_streams(case)
        ]
        findings = [
            f for each in seen for f in (*_find_drift(*each), *_find_shift(run, *each, seen))
        ]
        unjudged: list[Unjudged] = [
            Unchecked(_SHORT, f"{case.name}, {stream}")
            for case, stream, ends in seen
            if not _estimate_change(ends)
        ]
        if not seen and any(list_cases(run, trials)):
            unjudged = [Inapplicable("no phase with a primary metric declares itself stationary")]
        return conclude("steady_state", findings, _describe_sound(seen), unjudged)


_Seen = Sequence[tuple[Case, str, _Halves]]


def _list_closed_streams(case: Case) -> list[str]:
    return [
        name for name, seen in case.streams.items() if not any(tally.paced for _, tally in seen)
    ]


def _compute_halves(case: Case, stream: str) -> _Halves:
    return {
        trial.block: found
        for trial in case.played
        for record in trial.phases
        if record.phase == case.phase
        for tally in record.streams
        if tally.name == stream and (found := compute_half_means(count_full_seconds(record, tally)))
    }


def _estimate_change(ends: _Halves) -> Interval | None:
    return estimate_common_change([math.log(second / first) for first, second in ends.values()])


def _find_drift(case: Case, stream: str, ends: _Halves) -> Iterator[Finding]:
    change = _estimate_change(ends)
    if change is None or not is_beyond(change, to_log(LIMIT_PERCENT)):
        return
    soundness: Soundness = "invalid" if is_beyond(change, INVALID) else "doubtful"
    words = (
        f"the rate of {stream} changed by {to_percent(float(change.estimate)):+.0f} % from the "
        f"first half of the phase to the second, in {len(ends)} restarts; in a steady state it is "
        f"{LIMIT_PERCENT:.0f} % at most"
    )
    yield case.make_finding("steady_state", soundness, words)


def _find_shift(run: Run, case: Case, stream: str, ends: _Halves, seen: _Seen) -> Iterator[Finding]:
    """Where the candidate's slowdown at the end is not that in the beginning."""
    place = (run.design.base, case.workload, case.phase, stream)
    base = next((e for c, s, e in seen if (c.candidate.name, c.workload, c.phase, s) == place), {})
    blocks = sorted(base.keys() & ends.keys())
    first, last = ([math.log(base[b][end] / ends[b][end]) for b in blocks] for end in (0, 1))
    shift = estimate_common_change([late - early for early, late in zip(first, last, strict=True)])
    if shift is None or not is_beyond(shift, to_log(case.find_margin_percent(run, stream))):
        return
    early, late = (to_percent(sum(logs) / len(logs)) for logs in (first, last))
    words = (
        f"its slowdown in {stream} was {early:+.1f} % in the first half of the phase and "
        f"{late:+.1f} % in the second: it holds for this length only"
    )
    yield case.make_finding("steady_state", "doubtful", words)


def _describe_sound(seen: _Seen) -> str:
    changes = [(change, case.name) for case, _, ends in seen if (change := _estimate_change(ends))]
    if not changes:
        return ""
    largest, name = max(changes, key=lambda each: abs(float(each[0].estimate)))
    ends = (largest.estimate, largest.low, largest.high)
    at, low, high = (f"{to_percent(float(end)):+.1f}" for end in ends)
    told = f"a rate changed by {at} % at most from one half of a phase to the other"
    return f"{told} (98 % interval {low} to {high} %: {name})"


AUDIT = SteadyState()
