"""Series of comparable points in the order of their builds, and the changes nominated in them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dyno.history.points import Conditions, Point
from dyno.stats.changes import Change, changes


@dataclass(frozen=True)
class Series:
    """Comparable points; `cut` says, a clause each, what was no longer as it was where an earlier
    series of the same metric ended. Empty where none did.
    """

    conditions: Conditions
    points: tuple[Point, ...]
    cut: tuple[str, ...] = ()

    @property
    def span(self) -> tuple[str, str]:
        """When its first and its last run began (UTC)."""
        times = [point.run.created_utc for point in self.points]
        return min(times), max(times)


@dataclass(frozen=True)
class Nomination:
    """A place at which the level seems to have changed: between two neighbouring points."""

    series: Series
    change: Change

    @property
    def before(self) -> Point:
        """The last point at the old level."""
        return self.series.points[self.change.at - 1]

    @property
    def after(self) -> Point:
        """The first point at the new level."""
        return self.series.points[self.change.at]


def group_series(points: Mapping[Conditions, Sequence[Point]]) -> list[Series]:
    """A series for each of the conditions, by metric, then by when it began."""
    found = [Series(conditions, _in_build_order(own)) for conditions, own in points.items()]
    found.sort(key=lambda each: (each.conditions.metric, each.conditions.engine, each.span))
    return [Series(each.conditions, each.points, _cut(each, found)) for each in found]


def nominate(series: Series, alpha: float) -> list[Nomination]:
    """The changes of a series' level; of series without any, at most `alpha` get one."""
    values = np.array([point.value for point in series.points])
    return [Nomination(series, change) for change in changes(values, alpha)]


def _in_build_order(points: Sequence[Point]) -> tuple[Point, ...]:
    """By version, then by when the build was first measured, then by time.

    So a night's builds, which may all be of one version, stand in the order of the nights; and a
    base that is measured again each night stands before them, a history of the host.
    """
    in_time = sorted(points, key=lambda point: (point.run.created_utc, point.folder))
    first = {point.build: at for at, point in reversed(list(enumerate(in_time)))}
    return tuple(sorted(in_time, key=lambda p: (_version(p.version), first[p.build])))


def _version(text: str) -> tuple[tuple[int, str], ...]:
    """`8.0.33` after `8.0.4`: numbers as numbers, before words."""
    parts = re.findall(r"\d+|[^\d.\-_ ]+", text)
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in parts)


def _cut(series: Series, every: Sequence[Series]) -> tuple[str, ...]:
    """What differs from the last series of the same metric that was over when this one began."""
    ours = (series.conditions.engine, series.conditions.metric)
    begun = series.span[0]
    earlier = [
        each
        for each in every
        if (each.conditions.engine, each.conditions.metric) == ours and each.span[1] < begun
    ]
    if not earlier:
        return ()
    last = max(earlier, key=lambda each: each.span[1])
    was, now = dict(last.conditions.alike), dict(series.conditions.alike)
    names = [name for name in sorted(was | now) if was.get(name) != now.get(name)]
    return tuple(f"{n} was '{was.get(n, '')}' and is '{now.get(n, '')}'" for n in names)
