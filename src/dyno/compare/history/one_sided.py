"""The audit of a history: are its alarms nearly all of one side?

Real series get faster, too: of changes that nobody aimed at, about as many should be speed-ups as
slowdowns. If nearly all are slowdowns, something may have pushed all levels one way: a disk that
fills, data that grow, a host that gets warmer or busier, a base that was chosen for being fast.

What counts is an event: changes of several series whose places overlap in time may have one cause,
and are one throw of the coin. A change that a fresh comparison confirmed is left out, since that
cancels what pushes both sides. The sign test then says how often a fair coin is so skewed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dyno.judge.stats.sign_test import compute_sign_p
from dyno.record import AlarmSides, FlaggedChange, HistorySeries

#: Of histories whose events have a fair coin's sides, at most this share is called one-sided.
SIDES_ALPHA = 0.01


def count_sides(series: Iterable[HistorySeries]) -> AlarmSides:
    """The events of either side, and how often a fair coin is as skewed: two-sided, exact."""
    sides = [side for side in _list_events(series) if side]
    slowdowns = sum(side > 0 for side in sides)
    p = compute_sign_p(slowdowns, len(sides))
    return AlarmSides(slowdowns, len(sides) - slowdowns, p, p <= SIDES_ALPHA)


def _list_events(series: Iterable[HistorySeries]) -> Iterator[int]:
    """By time, slowdowns less speed-ups of the changes that may be one."""
    spans = sorted(
        (*_find_span(each, change), 1 if change.slowdown_percent > 0 else -1)
        for each in series
        if not each.is_exact
        for change in each.flagged_changes
        if not is_confirmed(change)
    )
    end, balance = "", 0
    for first, last, side in spans:
        if first > end:
            yield balance
            balance = 0
        end, balance = max(end, last), balance + side
    yield balance


def _find_span(series: HistorySeries, change: FlaggedChange) -> tuple[str, str]:
    """When the points began at which the change may lie."""
    times = [point.began_utc for point in series.points[change.first : change.last + 1]]
    return min(times), max(times)


def is_confirmed(change: FlaggedChange) -> bool:
    """Did a fresh comparison find a change of the same side?"""
    trial = change.trial
    if trial is None or trial.doubts:
        return False
    if change.slowdown_percent > 0:
        return trial.verdict == "slower"
    return trial.verdict == "faster" or (trial.high_percent or 0.0) < 0.0
