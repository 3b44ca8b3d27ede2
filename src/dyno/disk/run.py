"""A run of `dyno disk` from its words to its last block: plan, folder, blocks, interim analyses."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import dyno
from dyno import private_files
from dyno.builds import Say
from dyno.compare.run_folder import DISK_RECORD, write_json
from dyno.disk.fio import Fio, run_job
from dyno.disk.matrix import Matrix, change_job, choose_jobs
from dyno.disk.play import DiskProgress, Run, list_playable_jobs, play_block, trace_sides
from dyno.disk.side import find_loop_refusal, make_side
from dyno.disk.verdict import is_decided
from dyno.errors import UsageError
from dyno.host.checks import Machine, read_host_facts
from dyno.host.controls import load_controls
from dyno.record.disk import DiskJob, DiskRun, DiskSide, RunCommits

#: Blocks at which a comparison is judged; and how many of a single path.
ANALYSES, ALONE = (6, 10), 5
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
    play: Run = field(default=run_job)


def plan_disk_run(plan: DiskPlan, machine: Machine | None = None) -> DiskRun:
    """The record before its first block; `UsageError` or `HostError` for what cannot be played."""
    sides, left_out = make_sides(plan)
    jobs, replaced = replace_engine(choose_jobs(plan.matrix, plan.only), machine or Machine())
    left_out += replaced
    writable = find_writable(plan, sides)
    jobs, notes = list_playable_jobs(jobs, sides, writable)
    if plan.commits and not any(job.sync for job in jobs):
        raise UsageError("--run needs a job that commits, and none is played")
    if not jobs:
        raise UsageError("no job is left to be played", cause=" ".join(notes))
    for side in sides:
        for job in jobs:
            if change_job(job, side.changes).block_bytes * job.users > side.size_bytes:
                raise UsageError(f"{side.name} is too small for '{job.name}'")
    blocks = plan.blocks or (ANALYSES[-1] if len(sides) > 1 else ALONE)
    if len(sides) > 1 and blocks < 2:
        raise UsageError(f"--blocks is 2 at least where paths are compared (got {blocks})")
    earlier = [n for n in ANALYSES if len(sides) > 1 and n < blocks and not plan.blocks]
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
        analyses=(*earlier, blocks),
        margin_percent=plan.margin_percent,
        play_s=plan.play_s,
        fio="",
        host=read_host_facts(Path(sides[0].path)),
        notes=(*left_out, *notes),
        published=plan.matrix.published,
        commits=plan.commits,
        dyno=dyno.__version__,
    )


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
    for word in plan.writable:
        if word not in plan.paths:
            raise UsageError(f"--write-device {word} is none of the paths that are measured")
        if not Path(word).is_block_device():
            raise UsageError(f"--write-device {word} is no block device")
    sides, notes = [], []
    for word in dict.fromkeys(plan.paths):
        own = make_side(word, plan.size_bytes, plan.writable)
        lead = f"{word}: " if len(set(plan.paths)) > 1 else ""
        found, left_out = _multiply_side(plan.matrix, own, lead)
        sides += found
        notes += left_out
    if len(plan.paths) != len(set(plan.paths)):
        sides += [replace(sides[0], name=f"{sides[0].name} (again)")]
    for key, levels in plan.factors:
        sides = [_change_side(side, key, level) for side in sides for level in levels]
    for side in sides:
        for job in choose_jobs(plan.matrix, plan.only):
            change_job(job, side.changes)
    return tuple(sides), notes


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


def find_writable(plan: DiskPlan, sides: Sequence[DiskSide]) -> list[str]:
    """The devices, by the paths that their names lead to, that may be written to."""
    named = {str(Path(word).resolve()) for word in plan.writable}
    return sorted({side.path for side in sides if side.path in named})


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


def play_disks(run: DiskRun, fio: Fio, folder: Path, say: Say, plan: DiskPlan) -> DiskRun:
    """Plays blocks until an interim analysis decides or the last is played; the record in `folder`
    has each whole block, however we end.
    """
    writable = find_writable(plan, run.sides)
    progress = DiskProgress(replace(run, fio=fio.version), time.monotonic(), writable, plan.play)
    for block in range(run.analyses[-1]):
        play_block(progress, fio, block, say)
        write_json(folder / DISK_RECORD, asdict(progress.run))
        if block + 1 in run.analyses and is_decided(progress.run):
            break
    say("where a request's time goes")
    trace_sides(progress, fio)
    write_json(folder / DISK_RECORD, asdict(progress.run))
    return progress.run


def make_disk_folder(runs: Path, run: DiskRun) -> Path:
    """A new folder for the run."""
    stamp = re.sub(r"[-:]|\+.*", "", run.created_utc) + "Z"
    words = re.sub(r"[^A-Za-z0-9._@-]+", "-", f"disk-{run.name}")[:60].strip("-")
    for number in range(1, 1000):
        path = runs / (f"{stamp}-{words}" + (f"-{number}" if number > 1 else ""))
        if not path.exists():
            private_files.make_folder(path)
            return path
    raise UsageError(f"too many runs are named {words}")
