"""A run of `dyno disk` from its words to its last block: plan, folder, blocks, interim analyses;
one that was stopped goes on with the block that was torn.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

import dyno
from dyno.builds import Say
from dyno.errors import UsageError
from dyno.host.checks import FLEETING, Machine, read_host_facts
from dyno.host.controls import load_controls
from dyno.instruments.disk.fio import Fio, run_job
from dyno.instruments.disk.matrix import Matrix, change_job, choose_jobs
from dyno.instruments.disk.play import (
    DiskProgress,
    Run,
    choose_slices,
    list_playable_jobs,
    play_block,
    trace_sides,
)
from dyno.instruments.disk.side import find_loop_refusal, make_side
from dyno.instruments.disk.verdict import ANALYSES, is_over
from dyno.record.disk import DISK_RECORD, DiskJob, DiskRun, DiskSide, RunCommits
from dyno.runs.run_folder import (
    RunFolder,
    make_run_folder,
    read_json,
    write_json,
)

#: How many blocks a single path has, and one against itself: two comparisons' worth.
ALONE, BLOCKS_AA = 5, 20
#: The engine that hosts may refuse.
URING = "io_uring"
#: What a side may change, beside what its jobs have.
FACTORS = ("block", "access", "engine", "depth", "users", "sync", "io_scheduler")


@dataclass(frozen=True)
class DiskPlan:
    """What is asked for; `factors` are a key and its levels, `writable` devices by their names."""

    paths: Sequence[str]
    matrix: Matrix
    only: Sequence[str] = ()
    size_bytes: int = 256 << 20
    play_s: float = 1.0
    blocks: int | None = None
    margin_percent: float = 5.0
    seed: int = 1
    factors: Sequence[tuple[str, Sequence[str]]] = ()
    writable: Sequence[str] = ()
    command: str = ""
    commits: tuple[RunCommits, ...] = ()
    is_aa: bool = False
    series: str = ""


def plan_disk_run(plan: DiskPlan, machine: Machine | None = None) -> DiskRun:
    """The record before its first block; `UsageError` or `HostError` for what cannot be played."""
    sides, left_out = make_sides(plan)
    jobs, replaced = replace_engine(choose_jobs(plan.matrix, plan.only), machine or Machine())
    left_out += replaced
    writable = find_writable(plan.writable, sides)
    jobs, notes = list_playable_jobs(jobs, sides, writable)
    if plan.commits and not any(job.sync for job in jobs):
        raise UsageError("--run needs a job that commits, and none is played")
    if not jobs:
        raise UsageError("no job is left to be played", cause=" ".join(notes))
    sides = tuple(
        replace(side, jobs=tuple(change_job(job, side.changes) for job in jobs))
        if side.changes
        else side
        for side in sides
    )
    for side in sides:
        for job in side.jobs or jobs:
            if job.block_bytes * job.users > side.size_bytes:
                raise UsageError(f"{side.name} is too small for '{job.name}'")
    analyses = _choose_analyses(plan, len(sides))
    return DiskRun(
        name=" vs ".join(side.name for side in sides),
        created_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        command=plan.command,
        seed=plan.seed,
        matrix=plan.matrix.name,
        question=plan.matrix.question,
        jobs=jobs,
        sides=sides,
        plays=(),
        analyses=analyses,
        margin_percent=plan.margin_percent,
        play_s=plan.play_s,
        fio="",
        host=read_host_facts(Path(sides[0].path)),
        notes=(*left_out, *notes),
        published=plan.matrix.published,
        commits=plan.commits,
        writable=writable,
        slices=choose_slices(plan.play_s, len(sides)),
        is_aa=plan.is_aa,
        dyno=dyno.__version__,
        series=plan.series,
    )


def _choose_analyses(plan: DiskPlan, sides: int) -> tuple[int, ...]:
    """The numbers of blocks at which the run is judged; only a comparison may end early."""
    if sides > 1 and plan.blocks == 1:
        raise UsageError("--blocks is 2 at least where paths are compared (got 1)")
    if plan.blocks:
        return (plan.blocks,)
    if plan.is_aa:
        return (BLOCKS_AA,)
    return ANALYSES if sides > 1 else (ALONE,)


def replace_engine(
    jobs: Sequence[DiskJob], machine: Machine
) -> tuple[tuple[DiskJob, ...], list[str]]:
    """The jobs, and a sentence: where the host refuses io_uring, as containers do, libaio plays
    direct jobs in its place, and buffered ones are left out.
    """
    refused = machine.uring_errno()
    if not refused or not any(job.engine == URING for job in jobs):
        return tuple(jobs), []
    made = [replace(job, engine="libaio") if job.engine == URING else job for job in jobs]
    kept = [job for job in made if job.engine != "libaio" or job.access == "direct"]
    why = os.strerror(refused).lower()
    return tuple(kept), [f"io_uring is refused here ({why}): libaio plays its jobs."]


def make_sides(plan: DiskPlan) -> tuple[tuple[DiskSide, ...], list[str]]:
    """The sides: each path, in each of the matrix's own sides, with each level of the factors; and
    a sentence on those that this host cannot have.
    """
    _check_named_twice(plan)
    for word in plan.writable:
        if word not in plan.paths:
            raise UsageError(f"--write-device {word} is none of the paths that are measured")
        if not Path(word).is_block_device():
            raise UsageError(f"--write-device {word} is no block device")
    sides, notes = [], []
    for word in plan.paths:
        own = make_side(word, plan.size_bytes, plan.writable)
        lead = f"{word}: " if len(plan.paths) > 1 else ""
        found, left_out = _multiply_side(plan.matrix, own, lead)
        sides += found
        notes += left_out
    if plan.is_aa:
        sides += [replace(sides[0], name=f"{sides[0].name} (again)")]
    for key, levels in plan.factors:
        if len(levels) < 2:
            hint = f"--factor {key}=A,B"
            raise UsageError(f"a factor has two levels at least, {key} has one", hint=hint)
        sides = [_change_side(side, key, level) for side in sides for level in levels]
    for side in sides:
        for job in choose_jobs(plan.matrix, plan.only):
            change_job(job, side.changes)
    names = [side.name for side in sides]
    if again := next((name for name in names if names.count(name) > 1), ""):
        raise UsageError(f"'{again}' would be played twice", hint="levels and sides differ by name")
    return tuple(sides), notes


def _check_named_twice(plan: DiskPlan) -> None:
    """`UsageError` for one path under two names, and for an A/A run of more than one."""
    found = [str(Path(word).resolve()) for word in plan.paths]
    if plan.is_aa:
        if len(found) > 1 or plan.factors or plan.matrix.sides:
            hint = "name one PATH, without --factor"
            raise UsageError("--aa plays one path against itself", hint=hint)
        return
    for number, path in enumerate(found):
        if path in found[:number]:
            words = " and ".join(dict.fromkeys((plan.paths[found.index(path)], plan.paths[number])))
            hint = f"--aa plays a path against itself: dyno disk {plan.paths[number]} --aa"
            raise UsageError(f"one path is named twice: {words}", hint=hint)


def _multiply_side(matrix: Matrix, own: DiskSide, lead: str) -> tuple[list[DiskSide], list[str]]:
    """A folder in each of the matrix's own sides; any path by itself where it has none."""
    if not matrix.sides:
        return [own], []
    if own.kind != "directory":
        raise UsageError(f"{matrix.name} wants a folder, and {own.name} is a {own.kind}")
    wants = [each for each in matrix.sides if each.loop]
    refusal = find_loop_refusal(own) if wants else ""
    notes = []
    if refusal:
        names = " and ".join(f"'{each.name}'" for each in wants)
        notes.append(f"{names} left out: {refusal}.")
    sides = [
        replace(
            own,
            name=f"{lead}{each.name}",
            kind="loop" if each.loop else own.kind,
            content=each.content,
        )
        for each in matrix.sides
        if not (each.loop and refusal)
    ]
    return sides, notes


def find_writable(words: Sequence[str], sides: Sequence[DiskSide]) -> tuple[str, ...]:
    """The devices, by the paths that their names lead to, that may be written to."""
    named = {str(Path(word).resolve()) for word in words}
    return tuple(sorted({side.path for side in sides if side.path in named}))


def _change_side(side: DiskSide, key: str, level: str) -> DiskSide:
    name = f"{side.name} {key}={level or 'none'}"
    if key == "io_scheduler":
        load_controls()[key].check(level)
        return replace(side, name=name, scheduler=level)
    if key not in FACTORS:
        hint = f"known: {', '.join(FACTORS)}; for mount options, name two folders"
        raise UsageError(f"unknown factor '{key}'", hint=hint)
    text = "" if level == "none" else level
    return replace(side, name=name, changes={**side.changes, key: text})


def play_disks(run: DiskRun, fio: Fio, folder: Path, say: Say, play: Run = run_job) -> DiskRun:
    """Plays the blocks that are missing until an interim analysis decides or the last is played;
    the record in `folder` has each whole block, however we end. `UsageError` where another Dyno
    plays it.
    """
    with RunFolder(folder).hold_alone():
        before_s = max((each.at_s + each.duration_s for each in run.plays), default=0.0)
        progress = DiskProgress(run, time.monotonic() - before_s, play)
        while not is_over(progress.run):
            play_block(progress, fio, progress.run.blocks, say)
            write_json(folder / DISK_RECORD, progress.run)
        if not progress.run.is_traced:
            say("where a request's time goes")
            trace_sides(progress, fio)
            write_json(folder / DISK_RECORD, progress.run)
    return progress.run


def reopen_disk_run(folder: Path, fio: Fio, writable: Sequence[str]) -> DiskRun:
    """A run from disk that is to go on; `writable` are devices whose names were typed again.

    `UsageError` where a device that it writes to was not named, and where a side, this host or fio
    is not what it was.
    """
    run = read_json(DiskRun, folder / DISK_RECORD)
    if missing := [path for path in run.writable if path not in find_writable(writable, run.sides)]:
        words = " ".join(f"--write-device {path}" for path in missing)
        cause = f"the run writes to {missing[0]}, whose name may mean another device by now"
        raise UsageError("the run cannot be resumed", cause=cause, hint=f"to go on: {words}")
    changes = [change for side in run.sides for change in _list_changes(side, run.writable)]
    if run.fio != fio.version:
        changes.append(f"fio was {run.fio} and is {fio.version}")
    now = read_host_facts(Path(run.sides[0].path))
    changes += [
        f"{name} was '{was}' and is '{now.get(name, '')}'"
        for name, was in run.host.items()
        if name not in FLEETING and was != now.get(name, "")
    ]
    if changes:
        hint = "start a new run; dyno report shows what this one has"
        cause = "; ".join(dict.fromkeys(changes))
        raise UsageError("the run cannot be resumed", cause=cause, hint=hint)
    return run


def _list_changes(side: DiskSide, writable: Sequence[str]) -> Iterator[str]:
    """What of a side is no longer as it was; a loop device of ours has another number each time."""
    now = make_side(side.path, side.size_bytes, writable)
    kind = "directory" if side.kind == "loop" else side.kind
    pairs = {
        "": (kind, now.kind),
        "'s size": (side.size_bytes, now.size_bytes),
        "'s file system": (side.file_system, now.file_system),
        "'s mount options": (", ".join(side.mount_options), ", ".join(now.mount_options)),
        "'s disk": (side.device.stack[-1:], now.device.stack[-1:]),
    }
    for what, (was, found) in pairs.items():
        if was != found:
            yield f"{side.path}{what} was {_format_fact(was)} and is {_format_fact(found)}"


def _format_fact(value: object) -> str:
    return value[0] if isinstance(value, tuple) and value else str(value or "not visible")


def make_disk_folder(runs: Path, run: DiskRun) -> Path:
    """A new folder for the run, with the record of no block yet."""
    path = make_run_folder(runs, run.created_utc, f"disk-{run.name}")
    write_json(path / DISK_RECORD, run)
    return path
