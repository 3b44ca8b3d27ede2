"""Fresh comparisons: the command that plays one for a nomination, and the run that already did.

Its verdict convicts or acquits the nomination. Fresh is a run without which the place would have
been nominated just the same: so its verdict was not chosen for being bad. Of several the newest
counts, whatever it says.
"""

from __future__ import annotations

import math
import shlex
from dataclasses import replace

from dyno import workloads
from dyno.analysis.analysis import Analysis
from dyno.analysis.run_view import RunView
from dyno.controls import controls
from dyno.history.points import Point, build_of, conditions_of
from dyno.history.series import Nomination, nominate
from dyno.record import Comparison, FreshComparison

#: Where both sides are one program, no comparison of builds can tell: something else changed.
SAME_PROGRAM = "the same program on both sides, so no build is accused: `dyno doctor`"
#: Where the builds differ and the words that name them do not.
SAME_WORDS = "another program under the same name: compare it with a copy of the old one"


def conviction_command(nomination: Nomination) -> tuple[str, str]:
    """The command to give to a shell, else empty; and where there is none, why not."""
    before, after = nomination.before, nomination.after
    if before.build == after.build:
        return "", SAME_PROGRAM
    if before.candidate.spec == after.candidate.spec:
        return "", SAME_WORDS
    played, design = after.workload, after.run.design
    own = workloads.all_workloads().get(played.name.split()[0])
    words = ["dyno", "compare", before.candidate.spec, after.candidate.spec]
    words += ["-w", own.stem if own and own.name == _file(played.script) else played.script]
    for name, value in (played.options | after.candidate.options).items():
        words += ["--set", f"{name}={value}"]
    room = controls()
    for name, value in design.controls.items():
        if name not in room or value != room[name].default:
            words += ["--control", f"{name}={value}"]
    return shlex.join(words), ""


def _file(script: str) -> str:
    return script.rpartition("/")[2]


def find_fresh_comparison(nomination: Nomination, alpha: float) -> FreshComparison | None:
    """The newest fresh comparison of the build before, as the base, with the one after."""
    for point in _runs_of_both(nomination):
        found = _comparison(nomination, point)
        if found and _is_fresh(nomination, point, alpha):
            bounds = (found.low_percent, found.high_percent)
            low, high = (each if math.isfinite(each) else None for each in bounds)
            doubts = found.doubts if found.is_doubtful else ()
            return FreshComparison(point.folder, found.verdict, low, high, doubts)
    return None


def _runs_of_both(nomination: Nomination) -> list[Point]:
    """The new build's points in runs that played the old one too, the newest first."""
    before, after = nomination.before.build, nomination.after.build
    points = (*nomination.series.points, *nomination.series.aside)
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
        and conditions_of(point.run, point.workload, each) == conditions.alike
    }
    sides = (nomination.before.build, nomination.after.build)
    rows = Analysis(RunView(point.run, point.source.trials())).comparisons()
    ours = (row for row in rows if row.metric == conditions.metric and row.primary)
    return next((r for r in ours if (builds.get(r.base), builds.get(r.candidate)) == sides), None)


def _is_fresh(nomination: Nomination, point: Point, alpha: float) -> bool:
    series = nomination.series
    rest = replace(series, points=tuple(p for p in series.points if p.source != point.source))
    sides = (nomination.before.build, nomination.after.build)
    return any((n.before.build, n.after.build) == sides for n in nominate(rest, alpha))
