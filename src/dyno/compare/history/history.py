"""A history as plain data: what `record.History` keeps of the series and the flagged changes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from dyno.compare.history.counts import build_count_series
from dyno.compare.history.fresh_comparison import confirm_command, find_fresh_comparison
from dyno.compare.history.gather import gather_points
from dyno.compare.history.points import Point
from dyno.compare.history.series import PointSeries, SeriesChange, flag_changes, group_series
from dyno.compare.run_folder import RunFolder
from dyno.judge.stats.changes import compute_least_points, compute_nightly_alpha
from dyno.judge.stats.interval import compute_t_interval, to_percent
from dyno.record import FlaggedChange, History, HistoryPoint, HistorySeries, Metric

#: One less the level of a point's interval.
POINT_ALPHA = 0.05


def build_history(
    folders: Iterable[RunFolder], alpha: float, counts: Iterable[Path] = ()
) -> History:
    """All that the runs and the `counts` (their files) tell of changes, and which of them could not
    be read.
    """
    points, left_out = gather_points(folders)
    least = compute_least_points(alpha)
    series = [_analyse_series(each, alpha, least) for each in group_series(points)]
    exact, unread = build_count_series(counts)
    return History(alpha, least, (*series, *exact), (*left_out, *unread))


def _analyse_series(series: PointSeries, alpha: float, least: int) -> HistorySeries:
    tested = len(series.points) >= least
    found = flag_changes(series, alpha) if tested else []
    logs = list(_compute_levels([point.value for point in series.points], found))
    searched = list(_compute_levels(list(series.values), found))
    base = series.points[0].beside if series.relative else None
    metric = series.conditions.metric
    return HistorySeries(
        metric=metric,
        engine=series.conditions.engine,
        alike=dict(series.conditions.alike),
        points=tuple(_build_point(point, metric, series.relative) for point in series.points),
        tested=tested,
        levels=tuple(_convert_log(log, metric) for log in logs),
        flagged_changes=tuple(
            _build_flagged_change(n, alpha, _does_level_stand(at, searched))
            for at, n in enumerate(found)
        ),
        cut=series.cut,
        relative_to=dict(base.key[1]) if base else {},
        gate_alpha=compute_nightly_alpha(alpha, len(series.points)),
    )


def _compute_levels(values: Sequence[float], found: Sequence[SeriesChange]) -> Iterator[float]:
    """The mean log of the points between the flagged changes."""
    ends = [0, *(each.change.at for each in found), len(values)]
    for start, end in pairwise(ends):
        yield float(np.mean(values[start:end]))


def _build_point(point: Point, metric: Metric, relative: bool) -> HistoryPoint:
    ends: tuple[float | None, float | None] = (None, None)
    if len(point.logs) > 1:
        interval = compute_t_interval(point.logs, POINT_ALPHA)
        low, high = sorted(
            _convert_log(float(log), metric) for log in (interval.low, interval.high)
        )
        ends = (low, high)
    return HistoryPoint(
        run=point.folder,
        began_utc=point.began_utc,
        candidate=point.spec,
        version=point.version,
        build=dict(point.build),
        restarts=len(point.logs),
        value=_convert_log(point.value, metric),
        low=ends[0],
        high=ends[1],
        slowdown_percent=to_percent(point.value - point.beside.value)
        if relative and point.beside
        else None,
        host=dict(point.host).get("id", ""),
    )


def _does_level_stand(at: int, levels: Sequence[float]) -> bool:
    """Whether the newest level is nearer to the one after the change `at` than to that before."""
    before, after = levels[at : at + 2]
    return abs(levels[-1] - after) < abs(levels[-1] - before)


def _build_flagged_change(flagged: SeriesChange, alpha: float, stands: bool) -> FlaggedChange:
    change = flagged.change
    command, why_none = confirm_command(flagged)
    return FlaggedChange(
        at=change.at,
        first=change.first,
        last=change.last,
        slowdown_percent=to_percent(change.estimate),
        low_percent=to_percent(change.low),
        high_percent=to_percent(change.high),
        p_value=change.p,
        stands=stands,
        confirm=command,
        why_none=why_none,
        trial=find_fresh_comparison(flagged, alpha),
        unlike_hosts=flagged.unlike_hosts,
    )


def _convert_log(log: float, metric: Metric) -> float:
    """The metric's value from the log of its time, whose sign a rate turns round."""
    return math.exp(-log if metric.better == "higher" else log)
