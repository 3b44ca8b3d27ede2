"""The runs below a folder, of each kind, and what a list tells of each (`record/run_summary.py`).

Links are not followed: what is listed lies where somebody said that runs lie.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from dyno import numbers, scratch
from dyno.errors import describe_damage
from dyno.judge.capacity import judge_capacity
from dyno.judge.capacity import judge_overall as judge_capacities
from dyno.judge.counts import compare_counts
from dyno.judge.counts import judge_overall as judge_counts
from dyno.record.capacity import CapacityPlan, CapacityResult
from dyno.record.count import Count
from dyno.record.disk import DiskRun
from dyno.record.run import Run
from dyno.record.run_summary import RunKind, RunSummary
from dyno.record.server_profile import ServerProfile
from dyno.runs.run_folder import (
    CAPACITY_RECORD,
    COUNT_RECORD,
    COUNTED,
    DISK_RECORD,
    SERVER_PROFILES,
    RunFolder,
    read_capacity_blocks,
    read_json,
)

#: The record that each kind of run has in its folder.
RECORDS: dict[str, RunKind] = {
    "run.json": "comparison",
    COUNT_RECORD: "count",
    CAPACITY_RECORD: "capacity",
    DISK_RECORD: "disk",
}
#: What of a run changes where its summary does, below its place.
CHANGING: dict[RunKind, tuple[str, ...]] = {
    "comparison": ("/run.json", "/verdict.json", "/trials"),
    "count": (f"/{COUNT_RECORD}",),
    "capacity": (f"/{CAPACITY_RECORD}", "/blocks"),
    "disk": (f"/{DISK_RECORD}",),
    "profile": ("",),
}
#: How deep below a folder a run may lie.
DEPTH_MAX = 4
#: What is said of a run whose trials nothing has judged yet.
NOT_JUDGED = "not judged since its last trial; its report does that"


@dataclass(frozen=True)
class RunPlace:
    """Where a run lies: its folder, of a profile its file."""

    kind: RunKind
    path: Path

    @property
    def name(self) -> str:
        """That of the folder, of a file without its ending."""
        return self.path.stem if self.kind == "profile" else self.path.name

    def find_changed_ns(self) -> int:
        """When something in it was last written, as far as a summary tells of it."""
        return max(_find_changed_ns(f"{self.path}{name}") for name in CHANGING[self.kind])


def _find_changed_ns(path: str) -> int:
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return 0


def list_run_places(home: Path) -> list[RunPlace]:
    """The runs in or below `home`, by name; none of those that lie behind links."""
    return sorted(_walk_places(home, 0), key=lambda place: place.name)


def has_run(home: Path) -> bool:
    """Is there one, of any kind?"""
    return next(_walk_places(home, 0), None) is not None


def _walk_places(folder: Path, depth: int) -> Iterator[RunPlace]:
    try:
        entries = sorted(os.scandir(folder), key=lambda each: each.name)
    except OSError:
        return
    files = {each.name for each in entries if each.is_file(follow_symlinks=False)}
    if kind := next((kind for name, kind in RECORDS.items() if name in files), None):
        yield RunPlace(kind, folder)
        return
    if scratch.OURS.fullmatch(folder.name):  # staged, and not whole yet
        return
    if COUNTED in {each.name for each in entries}:
        yield from _find_count_to_come(folder)
        return
    if folder.name == SERVER_PROFILES:
        yield from (RunPlace("profile", folder / n) for n in files if n.endswith(".json"))
        return
    for each in entries:
        if depth < DEPTH_MAX and each.is_dir(follow_symlinks=False) and each.name[0] != ".":
            yield from _walk_places(folder / each.name, depth + 1)


def _find_count_to_come(folder: Path) -> Iterator[RunPlace]:
    """A count that is played just now; one that was killed has nothing to tell."""
    with suppress(OSError):
        if RunFolder(folder).is_played():
            yield RunPlace("count", folder)


def summarize_run(place: RunPlace) -> RunSummary:
    """What a list tells of a run; one that cannot be read says why, and nothing is raised."""
    plain = RunSummary(place.name, str(place.path), place.kind)
    try:
        return _SUMMARIZERS[place.kind](plain, place.path)
    except Exception as error:  # whatever one record holds, the others are listed
        return replace(plain, damage=describe_damage(error))


def _summarize_comparison(plain: RunSummary, path: Path) -> RunSummary:
    folder = RunFolder(path)
    verdict = folder.read_verdict() if is_judged(path) else None
    made = _take_run(plain, folder.read_run())
    if verdict is None:
        return replace(made, sentence=NOT_JUDGED, is_playing=folder.is_played())
    return replace(
        made,
        overall=verdict.overall,
        sentence=verdict.sentence,
        complete=verdict.complete,
        is_doubtful=bool(verdict.doubts),
        is_playing=not verdict.complete and folder.is_played(),
    )


def is_judged(path: Path) -> bool:
    """Is the verdict in a run's folder newer than its trials?"""
    judged = _find_changed_ns(f"{path}/verdict.json")
    return judged > 0 and judged >= _find_changed_ns(f"{path}/trials")


def _take_run(plain: RunSummary, run: Run) -> RunSummary:
    made = replace(
        plain,
        created_utc=run.created_utc,
        question=run.question,
        candidates=tuple(side.name for side in run.candidates),
        workloads=tuple(each.name for each in run.workloads),
        engines=tuple(dict.fromkeys(side.engine for side in run.candidates)),
    )
    return _with_host(made, run.host)


def _with_host(made: RunSummary, host: Mapping[str, str]) -> RunSummary:
    return replace(made, host=host.get("id", ""), group=host.get("group", ""))


def _summarize_count(plain: RunSummary, path: Path) -> RunSummary:
    if not (path / COUNT_RECORD).exists() and RunFolder(path).is_played():
        return replace(plain, sentence="its record is written at its end", is_playing=True)
    count = read_json(Count, path / COUNT_RECORD)
    rows = compare_counts(count)
    told = "; ".join(
        f"{row.candidate} takes {row.change_percent:+.2f} % instructions: {row.word}"
        for row in rows
    )
    made = replace(
        plain,
        created_utc=count.created_utc,
        candidates=tuple(side.name for side in count.candidates),
        workloads=(count.workload,),
        engines=tuple(dict.fromkeys(side.engine for side in count.candidates)),
        overall=judge_counts(rows) if rows else "",
        sentence=told,
        complete=True,
    )
    return _with_host(made, count.host)


def _summarize_capacity(plain: RunSummary, path: Path) -> RunSummary:
    plan = read_json(CapacityPlan, path / CAPACITY_RECORD)
    blocks = read_capacity_blocks(path)
    made = replace(_take_run(plain, plan.run), question=f"Which rate holds {plan.limit_words}?")
    if not blocks:
        return replace(made, sentence=NOT_JUDGED, is_playing=RunFolder(path).is_played())
    result = judge_capacity(plan, blocks)
    word = judge_capacities(result.comparisons) if result.comparisons else ""
    return replace(
        made,
        overall="invalid" if result.client else word,
        sentence=result.client or _describe_rates(result),
        complete=result.complete,
        is_doubtful=bool(result.doubts),
        is_playing=not result.complete and RunFolder(path).is_played(),
    )


def _describe_rates(result: CapacityResult) -> str:
    rates = (
        f"{side.candidate} holds {numbers.format_quantity(side.rate_per_s, f'{result.unit}/s')}"
        for side in result.candidates
        if side.rate_per_s is not None
    )
    return "; ".join(rates) or f"no rate holds {result.limit_words}"


def _summarize_disks(plain: RunSummary, path: Path) -> RunSummary:
    run = read_json(DiskRun, path / DISK_RECORD)
    made = replace(
        plain,
        created_utc=run.created_utc,
        question=run.question,
        candidates=tuple(side.name for side in run.sides),
        workloads=(run.matrix,),
        complete=run.blocks >= run.analyses[-1],
    )
    made = replace(made, is_playing=not made.complete and RunFolder(path).is_played())
    return _with_host(made, run.host)


def _summarize_profile(plain: RunSummary, path: Path) -> RunSummary:
    profile = read_json(ServerProfile, path)
    return replace(
        plain,
        created_utc=profile.began_utc,
        question=f"Where does the time of {profile.name} go?",
        candidates=(profile.name,),
        engines=(profile.engine,) if profile.engine else (),
        complete=True,
    )


_SUMMARIZERS: dict[RunKind, Callable[[RunSummary, Path], RunSummary]] = {
    "comparison": _summarize_comparison,
    "count": _summarize_count,
    "capacity": _summarize_capacity,
    "disk": _summarize_disks,
    "profile": _summarize_profile,
}
