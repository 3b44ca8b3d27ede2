"""A history as plain data: what `record.History` keeps of the series and the nominations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from dyno.history.fresh_comparison import conviction, trial
from dyno.history.points import Point, gathered
from dyno.history.series import Nomination, Series, in_series, nominated
from dyno.record import History, Metric, Nominated, PastPoint, PastSeries
from dyno.run_folder import Folder
from dyno.stats.changes import points_least
from dyno.stats.interval import t_interval, to_percent

#: One less the level of a point's interval.
POINT_ALPHA = 0.05


def history(folders: Iterable[Folder], alpha: float) -> History:
    """All that the runs tell of changes; `UsageError` where a record is damaged."""
    points, left_out = gathered(folders)
    least = points_least(alpha)
    series = tuple(_series(each, alpha, least) for each in in_series(points))
    return History(alpha, least, series, tuple(left_out))


def _series(series: Series, alpha: float, least: int) -> PastSeries:
    tested = len(series.points) >= least
    found = nominated(series, alpha) if tested else []
    logs = list(_levels(series.points, found))
    metric = series.conditions.metric
    return PastSeries(
        metric=metric,
        engine=series.conditions.engine,
        alike=dict(series.conditions.alike),
        points=tuple(_point(point, metric) for point in series.points),
        tested=tested,
        levels=tuple(_value(log, metric) for log in logs),
        nominations=tuple(_nominated(n, alpha, _stands(at, logs)) for at, n in enumerate(found)),
        cut=series.cut,
    )


def _levels(points: Sequence[Point], found: Sequence[Nomination]) -> Iterator[float]:
    """The mean log of the points between the nominations."""
    ends = [0, *(each.change.at for each in found), len(points)]
    for start, end in pairwise(ends):
        yield float(np.mean([point.value for point in points[start:end]]))


def _point(point: Point, metric: Metric) -> PastPoint:
    ends: tuple[float | None, float | None] = (None, None)
    if len(point.logs) > 1:
        interval = t_interval(point.logs, POINT_ALPHA)
        low, high = sorted(_value(float(log), metric) for log in (interval.low, interval.high))
        ends = (low, high)
    return PastPoint(
        run=point.folder,
        began_utc=point.run.created_utc,
        candidate=point.candidate.spec,
        version=point.version,
        build=dict(point.build),
        restarts=len(point.logs),
        value=_value(point.value, metric),
        low=ends[0],
        high=ends[1],
    )


def _stands(at: int, levels: Sequence[float]) -> bool:
    """Whether the newest level is nearer to the one after the change `at` than to that before."""
    before, after = levels[at : at + 2]
    return abs(levels[-1] - after) < abs(levels[-1] - before)


def _nominated(nomination: Nomination, alpha: float, stands: bool) -> Nominated:
    change = nomination.change
    command, why_none = conviction(nomination)
    return Nominated(
        at=change.at,
        slowdown_percent=to_percent(change.estimate),
        low_percent=to_percent(change.low),
        high_percent=to_percent(change.high),
        p_value=change.p,
        stands=stands,
        convict=command,
        why_none=why_none,
        trial=trial(nomination, alpha),
    )


def _value(log: float, metric: Metric) -> float:
    """The metric's value from the log of its time, whose sign a rate turns round."""
    return math.exp(-log if metric.better == "higher" else log)
