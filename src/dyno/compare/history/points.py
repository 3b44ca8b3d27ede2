"""Points of a history: what a run's restarts of one build say of one primary metric.

A point is a build in a run, not a restart: the restarts of a run share its hour, and would count
as many independent data where there is one. What must be alike for two points to be comparable
stands in their `SeriesConditions`; the build does not, since it is what a history is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dyno.compare.calibration.store import select_facts
from dyno.compare.run_folder import RunFolder
from dyno.errors import DynoError, HostError, UsageError
from dyno.host.controls import load_controls
from dyno.judge.analysis.analysis import Analysis
from dyno.judge.analysis.margins import DeclaredPrimary
from dyno.judge.analysis.run_view import RunView
from dyno.judge.stats.interval import Floats
from dyno.record import Candidate, Interleaving, LeftOutRun, Metric, Run, Trial, WorkloadPlan

#: Facts of a host, beside those that a calibration depends on, that two points must share.
HOST = ("file_system", "memory_mb")
#: Facts of a host that counts of instructions depend on: the C library chooses by them.
HOST_OF_COUNTS = ("cpu", "machine", "distribution")

Named = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SeriesConditions:
    """A metric of an engine, and all else that points of one series have alike, by name."""

    engine: str
    metric: Metric
    alike: Named


def identify_build(candidate: Candidate) -> Named:
    """A build's facts but the place where its program lies, which may move."""
    return tuple(sorted((k, v) for k, v in candidate.build.items() if k != "program"))


def find_conditions(run: Run, workload: WorkloadPlan, candidate: Candidate) -> Named:
    """Workload, settings, controls that are not left at their default, host and driver; whether
    turns were taken and how, since what counts of a phase differs.
    """
    known = load_controls()
    held = run.design.controls | candidate.controls
    held = {n: v for n, v in held.items() if n not in known or v != known[n].default}
    host = select_facts(run.host) | {name: run.host[name] for name in HOST if name in run.host}
    groups = {
        "option": workload.options | candidate.options,
        "setting": candidate.settings,
        "control": held,
        "host's": host,
    }
    found = {f"{group} {name}": v for group, named in groups.items() for name, v in named.items()}
    found |= {"script": workload.script_sha256[:8], "driver": run.driver_sha256[:8]}
    found |= {"length": "quick"} if run.design.quick else {}
    found |= _describe_turns(run.design.interleaving, workload) if run.design.interleaving else {}
    return tuple(sorted(found.items()))


def _describe_turns(turns: Interleaving, workload: WorkloadPlan) -> dict[str, str]:
    """What a run's pilot chose of the turns: rates and effects depend on all of it."""
    time_slice = turns.find_slice(workload.name)
    return {
        "order": "interleaved",
        "slice": f"{1e3 * time_slice.length_s:g} ms, {1e3 * time_slice.drain_s:g} ms of drain",
        "epoch": f"{turns.epoch_s:g} s",
        "engines without a turn": "suspended" if turns.is_freezing(workload.name) else "run on",
    }


#: A build under its conditions.
Key = tuple[str, Named, Named]


def make_key(run: Run, workload: WorkloadPlan, candidate: Candidate) -> Key:
    """A candidate's engine, build and conditions."""
    return candidate.engine, identify_build(candidate), find_conditions(run, workload, candidate)


@dataclass(frozen=True)
class Beside:
    """The base that a point was measured along with: what it is, and the mean of its logs."""

    key: Key
    value: float


@dataclass(frozen=True)
class Point:
    """A build in a run; `logs` are those of the time that its restarts took, one for each.

    `candidate` is the first one of the run with that build (an A/A comparison has two). `beside` is
    the run's base in the same blocks; None where the point is that itself, or it has no number.
    """

    source: RunFolder = field(repr=False)
    run: Run = field(repr=False)
    workload: WorkloadPlan = field(repr=False)
    candidate: Candidate = field(repr=False)
    logs: Floats
    beside: Beside | None = None

    @property
    def key(self) -> Key:
        """The build under its conditions."""
        return make_key(self.run, self.workload, self.candidate)

    @property
    def folder(self) -> str:
        """The name of the run's folder."""
        return self.source.path.name

    @property
    def build(self) -> tuple[tuple[str, str], ...]:
        """What tells one build from another."""
        return identify_build(self.candidate)

    @property
    def version(self) -> str:
        """The build's version, as its engine calls it."""
        return self.candidate.build.get("version", "")

    @property
    def value(self) -> float:
        """The mean of the logs: of restarts of one run, so one datum."""
        return float(self.logs.mean())


GatheredPoints = tuple[dict[SeriesConditions, list[Point]], list[LeftOutRun]]


def gather_points(folders: Iterable[RunFolder]) -> GatheredPoints:
    """The points of all runs by their conditions, and what had to be left out: first whole runs
    that cannot be read, damaged ones and those of a newer Dyno, and copies of a run.
    """
    points: dict[SeriesConditions, list[Point]] = {}
    whole: list[LeftOutRun] = []
    left_out: list[LeftOutRun] = []
    for folder in _drop_copies(folders, whole):
        try:
            analysis = Analysis(RunView(folder.read_run(), folder.read_trials()))
        except (UsageError, HostError) as error:
            whole.append(LeftOutRun(folder.path.name, _explain(error)))
            continue
        left_out += (LeftOutRun(folder.path.name, why) for why in _describe_losses(analysis))
        for conditions, point in _find_points(folder, analysis):
            points.setdefault(conditions, []).append(point)
    return points, whole + left_out


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


def _find_points(source: RunFolder, analysis: Analysis) -> Iterator[tuple[SeriesConditions, Point]]:
    for workload in analysis.run.workloads:
        if not analysis.view.blocks[workload.name].valid:
            continue
        groups = _group_by_build(analysis.run, workload)
        for pair in analysis.view.list_primaries(workload.name):
            found = [_build_point(source, analysis, workload, same, pair) for same in groups]
            there = [each for each in found if each]
            base = _find_base(analysis.run, workload, [point for _, point in there])
            for conditions, point in there:
                own = base if base and base.key != point.key else None
                yield conditions, replace(point, beside=own)


def _build_point(
    source: RunFolder,
    analysis: Analysis,
    workload: WorkloadPlan,
    same: Sequence[Candidate],
    pair: DeclaredPrimary,
) -> tuple[SeriesConditions, Point] | None:
    """The point of the candidates `same` in a primary; None where they are invalid or lack it."""
    places = {(workload.name, c.name, phase) for c in same for phase in ("", pair.phase)}
    if places & set(analysis.case.invalid):
        return None
    blocks = analysis.view.blocks[workload.name].valid
    found = _collect_logs(analysis.view, [block[c.name] for block in blocks for c in same], pair)
    if found is None:
        return None
    metric, logs = found
    conditions = SeriesConditions(
        same[0].engine, metric, find_conditions(analysis.run, workload, same[0])
    )
    return conditions, Point(source, analysis.run, workload, same[0], logs)


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
