"""The points of many runs: read from their records, copies of a run dropped, losses named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from dyno.compare.history.conditions import (
    assign_hosts,
    find_conditions,
    identify_build,
    list_host_facts,
    make_key,
)
from dyno.compare.history.points import Beside, PlayedWorkload, Point, SeriesConditions
from dyno.compare.run_folder import RunFolder
from dyno.errors import DynoError, HostError, UsageError
from dyno.judge.analysis.analysis import Analysis
from dyno.judge.analysis.margins import DeclaredPrimary
from dyno.judge.analysis.run_view import RunView
from dyno.judge.stats.interval import Floats
from dyno.record import Candidate, LeftOutRun, Metric, Run, Trial, WorkloadPlan

GatheredPoints = tuple[dict[SeriesConditions, list[Point]], list[LeftOutRun]]


def gather_points(folders: Iterable[RunFolder]) -> GatheredPoints:
    """The points of all runs by their conditions, and what had to be left out: first whole runs
    that cannot be read, damaged ones and those of a newer Dyno, and copies of a run.
    """
    points: list[Point] = []
    whole: list[LeftOutRun] = []
    left_out: list[LeftOutRun] = []
    for folder in _drop_copies(folders, whole):
        try:
            analysis = Analysis(RunView(folder.read_run(), folder.read_trials()))
        except (UsageError, HostError) as error:
            whole.append(LeftOutRun(folder.path.name, _explain(error)))
            continue
        left_out += (LeftOutRun(folder.path.name, why) for why in _describe_losses(analysis))
        points += _find_points(folder, analysis)
    grouped: dict[SeriesConditions, list[Point]] = {}
    for point in assign_hosts(points):
        grouped.setdefault(point.conditions, []).append(point)
    return grouped, whole + left_out


def _drop_copies(folders: Iterable[RunFolder], left_out: list[LeftOutRun]) -> list[RunFolder]:
    """One folder of each run: a copy (a backup, a folder named twice) is no further restart. Of
    copies the one with most trials counts, as one may have been resumed. What cannot be read, and
    each copy, goes to `left_out`.
    """
    counted: dict[tuple[str, int, str], RunFolder] = {}
    for folder in folders:
        try:
            run = folder.read_run()
        except (UsageError, HostError) as error:
            left_out.append(LeftOutRun(folder.path.name, _explain(error)))
            continue
        key = (run.created_utc, run.seed, run.name)
        rival = counted.setdefault(key, folder)
        if rival is not folder:
            counted[key], copy = sorted((rival, folder), key=_measure_played_bytes, reverse=True)
            left_out.append(LeftOutRun(copy.path.name, f"a copy of {counted[key].path.name}"))
    return list(counted.values())


def _measure_played_bytes(folder: RunFolder) -> int:
    """The size of what was played; a damaged folder's own error comes when it is read."""
    return sum(file.stat().st_size for file in folder.path.glob("trials/*.json"))


def _explain(error: DynoError) -> str:
    """The error in one clause."""
    return " ".join(error.sentence.split())


def _describe_losses(analysis: Analysis) -> Iterator[str]:
    for name, blocks in analysis.view.blocks.items():
        if not blocks.valid:
            yield f"no valid block of {name}"
    for (workload, candidate, phase), why in analysis.case.invalid.items():
        yield f"{workload}{f' {phase}' if phase else ''} of {candidate} is invalid: {why}"


def _find_points(source: RunFolder, analysis: Analysis) -> Iterator[Point]:
    for workload in analysis.run.workloads:
        if not analysis.view.blocks[workload.name].valid:
            continue
        groups = _group_by_build(analysis.run, workload)
        for pair in analysis.view.list_primaries(workload.name):
            found = [_build_point(source, analysis, workload, same, pair) for same in groups]
            there = [each for each in found if each]
            base = _find_base(analysis.run, workload, there)
            for point in there:
                own = base if base and base.key != point.key else None
                yield replace(point, beside=own)


def _build_point(
    source: RunFolder,
    analysis: Analysis,
    workload: WorkloadPlan,
    same: Sequence[Candidate],
    pair: DeclaredPrimary,
) -> Point | None:
    """The point of the candidates `same` in a primary; None where they are invalid or lack it."""
    places = {(workload.name, c.name, phase) for c in same for phase in ("", pair.phase)}
    if places & set(analysis.case.invalid):
        return None
    blocks = analysis.view.blocks[workload.name].valid
    found = _collect_logs(analysis.view, [block[c.name] for block in blocks for c in same], pair)
    if found is None:
        return None
    metric, logs = found
    run, first = analysis.run, same[0]
    return Point(
        source=source,
        began_utc=run.created_utc,
        spec=first.spec,
        build=identify_build(first),
        conditions=SeriesConditions(first.engine, metric, find_conditions(run, workload, first)),
        played=PlayedWorkload(
            workload.name,
            workload.script,
            tuple((workload.options | first.options).items()),
            tuple(run.design.controls.items()),
        ),
        logs=logs,
        host=tuple(sorted(list_host_facts(run.host).items())),
    )


def _find_base(run: Run, workload: WorkloadPlan, points: Sequence[Point]) -> Beside | None:
    """The base of a run's points; of crossed factors none, where a cell is no build's rival."""
    if run.factors:
        return None
    keys = [make_key(run, workload, c) for c in run.candidates if c.name == run.design.base]
    return next((Beside(p.key, p.value) for p in points if p.key in keys), None)


def _group_by_build(run: Run, workload: WorkloadPlan) -> list[list[Candidate]]:
    """The candidates that are the same build under the same conditions: usually each by itself."""
    found: dict[object, list[Candidate]] = {}
    for each in run.candidates:
        found.setdefault(make_key(run, workload, each), []).append(each)
    return list(found.values())


def _collect_logs(
    view: RunView, trials: Sequence[Trial], pair: DeclaredPrimary
) -> tuple[Metric, Floats] | None:
    """The primary's metric and the logs of its time in each trial; None where one lacks it, or
    where it is not above 0 in one.
    """
    found = [_find_primary_value(view.compute_numbers(trial), pair) for trial in trials]
    metrics = {metric for metric, value in found if metric and value > 0.0}
    if len(metrics) != 1 or not all(metric and value > 0.0 for metric, value in found):
        return None
    (metric,) = metrics
    logs = np.log([value for _, value in found])
    return metric, np.asarray(-logs if metric.better == "higher" else logs)


def _find_primary_value(
    numbers: Mapping[Metric, float], pair: DeclaredPrimary
) -> tuple[Metric | None, float]:
    return next(((m, value) for m, value in numbers.items() if pair.matches(m)), (None, 0.0))
