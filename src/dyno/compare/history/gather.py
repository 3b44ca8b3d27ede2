"""The points of a run, read from its records, and what of it had to be left out."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import numpy as np
from msgspec.structs import replace

from dyno.compare.history.conditions import (
    describe_pilot,
    find_conditions,
    find_origin,
    identify_build,
    make_key,
    name_conditions,
)
from dyno.compare.history.hosts import list_host_facts
from dyno.compare.history.points import (
    Beside,
    ExactRepeats,
    PlayedWorkload,
    Point,
    ReadRun,
    RunSource,
    SeriesConditions,
    write_sizes,
)
from dyno.errors import HostError, UsageError
from dyno.judge.analysis.analysis import Analysis
from dyno.judge.analysis.effects import DeclaredPrimary
from dyno.judge.analysis.run_view import RunView
from dyno.judge.stats.interval import compute_t_interval
from dyno.judge.stats.log_ratio import Floats
from dyno.record import Candidate, Design, Metric, Run, Trial, WorkloadPlan
from dyno.record.run import LIMITS, LIMITS_INTERLEAVED
from dyno.runs.run_folder import COUNTS, MeasuredRun, RunFolder

#: One less the level of a point's interval.
POINT_ALPHA = 0.05


def read_run(folder: RunFolder, source: RunSource, path: str) -> ReadRun:
    """The points of a run, and what is lost of it; one that cannot be read says why: it is damaged,
    or a newer Dyno's.
    """
    found = ReadRun(path, source.stamp)
    try:
        own = folder.instrument
        record, *inner = own.measured
        played = [
            file.stat().st_size
            for name in inner
            for file in folder.path.glob(f"{name}/[0-9]*.json")
        ]
        sizes = write_sizes((folder.path / record).stat().st_size, played)
        found = replace(found, sizes=sizes, played_bytes=sum(played))
        if own.has_trials:
            run = folder.read_run()
            if run.share:
                hint = "`dyno gather` makes a run"
                raise UsageError("it is a share of an experiment", hint=hint)
            found = replace(found, identity=_identify(run.created_utc, run.seed, run.name))
            analysis = Analysis(RunView(run, folder.read_trials()))
            losses, points = _describe_losses(analysis), _read_comparison(folder, source, analysis)
            return replace(found, losses=tuple(losses), points=tuple(points))
        read_points = own.read_points
        measured = read_points(folder.path)
        return replace(
            found,
            identity=_identify(measured.created_utc, measured.seed, measured.name),
            losses=tuple(measured.losses),
            points=tuple(_convert_points(source, measured, own.command)),
        )
    except (UsageError, HostError) as error:
        why = " ".join(error.sentence.split()).replace(str(folder.path), source.place)
        return replace(found, unreadable=why)


def _identify(created_utc: str, seed: int, name: str) -> str:
    return json.dumps([created_utc, seed, name])


def _read_comparison(folder: RunFolder, source: RunSource, analysis: Analysis) -> Iterator[Point]:
    """Those of a comparison, and of what was counted before it."""
    # each share of a gathered run is a run of its own host
    for each in [Analysis(it) for it in analysis.view.shares] or [analysis]:
        yield from _find_points(source, each)
    for place in sorted(folder.path.glob(f"{COUNTS}/*")):
        with suppress(UsageError):  # it did not end, which the comparison's report says
            own = RunFolder(place).instrument
            read_points = own.read_points
            yield from _convert_points(source, read_points(place), own.command)


def _convert_points(source: RunSource, run: MeasuredRun, command: str) -> list[Point]:
    """The points of a run as its instrument names them."""
    points, bases = [], {}
    facts = tuple(sorted(list_host_facts(run.host).items()))
    for each in run.points:
        candidate, sign = each.candidate, -1.0 if each.metric.better == "higher" else 1.0
        logs = sign * np.log(each.values)
        ends = compute_t_interval(logs, POINT_ALPHA) if len(logs) > 1 else None
        alike = name_conditions(each, run.host, run.series)
        options = {**each.options, **candidate.options}
        own = Point(
            source=source,
            began_utc=run.created_utc,
            spec=candidate.spec,
            build=identify_build(candidate),
            conditions=SeriesConditions(candidate.engine, each.metric, alike),
            played=PlayedWorkload(
                each.metric.workload,
                each.script,
                tuple(options.items()),
                tuple(each.controls.items()),
                command,
                each.repeat,
            ),
            restarts=len(logs),
            value=float(logs.mean()),
            low=float(ends.low) if ends else None,
            high=float(ends.high) if ends else None,
            host=facts,
            origin=find_origin(candidate),
        )
        if each.margin_percent:
            exact = ExactRepeats(each.values, each.inputs, each.margin_percent)
            mean = math.log(sum(each.values) / len(each.values))
            own = replace(own, value=mean, low=None, high=None, exact=exact)
        if candidate.name == run.base:
            bases[each.metric] = Beside(own.key, own.value)
        points.append(own)
    besides = ((own, bases.get(own.conditions.metric)) for own in points)
    return [
        replace(own, beside=base) if base and base.key != own.key else own for own, base in besides
    ]


def _describe_losses(analysis: Analysis) -> Iterator[str]:
    for name, blocks in analysis.view.blocks.items():
        if not blocks.valid:
            yield f"no valid block of {name}"
    for (workload, candidate, phase), why in analysis.case.invalid.items():
        yield f"{workload}{f' {phase}' if phase else ''} of {candidate} is invalid: {why}"


def _find_points(source: RunSource, analysis: Analysis) -> Iterator[Point]:
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
    source: RunSource,
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
    ends = compute_t_interval(logs, POINT_ALPHA) if len(logs) > 1 else None
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
            words=_find_words(run.design),
        ),
        restarts=len(logs),
        value=float(logs.mean()),
        low=float(ends.low) if ends else None,
        high=float(ends.high) if ends else None,
        host=(*sorted(list_host_facts(run.host).items()), *describe_pilot(run, workload)),
        origin=find_origin(first),
    )


def _find_words(design: Design) -> tuple[str, ...]:
    """The options by which a run was judged as no default asks: quick nights are the same series,
    by their workload's options, and more blocks decide.
    """
    words = ["--by", design.by] if design.by != "time" else []
    for name, limit in design.limits.items():
        if limit not in (LIMITS.get(name), LIMITS_INTERLEAVED.get(name)):
            words += ["--limit", f"{name}={limit:g}"]
    return tuple(words)


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
