"""Series of exact numbers, which counts of instructions are: each point is judged against the first
of its level, by the repetitions of both, as its instrument judges them (`judge.analysis.counts`),
and a step is a verdict.

Where the newest point lies the margin or more off and its repetitions vary too far to tell, that is
flagged as *inconclusive*. A later point decides such an earlier one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import exp

from dyno.compare.history.confirm import build_confirm_command
from dyno.compare.history.points import ExactRepeats, Point, build_history_point
from dyno.compare.history.series import sort_by_build
from dyno.judge.analysis.counts import ALPHA, CountChange, judge_change
from dyno.record import FlaggedChange, HistorySeries
from dyno.record.count import CandidateCount

#: A series of fewer points has no step.
POINTS_LEAST = 2


def build_exact_series(points: Sequence[Point]) -> HistorySeries:
    """The series of points under the same conditions."""
    ordered = sort_by_build(points)
    steps = find_steps([each.exact for each in ordered if each.exact])
    ends = [0, *steps, len(ordered)]
    logs = [
        sum(each.value for each in ordered[start:end]) / (end - start)
        for start, end in pairwise(ends)
    ]
    first = ordered[0].conditions
    return HistorySeries(
        metric=first.metric,
        engine=first.engine,
        alike=dict(first.alike),
        points=tuple(build_history_point(each, exp(each.value)) for each in ordered),
        tested=len(ordered) >= POINTS_LEAST,
        levels=tuple(map(exp, logs)),
        flagged_changes=tuple(
            _build_change(ordered, start, logs[at : at + 2], logs[-1], change)
            for at, (start, change) in enumerate(steps.items())
        ),
        is_exact=True,
    )


def find_steps(points: Sequence[ExactRepeats]) -> dict[int, CountChange]:
    """Where a count is heavier or lighter than the first of its level, or where the newest may be:
    the place of each such step, and its change, by the newest's margin. The gate is asked every
    night, so the n-th point after the first is judged at α ÷ n; where counts agree exactly that is
    no matter.
    """
    steps, margin = {}, points[-1].margin_percent
    counted = [CandidateCount("", each.repeats, (), (), inputs=each.inputs) for each in points]
    level = counted[0]
    for at, each in enumerate(counted):
        change = judge_change(level, each, margin, ALPHA / max(at, 1))
        may_be = change.word == "inconclusive" and abs(change.percent) >= margin
        if change.word in ("slower", "faster") or (may_be and at == len(counted) - 1):
            steps[at], level = change, each
    return steps


def _build_change(
    points: Sequence[Point],
    at: int,
    levels: Sequence[float],
    newest: float,
    change: CountChange,
) -> FlaggedChange:
    before, after = levels
    command, why_none = build_confirm_command(points[at - 1], points[at])
    return FlaggedChange(
        at=at,
        first=at,
        last=at,
        slowdown_percent=change.percent,
        low_percent=change.low,
        high_percent=change.high,
        p_value=0.0,
        stands=abs(newest - after) < abs(newest - before),
        confirm=command,
        why_none=why_none,
        is_exact=True,
        is_decided=change.word != "inconclusive",
    )
