"""The fresh comparison that has convicted a nomination or acquitted it, where there was one.

Fresh is a run without which the place would have been nominated just the same: so its verdict was
not chosen for being bad. Of several the newest counts, whatever it says.
"""

from __future__ import annotations

import math
from dataclasses import replace

from dyno.history.conditions import alike, build_of
from dyno.history.points import Point
from dyno.history.series import Nomination, nominated
from dyno.judge.hearing import Hearing
from dyno.record import Comparison, PastTrial


def trial(nomination: Nomination, alpha: float) -> PastTrial | None:
    """The newest fresh comparison of the build before, as the base, with the one after."""
    for point in _together(nomination):
        found = _comparison(nomination, point)
        if found and _is_fresh(nomination, point, alpha):
            bounds = (found.low_percent, found.high_percent)
            low, high = (each if math.isfinite(each) else None for each in bounds)
            return PastTrial(point.folder, found.verdict, low, high)
    return None


def _together(nomination: Nomination) -> list[Point]:
    """The new build's points in runs that played the old one too, the newest first."""
    before, after = nomination.before.build, nomination.after.build
    points = nomination.series.points
    olds = {point.source for point in points if point.build == before}
    both = [point for point in points if point.build == after and point.source in olds]
    return sorted(both, key=lambda p: p.run.created_utc, reverse=True) if before != after else []


def _comparison(nomination: Nomination, point: Point) -> Comparison | None:
    """What its run's verdict says of the two builds in the metric of the series."""
    conditions = nomination.series.conditions
    builds = {
        each.name: build_of(each)
        for each in point.run.candidates
        if each.engine == conditions.engine
        and alike(point.run, point.workload, each) == conditions.alike
    }
    sides = (nomination.before.build, nomination.after.build)
    rows = Hearing(point.run, point.source.trials()).comparisons()
    ours = (row for row in rows if row.metric == conditions.metric and row.primary)
    return next((r for r in ours if (builds.get(r.base), builds.get(r.candidate)) == sides), None)


def _is_fresh(nomination: Nomination, point: Point, alpha: float) -> bool:
    series = nomination.series
    rest = replace(series, points=tuple(p for p in series.points if p.source != point.source))
    sides = (nomination.before.build, nomination.after.build)
    return any((n.before.build, n.after.build) == sides for n in nominated(rest, alpha))
