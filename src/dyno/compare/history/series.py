"""Series of comparable points in the order of their builds, and the changes flagged in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from dyno.compare.history.hosts import HOSTS
from dyno.compare.history.points import Named, Point, SeriesConditions
from dyno.judge.stats.changes import Change, compute_nightly_alpha, find_changes
from dyno.judge.stats.log_ratio import Floats

#: Runs that measured one base along, from which on its rivals are held against it.
RELATIVE_LEAST = 6


@dataclass(frozen=True)
class PointSeries:
    """Comparable points; `cut` says, a clause each, what was no longer as it was where an earlier
    series of the same metric ended. Empty where none did.

    Where `relative`, every point was measured along with the same base, and what is searched is
    how far it lies from that: the host's nights cancel. `aside` are points under these conditions
    that stand in another series.
    """

    conditions: SeriesConditions
    points: tuple[Point, ...]
    cut: tuple[str, ...] = ()
    relative: bool = False
    aside: tuple[Point, ...] = ()

    @property
    def values(self) -> Floats:
        """What is searched for changes: logs of times, or of their ratios to the base."""
        along = (p.beside.value if p.beside and self.relative else 0.0 for p in self.points)
        return np.array(
            [point.value - base for point, base in zip(self.points, along, strict=True)]
        )

    @cached_property
    def span(self) -> tuple[str, str]:
        """When its first and its last run began (UTC)."""
        times = [point.began_utc for point in self.points]
        return min(times), max(times)


@dataclass(frozen=True)
class SeriesChange:
    """A place at which the level seems to have changed, and the two levels beside it: the points
    from `start` to the place, and from there to `end`, without those that another change may own.
    """

    series: PointSeries
    change: Change
    start: int
    end: int

    @property
    def before(self) -> Point:
        """The last point that lies at the old level wherever the place truly is."""
        return self.series.points[self.change.first - 1]

    @property
    def after(self) -> Point:
        """The first point that lies at the new level wherever the place truly is."""
        return self.series.points[self.change.last]

    @property
    def unlike_hosts(self) -> tuple[str, ...]:
        """What of the hosts changed along with the level, a clause each: facts of which no value
        stands on both sides. A group's hosts can differ so, and what a pilot chose.
        """
        points, at = self.series.points, self.change.at
        before = [dict(point.host) for point in points[self.start : at]]
        after = [dict(point.host) for point in points[at : self.end]]
        names = sorted({name for host in (*before, *after) for name in host} - {"id"})
        found = []
        for name in names:
            was, now = ({host.get(name, "") for host in side} for side in (before, after))
            if not was & now:
                found.append(f"{name} was {_quote(was)} and is {_quote(now)}")
        return tuple(found)

    def separates(self, old: Named, new: Named, *, sure: bool) -> bool:
        """Whether the first build is of the level before and the second of the one after; where
        `sure`, wherever the place truly is. A build that stands on both sides is of neither.
        """
        change, points = self.change, self.series.points
        last, first = (change.first, change.last) if sure else (change.at, change.at)
        before = {point.build for point in points[self.start : last]}
        after = {point.build for point in points[first : self.end]}
        return old in before - after and new in after - before


def _quote(values: Iterable[str]) -> str:
    return " or ".join(f"'{value}'" for value in sorted(values))


def group_series(points: Mapping[SeriesConditions, Sequence[Point]]) -> list[PointSeries]:
    """A series for each of the conditions (two where builds were measured along with one base), by
    metric, then by when it began.
    """
    found = [each for conditions, own in points.items() for each in _split_by_base(conditions, own)]
    found.sort(key=lambda each: (each.conditions.metric, each.conditions.engine, each.span))
    return [replace(each, cut=_describe_cut(each, found)) for each in found]


def _split_by_base(conditions: SeriesConditions, points: Sequence[Point]) -> Iterator[PointSeries]:
    """The points that were measured along with the usual base, against it; and the others.

    The usual base is that of most points that have one, in at least `RELATIVE_LEAST` runs, and of
    half of all points but its own. Its own points tell of the host, and stand in the second series.
    """
    bases = Counter(point.beside.key for point in points if point.beside)
    usual, often = bases.most_common(1)[0] if bases else (None, 0)
    own = [p for p in points if p.beside and p.beside.key == usual]
    rivals = [p for p in points if p.key != usual]
    runs = {point.folder for point in own}
    if len(runs) < RELATIVE_LEAST or 2 * often < len(rivals):
        yield PointSeries(conditions, sort_by_build(points))
        return
    taken = set(map(id, own))
    others = tuple(p for p in points if id(p) not in taken)
    yield PointSeries(conditions, sort_by_build(own), relative=True, aside=others)
    if others:
        yield PointSeries(conditions, sort_by_build(others), aside=tuple(own))


def flag_changes(series: PointSeries, alpha: float) -> list[SeriesChange]:
    """The changes of a series' level; of series without any, at most `alpha` get one."""
    size = len(series.points)
    finest = compute_nightly_alpha(alpha, size) if size else 1.0
    return measure_changes(series, find_changes(series.values, alpha, finest=finest))


def measure_changes(series: PointSeries, found: Sequence[Change]) -> list[SeriesChange]:
    """The changes of a series, each with the levels beside it."""
    size = len(series.points)
    starts = [0, *(each.last for each in found)]
    ends = [*(each.first for each in found[1:]), size]
    return [
        SeriesChange(series, each, min(start, each.first - 1), max(end, each.last + 1))
        for each, start, end in zip(found, starts, ends, strict=False)
    ]


def sort_by_build(points: Sequence[Point]) -> tuple[Point, ...]:
    """By version, then by when the build's commit was made, where that is known, then by when the
    build was first measured, then by time.

    So a night's builds, which may all be of one version, stand in the order of the nights, and
    commits that were measured afterwards in theirs; and a base that is measured again each night
    stands before them, a history of the host.
    """
    in_time = sorted(points, key=lambda point: (point.began_utc, point.folder))
    first = {point.build: at for at, point in reversed(list(enumerate(in_time)))}
    return tuple(
        sorted(in_time, key=lambda p: (parse_version(p.version), p.committed, first[p.build]))
    )


@cache
def parse_version(text: str) -> tuple[tuple[int, str], ...]:
    """`8.0.33` after `8.0.4`: numbers as numbers, before words."""
    parts = re.findall(r"\d+|[^\d.\-_ ]+", text)
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in parts)


def _describe_cut(series: PointSeries, every: Sequence[PointSeries]) -> tuple[str, ...]:
    """What differs from the last series of the same metric that was over when this one began; where
    none was, what host and driver of the newest that began earlier and goes on have unlike this
    one's. (That its options are others is what somebody chose.)
    """
    ours = (series.conditions.engine, series.conditions.metric)
    begun = series.span[0]
    earlier = [
        each
        for each in every
        if (each.conditions.engine, each.conditions.metric) == ours and each.span[0] < begun
        if each.conditions != series.conditions
    ]
    if over := [each for each in earlier if each.span[1] < begun]:
        return tuple(_list_differences(max(over, key=lambda each: each.span[1]), series))
    if not earlier:
        return ()
    running = max(earlier, key=lambda each: each.span)
    found = list(_list_differences(running, series))
    return tuple(found) if all(each.startswith((HOSTS, "driver")) for each in found) else ()


def _list_differences(last: PointSeries, series: PointSeries) -> Iterator[str]:
    was, now = dict(last.conditions.alike), dict(series.conditions.alike)
    for name in sorted(was | now):
        if was.get(name) != now.get(name):
            yield f"{name} was '{was.get(name, '')}' and is '{now.get(name, '')}'"
