"""The fresh comparison of a flagged change: the run that played both of its levels.

Its verdict confirms or rejects the flagged change. The place of a small step is known to a few
points only, so the builds compared lie to either side of all places that it may have: two
neighbours may both be of one level. Fresh is a run without which a change between its two builds
would have been flagged just the same: so its verdict was not chosen for being bad. Of several the
newest counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from dyno.compare.history.conditions import find_conditions, identify_build, name_conditions
from dyno.compare.history.hosts import drop_host_facts
from dyno.compare.history.points import Named, RunSource
from dyno.compare.history.series import SeriesChange, flag_changes
from dyno.judge.analysis.analysis import Analysis
from dyno.judge.analysis.run_view import RunView
from dyno.record import Comparison, FreshComparison
from dyno.runs.run_folder import RunFolder

#: Opens the run at a place.
OpenRun = Callable[[str], AbstractContextManager[RunFolder]]


def find_fresh_comparison(
    flagged: SeriesChange, alpha: float, open_run: OpenRun
) -> FreshComparison | None:
    """The newest fresh comparison of the two levels, a build of the old one as its base.

    Of two builds that surely lie on either side, every verdict counts. Of two that may both lie on
    one side *slower* counts alone: that they are alike says nothing of the levels.
    """
    for source in _find_runs_of_both(flagged):
        tried = _flag_without_run(flagged, source, alpha)
        if tried is None:
            continue
        with open_run(source.place) as folder:
            rows = list(_find_comparisons(flagged, folder))
        for sides, row in rows:
            if tried.separates(*sides, sure=row.verdict != "slower"):
                bounds = (row.low_percent, row.high_percent)
                low, high = (each if math.isfinite(each) else None for each in bounds)
                doubts = row.doubts if row.is_doubtful else ()
                return FreshComparison(source.name, row.verdict, low, high, doubts, source.place)
    return None


def _find_runs_of_both(flagged: SeriesChange) -> list[RunSource]:
    """The runs that played builds from before the place and from after it, the newest first."""
    points, change = flagged.series.points, flagged.change
    olds = {point.build for point in points[: change.last]}
    news = {point.build for point in points[change.first :]}
    played: dict[tuple[str, RunSource], set[Named]] = {}
    for point in (*points, *flagged.series.aside):
        played.setdefault((point.began_utc, point.source), set()).add(point.build)
    both = [it for it, own in played.items() if len(own) > 1 and own & olds and own & news]
    return [source for _, source in sorted(both, key=lambda it: it[0], reverse=True)]


def _flag_without_run(
    flagged: SeriesChange, source: RunSource, alpha: float
) -> SeriesChange | None:
    """The flagged change that there would be without the run, where the places of both may be
    one.
    """
    series, change = flagged.series, flagged.change
    others = [point.source != source for point in series.points]
    rest = replace(series, points=tuple(p for p in series.points if p.source != source))
    first, last = (sum(others[:at]) for at in (change.first, change.last))
    near = (
        n for n in flag_changes(rest, alpha) if n.change.first <= last and first <= n.change.last
    )
    return next(near, None)


def _find_comparisons(
    flagged: SeriesChange, folder: RunFolder
) -> Iterator[tuple[tuple[Named, Named], Comparison]]:
    """What the run says of the metric of the series, by builds of base and candidate; what is
    *slower* comes first.
    """
    conditions = flagged.series.conditions
    own = folder.instrument
    rows: Sequence[Comparison]
    if own.has_trials:
        run = folder.read_run()
        (workload,) = (w for w in run.workloads if w.name == conditions.metric.workload)
        sides = [(each, find_conditions(run, workload, each)) for each in run.candidates]
        rows = Analysis(RunView(run, folder.read_trials())).judge_comparisons()
    else:
        measured = own.read_points(folder.path)
        sides = [
            (it.candidate, name_conditions(it, measured.host, measured.series))
            for it in measured.points
            if it.metric == conditions.metric
        ]
        rows = measured.comparisons
    wanted = drop_host_facts(conditions.alike)  # the host is that of all of the run
    builds = {
        each.name: identify_build(each)
        for each, alike in sides
        if each.engine == conditions.engine and drop_host_facts(alike) == wanted
    }
    for row in sorted(rows, key=lambda each: each.verdict != "slower"):
        ours = row.metric == conditions.metric and row.primary
        if ours and row.base in builds and row.candidate in builds:
            yield (builds[row.base], builds[row.candidate]), row
