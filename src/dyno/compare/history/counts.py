"""Series of counts of instructions: each point is judged against the first of its level, by the
repetitions of both, as `dyno count` judges it (`judge.analysis.counts`), and a step is a verdict.

Where the newest point lies the margin or more off and its repetitions vary too far to tell, that is
flagged as *inconclusive*. A later point decides such an earlier one.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from pathlib import Path

from msgspec.structs import replace

from dyno import workloads
from dyno.compare.history.conditions import HOST_OF_COUNTS, identify_build
from dyno.compare.history.series import parse_version
from dyno.errors import HostError, UsageError
from dyno.judge.analysis.counts import ALPHA, CountChange, judge_change
from dyno.record import (
    Candidate,
    FlaggedChange,
    HistoryPoint,
    HistorySeries,
    LeftOutRun,
    Metric,
)
from dyno.record.count import CandidateCount, Count
from dyno.runs.run_folder import COUNTS, read_json

#: A series of fewer points has no step.
POINTS_LEAST = 2


@dataclass(frozen=True)
class CountPoint:
    """A candidate of a count; `run` is the name of the folder it lies in."""

    run: str
    count: Count
    candidate: Candidate
    counted: CandidateCount

    @property
    def build(self) -> dict[str, str]:
        """What tells one build from another."""
        return dict(identify_build(self.candidate))


#: What the points of a series have alike: engine, metric, and all else by name.
Conditions = tuple[str, Metric, tuple[tuple[str, str], ...]]


def build_count_series(files: Iterable[Path]) -> tuple[list[HistorySeries], list[LeftOutRun]]:
    """The series of all counts in these files (`count.json`), and which could not be read."""
    groups: dict[Conditions, list[CountPoint]] = {}
    left_out = []
    known: set[tuple[str, int, str]] = set()
    for file in files:
        try:
            count = read_json(Count, file)
        except (UsageError, HostError) as error:
            left_out.append(LeftOutRun(_name_run(file), " ".join(error.sentence.split())))
            continue
        key = (count.created_utc, count.seed, count.name)
        if key in known:
            left_out.append(LeftOutRun(_name_run(file), "a copy of another count"))
            continue
        known.add(key)
        for point in _list_points(_name_run(file), count):
            groups.setdefault(_find_conditions(point), []).append(point)
    return [_build_series(conditions, own) for conditions, own in groups.items()], left_out


def _name_run(file: Path) -> str:
    """The folder of a count; of one that was made with a comparison, that of its run."""
    folder = file.parent
    return folder.parents[1].name if folder.parent.name == COUNTS else folder.name


def _list_points(run: str, count: Count) -> Iterator[CountPoint]:
    for candidate, counted in zip(count.candidates, count.counts, strict=True):
        yield CountPoint(run, count, candidate, counted)


def _find_conditions(point: CountPoint) -> Conditions:
    count, candidate = point.count, point.candidate
    groups = {
        "option": count.options | candidate.options,
        "setting": candidate.settings,
        "control": count.controls | candidate.controls,
        "host's": {name: count.host[name] for name in HOST_OF_COUNTS if name in count.host},
    }
    alike = {f"{group} {name}": v for group, named in groups.items() for name, v in named.items()}
    alike |= {
        "counted": f"{count.short_operations} to {count.long_operations}",
        "seeds": f"{count.seed}, {point.counted.inputs}",
        "valgrind": count.valgrind,
    }
    metric = replace(count.metric, unit=count.unit)
    return candidate.engine, metric, tuple(sorted(alike.items()))


def _build_series(conditions: Conditions, points: Sequence[CountPoint]) -> HistorySeries:
    engine, metric, alike = conditions
    ordered = _sort_points(points)
    steps = find_steps([each.counted for each in ordered], ordered[-1].count.margin_percent)
    ends = [0, *steps, len(ordered)]
    logs = [
        sum(log(each.counted.instructions) for each in ordered[start:end]) / (end - start)
        for start, end in pairwise(ends)
    ]
    return HistorySeries(
        metric=metric,
        engine=engine,
        alike=dict(alike),
        points=tuple(_build_point(each) for each in ordered),
        tested=len(ordered) >= POINTS_LEAST,
        levels=tuple(map(exp, logs)),
        flagged_changes=tuple(
            _build_change(ordered, start, logs[at : at + 2], logs[-1], change)
            for at, (start, change) in enumerate(steps.items())
        ),
        is_exact=True,
    )


def _sort_points(points: Sequence[CountPoint]) -> list[CountPoint]:
    """By version, then by when the build was first counted, then by time."""
    in_time = sorted(points, key=lambda each: (each.count.created_utc, each.run))
    first: dict[tuple[tuple[str, str], ...], int] = {}
    for at, each in enumerate(in_time):
        first.setdefault(identify_build(each.candidate), at)
    return sorted(
        in_time,
        key=lambda each: (
            parse_version(each.build.get("version", "")),
            first[identify_build(each.candidate)],
        ),
    )


def find_steps(counted: Sequence[CandidateCount], margin: float) -> dict[int, CountChange]:
    """Where a count is heavier or lighter than the first of its level, or where the newest may be:
    the place of each such step, and its change. The gate is asked every night, so the n-th point
    after the first is judged at α ÷ n; where counts agree exactly that is no matter.
    """
    steps, level = {}, counted[0]
    for at, each in enumerate(counted):
        change = judge_change(level, each, margin, ALPHA / max(at, 1))
        may_be = change.word == "inconclusive" and abs(change.percent) >= margin
        if change.word in ("slower", "faster") or (may_be and at == len(counted) - 1):
            steps[at], level = change, each
    return steps


def _build_point(point: CountPoint) -> HistoryPoint:
    return HistoryPoint(
        run=point.run,
        began_utc=point.count.created_utc,
        candidate=point.candidate.spec,
        version=point.build.get("version", ""),
        build=point.build,
        restarts=len(point.counted.repeats),
        value=point.counted.instructions,
        low=None,
        high=None,
    )


def _build_change(
    points: Sequence[CountPoint],
    at: int,
    levels: Sequence[float],
    newest: float,
    change: CountChange,
) -> FlaggedChange:
    before, after = levels
    return FlaggedChange(
        at=at,
        first=at,
        last=at,
        slowdown_percent=change.percent,
        low_percent=change.low,
        high_percent=change.high,
        p_value=0.0,
        stands=abs(newest - after) < abs(newest - before),
        confirm=_build_command(points[at - 1], points[at]),
        is_exact=True,
        is_decided=change.word != "inconclusive",
    )


def _build_command(before: CountPoint, after: CountPoint) -> str:
    """The count of both sides, which names the functions that changed."""
    count = after.count
    own = workloads.list_workloads().get(count.workload)
    words = ["dyno", "count", before.candidate.spec, after.candidate.spec]
    words += ["-w", own.stem if own else count.workload, "--phase", count.phase]
    words += ["--seed", str(count.seed)]
    for name, value in (count.options | after.candidate.options).items():
        words += ["--set", f"{name}={value}"]
    return shlex.join(words)
