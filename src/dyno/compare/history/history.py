"""A history as plain data: what `record.History` keeps of the series and the flagged changes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from dyno import private_files
from dyno.builds import cache
from dyno.compare.history.exact import build_exact_series
from dyno.compare.history.homes import HomeRuns, RunsHome, read_plain_file
from dyno.compare.history.hosts import assign_hosts
from dyno.compare.history.one_sided import count_sides
from dyno.compare.history.points import (
    SOURCES,
    Named,
    Point,
    ReadRun,
    SeriesConditions,
    build_history_point,
)
from dyno.compare.history.series import (
    PointSeries,
    SeriesChange,
    flag_changes,
    group_series,
    measure_changes,
)
from dyno.judge.stats.changes import Change, compute_least_points, compute_nightly_alpha
from dyno.judge.stats.log_ratio import to_percent
from dyno.record import (
    FlaggedChange,
    FreshComparison,
    History,
    HistoryPoint,
    HistorySeries,
    LeftOutRun,
    Metric,
    decode,
)
from dyno.record.schema import Record
from dyno.runs.run_folder import RunFolder

if TYPE_CHECKING:
    from dyno.compare.history.fresh_comparison import OpenRun

#: Analyses of earlier nights that are kept beside those of tonight.
ANALYSES_KEPT = 1000


def build_history(homes: Sequence[HomeRuns], alpha: float, series_name: str = "") -> History:
    """All that the runs of the homes tell of changes, and which of them could not be read; of the
    series of that name alone where one is given.
    """
    places: dict[str, tuple[RunsHome, ReadRun]] = {}
    for each in homes:
        for run in each.runs:
            places.setdefault(each.home.locate(run.path), (each.home, run))
    points, left_out = _select_points({place: run for place, (_, run) in places.items()})

    if series_name:
        points = {
            conditions: own
            for conditions, own in points.items()
            if dict(conditions.alike).get("series") == series_name
        }

    def open_run(place: str) -> AbstractContextManager[RunFolder]:
        home, run = places[place]
        return home.open_run(run.path)

    analyses = _Analyses(alpha, open_run)
    searched = {conditions: own for conditions, own in points.items() if not own[0].exact}
    series = [_build_series(each, analyses.analyse(each), alpha) for each in group_series(searched)]
    analyses.keep()
    exact = [build_exact_series(own) for own in points.values() if own[0].exact]
    sides = count_sides(series)
    least = compute_least_points(alpha)
    return History(alpha, least, (*series, *exact), tuple(left_out), sides)


Selected = tuple[dict[SeriesConditions, list[Point]], list[LeftOutRun]]


def _select_points(runs: Mapping[str, ReadRun]) -> Selected:
    """The points of all runs by their conditions, and what had to be left out: first whole runs
    that cannot be read, damaged ones and those of a newer Dyno, and copies of a run.
    """
    whole: list[LeftOutRun] = []
    left_out: list[LeftOutRun] = []
    points: list[Point] = []
    for name, run in _drop_copies(runs, whole):
        if run.unreadable:
            whole.append(LeftOutRun(name, run.unreadable))
            continue
        left_out += (LeftOutRun(name, why) for why in run.losses)
        points += run.points
    return _group_by_conditions(assign_hosts(points)), whole + left_out


def _group_by_conditions(points: Sequence[Point]) -> dict[SeriesConditions, list[Point]]:
    """The points by what they share, which is hashed once for all that hold the same object."""
    grouped: dict[SeriesConditions, list[Point]] = {}
    known: dict[int, list[Point]] = {}
    for point in points:
        own = known.get(id(point.conditions))
        if own is None:
            own = known[id(point.conditions)] = grouped.setdefault(point.conditions, [])
        own.append(point)
    return grouped


def _drop_copies(
    runs: Mapping[str, ReadRun], left_out: list[LeftOutRun]
) -> list[tuple[str, ReadRun]]:
    """Each run by its folder's name: a copy (a backup, a folder named twice) is no further restart.
    Of copies the one with most trials counts, as one may have been resumed. What cannot be read,
    and each copy, goes to `left_out`.
    """
    counted: dict[str, tuple[str, ReadRun]] = {}
    for place, run in runs.items():
        ours = (place.rpartition("/")[2], run)
        if not run.identity:
            left_out.append(LeftOutRun(ours[0], run.unreadable))
            continue
        rival = counted.setdefault(run.identity, ours)
        if rival is not ours:
            kept, copy = sorted((rival, ours), key=lambda it: it[1].played_bytes, reverse=True)
            counted[run.identity] = kept
            left_out.append(LeftOutRun(copy[0], f"a copy of {kept[0]}"))
    return list(counted.values())


class SeriesAnalysis(Record):
    """The changes of a series, and the fresh comparison of each, if there is one."""

    changes: tuple[Change, ...] = ()
    trials: tuple[FreshComparison | None, ...] = ()


class _Analyses:
    """Searches series for changes. One that was searched before, with the same points of runs that
    have not changed, is answered from a file of the cache, by a digest of all that it depends on.
    """

    def __init__(self, alpha: float, open_run: OpenRun) -> None:
        self.alpha, self.open_run = alpha, open_run
        self.least = compute_least_points(alpha)
        self.file = cache.find_root() / "history" / "analyses.json"
        self.known: dict[str, Any] = {}
        self.used: dict[str, Any] = {}
        with suppress(ValueError, RecursionError):
            known = json.loads(read_plain_file(str(self.file)) or b"{}")
            self.known = known if isinstance(known, dict) else {}

    def analyse(self, series: PointSeries) -> list[tuple[SeriesChange, FreshComparison | None]]:
        """The changes of the series, with their fresh comparisons."""
        if len(series.points) < self.least:
            return []
        key = self._compute_digest(series)
        try:
            found = decode.decode(SeriesAnalysis, self.known[key])
        except (KeyError, decode.WrongShape):
            found = self._find_changes(series)
        self.used[key] = decode.encode(found)
        changes = measure_changes(series, found.changes)
        return list(zip(changes, found.trials, strict=True))

    def _compute_digest(self, series: PointSeries) -> str:
        builds: dict[Named, str] = {}
        parts = [f"{cache.compute_sources_sha256(*SOURCES)} {self.alpha} {series.relative}"]
        for point in (*series.points, *series.aside):
            build = builds.get(point.build) or builds.setdefault(point.build, repr(point.build))
            beside = point.beside.value if point.beside else None
            parts += (point.source.place, point.source.stamp, build, f"{point.value} {beside}")
        return sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()

    def _find_changes(self, series: PointSeries) -> SeriesAnalysis:
        from dyno.compare.history.fresh_comparison import find_fresh_comparison

        found = flag_changes(series, self.alpha)
        trials = (find_fresh_comparison(each, self.alpha, self.open_run) for each in found)
        return SeriesAnalysis(tuple(each.change for each in found), tuple(trials))

    def keep(self) -> None:
        """Keeps the analyses of tonight, and the newest of earlier ones, if that can be."""
        if self.used.keys() <= self.known.keys():
            return
        earlier = [key for key in self.known if key not in self.used][-ANALYSES_KEPT:]
        kept = {key: self.known[key] for key in earlier} | self.used
        with suppress(OSError):
            private_files.make_folder(self.file.parent, exist_ok=True)
            private_files.write_bytes_whole(self.file, json.dumps(kept).encode())


def _build_series(
    series: PointSeries,
    found: Sequence[tuple[SeriesChange, FreshComparison | None]],
    alpha: float,
) -> HistorySeries:
    changes = [change for change, _ in found]
    logs = _compute_levels([point.value for point in series.points], changes)
    searched = list(_compute_levels(series.values.tolist(), changes))
    base = series.points[0].beside if series.relative else None
    metric = series.conditions.metric
    return HistorySeries(
        metric=metric,
        engine=series.conditions.engine,
        alike=dict(series.conditions.alike),
        points=tuple(_build_point(point, metric, series.relative) for point in series.points),
        tested=len(series.points) >= compute_least_points(alpha),
        levels=tuple(_convert_log(log, metric) for log in logs),
        flagged_changes=tuple(
            _build_flagged_change(change, trial, _does_level_stand(at, searched))
            for at, (change, trial) in enumerate(found)
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
    low, high = point.low, point.high
    if low is not None and high is not None:
        low, high = sorted((_convert_log(low, metric), _convert_log(high, metric)))
    beside = point.beside if relative else None
    return replace(
        build_history_point(point, _convert_log(point.value, metric)),
        low=low,
        high=high,
        slowdown_percent=to_percent(point.value - beside.value) if beside else None,
        host=dict(point.host).get("id", ""),
    )


def _does_level_stand(at: int, levels: Sequence[float]) -> bool:
    """Whether the newest level is nearer to the one after the change `at` than to that before."""
    before, after = levels[at : at + 2]
    return abs(levels[-1] - after) < abs(levels[-1] - before)


def _build_flagged_change(
    flagged: SeriesChange, trial: FreshComparison | None, stands: bool
) -> FlaggedChange:
    from dyno.compare.history.confirm import build_confirm_command

    change = flagged.change
    command, why_none = build_confirm_command(flagged.before, flagged.after)
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
        trial=trial,
        unlike_hosts=flagged.unlike_hosts,
    )


def _convert_log(log: float, metric: Metric) -> float:
    """The metric's value from the log of its time, whose sign a rate turns round."""
    return math.exp(-log if metric.better == "higher" else log)
