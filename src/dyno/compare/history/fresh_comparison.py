"""Fresh comparisons: the command that plays one for a flagged change, and the run that already did.

Its verdict confirms or rejects the flagged change. The place of a small step is known to a few
points only, so the builds compared lie to either side of all places that it may have: two
neighbours may both be of one level. Fresh is a run without which a change between its two builds
would have been flagged just the same: so its verdict was not chosen for being bad. Of several the
newest counts.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from dataclasses import replace

from dyno import workloads
from dyno.compare.history.conditions import drop_host_facts, find_conditions, identify_build
from dyno.compare.history.points import Named
from dyno.compare.history.series import SeriesChange, flag_changes
from dyno.compare.run_folder import RunFolder
from dyno.host.controls import load_controls
from dyno.judge.analysis.analysis import Analysis
from dyno.judge.analysis.run_view import RunView
from dyno.record import Comparison, FreshComparison

#: Where both sides are one program, no comparison of builds can tell: something else changed.
SAME_PROGRAM = "the same program on both sides, so no build is accused: `dyno doctor`"
#: Where the builds differ and the words that name them do not.
SAME_WORDS = "another program under the same name: compare it with a copy of the old one"


def confirm_command(flagged: SeriesChange) -> tuple[str, str]:
    """The command to give to a shell, else empty; and where there is none, why not."""
    before, after = flagged.before, flagged.after
    if before.build == after.build:
        return "", SAME_PROGRAM
    if before.spec == after.spec:
        return "", SAME_WORDS
    played = after.played
    own = workloads.list_workloads().get(played.name.split()[0])
    words = ["dyno", "compare", before.spec, after.spec]
    words += ["-w", own.stem if own and own.name == _find_file(played.script) else played.script]
    for name, value in played.options:
        words += ["--set", f"{name}={value}"]
    known = load_controls()
    for name, value in played.controls:
        if name not in known or value != known[name].default:
            words += ["--control", f"{name}={value}"]
    return shlex.join(words), ""


def _find_file(script: str) -> str:
    return script.rpartition("/")[2]


def find_fresh_comparison(flagged: SeriesChange, alpha: float) -> FreshComparison | None:
    """The newest fresh comparison of the two levels, a build of the old one as its base.

    Of two builds that surely lie on either side, every verdict counts. Of two that may both lie on
    one side *slower* counts alone: that they are alike says nothing of the levels.
    """
    for folder in _find_runs_of_both(flagged):
        tried = _flag_without_run(flagged, folder, alpha)
        if tried is None:
            continue
        for sides, row in _find_comparisons(flagged, folder):
            if tried.separates(*sides, sure=row.verdict != "slower"):
                bounds = (row.low_percent, row.high_percent)
                low, high = (each if math.isfinite(each) else None for each in bounds)
                doubts = row.doubts if row.is_doubtful else ()
                return FreshComparison(folder.path.name, row.verdict, low, high, doubts)
    return None


def _find_runs_of_both(flagged: SeriesChange) -> list[RunFolder]:
    """The runs that played builds from before the place and from after it, the newest first."""
    points, change = flagged.series.points, flagged.change
    olds = {point.build for point in points[: change.last]}
    news = {point.build for point in points[change.first :]}
    played: dict[RunFolder, set[Named]] = {}
    for point in (*points, *flagged.series.aside):
        played.setdefault(point.source, set()).add(point.build)
    both = [f for f, own in played.items() if len(own) > 1 and own & olds and own & news]
    return sorted(both, key=lambda folder: folder.read_run().created_utc, reverse=True)


def _flag_without_run(
    flagged: SeriesChange, folder: RunFolder, alpha: float
) -> SeriesChange | None:
    """The flagged change that there would be without the run, where the places of both may be
    one.
    """
    series, change = flagged.series, flagged.change
    others = [point.source != folder for point in series.points]
    rest = replace(series, points=tuple(p for p in series.points if p.source != folder))
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
    run = folder.read_run()
    (workload,) = (w for w in run.workloads if w.name == conditions.metric.workload)
    wanted = drop_host_facts(conditions.alike)  # the host is that of all of the run
    builds = {
        each.name: identify_build(each)
        for each in run.candidates
        if each.engine == conditions.engine
        and drop_host_facts(find_conditions(run, workload, each)) == wanted
    }
    rows = Analysis(RunView(run, folder.read_trials())).judge_comparisons()
    for row in sorted(rows, key=lambda each: each.verdict != "slower"):
        ours = row.metric == conditions.metric and row.primary
        if ours and row.base in builds and row.candidate in builds:
            yield (builds[row.base], builds[row.candidate]), row
