"""The blocks of a run: in each, every side is opened anew, and each job is played on the sides in
turn, slice by slice (A B B A), in an order that is drawn and balanced: what the disk does meanwhile
meets all of them.

Sides are never played at the same time: they may share a device, and would measure each other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from dyno.builds import Say
from dyno.errors import HostError
from dyno.host.controls import ControlTarget, load_controls
from dyno.host.processes import read_pairs
from dyno.instruments.disk.fio import Fio, FioCall, FioResult, run_job
from dyno.instruments.disk.matrix import change_job
from dyno.instruments.disk.request_trace import trace_requests
from dyno.instruments.disk.side import OpenSide, hold_device, open_side
from dyno.instruments.time.blocks import draw_block_order
from dyno.record.disk import DeviceCounters, DiskJob, DiskPlay, DiskRun, DiskSide, DiskTrace

#: Fields of /sys/block/*/stat (Documentation/block/stat.rst), in order; sectors are of 512 bytes.
STAT = ("reads", "", "read_sectors", "read_ms", "writes", "", "written_sectors", "write_ms")
STAT_FLUSHES, STAT_FLUSH_MS = 15, 16
SECTOR_BYTES = 512
#: How long a job is traced at most, and the largest block that devices take in one request.
TRACED_S, REQUEST_BYTES = 0.3, 64 << 10
#: How long a slice is at least where a job has more than two in a block, and how many at most.
SLICE_S, SLICES_MOST = 0.5, 16
#: Requests seen for an operation at least: a core's ring that is full keeps what came first.
SEEN_SHARE = 0.2

#: Plays a job on what fio opens: a test hands in one of its own.
Run = Callable[[Fio, FioCall], FioResult]


@dataclass
class DiskProgress:
    """A run while it is played: the record grows by whole blocks."""

    run: DiskRun
    began: float
    play: Run = run_job


@dataclass(frozen=True)
class _Slot:
    """By which fio, in which block and slice, for how long and with which seed a job is played."""

    fio: Fio
    block: int
    slice: int
    play_s: float
    seed: int


def play_block(progress: DiskProgress, fio: Fio, block: int, say: Say) -> None:
    """Plays one block of all sides and jobs, and adds it to the record whole; what fio and the
    host raise passes through.
    """
    run = progress.run
    names = [side.name for side in run.sides]
    with ExitStack() as stack:
        opened: dict[str, OpenSide] = {}
        say(f"block {block + 1} of {run.analyses[-1]}")
        for path in run.writable:
            stack.enter_context(hold_device(path))
        sides = {side.name: side for side in run.sides}
        for name in draw_file_order(run, block):
            found = open_side(sides[name], sides[name].path in run.writable)
            opened[name] = stack.enter_context(found)
        progress.run = replace(run, sides=tuple(opened[name].side for name in names))
        plays = []
        for number, job in enumerate(run.jobs):
            order = draw_block_order(run.seed, job.name, block, names)
            for at in range(run.slices):
                seed = run.seed + 1000 * block + 100_000 * at + number + 1
                slot = _Slot(fio, block, at, run.play_s / run.slices, seed)
                turn = order[::-1] if is_turned(at) else order
                plays += [_play(opened[name], job, progress, slot) for name in turn]
    progress.run = replace(progress.run, plays=(*run.plays, *plays))


def draw_file_order(run: DiskRun, block: int) -> list[str]:
    """The sides in the order in which their files are made: each is as often first. A drive, or the
    host of a virtual one, may hold what was written last in its cache.
    """
    return list(draw_block_order(run.seed, "open", block, [side.name for side in run.sides]))


def is_turned(at: int) -> bool:
    """Does slice `at` have the order the other way round? ABBA BAAB … (Thue and Morse): a drift,
    and one that bends, meets all sides alike.
    """
    return at.bit_count() % 2 == 1


def choose_slices(play_s: float, sides: int) -> int:
    """How many slices a job of `play_s` has in a block: an even number, none of them shorter than
    `SLICE_S` where there are more than two; a single side has its time in one piece.
    """
    if sides < 2:
        return 1
    return min(SLICES_MOST, max(2, 2 * int(play_s / SLICE_S / 2)))


def _play(opened: OpenSide, job: DiskJob, progress: DiskProgress, call: _Slot) -> DiskPlay:
    side = opened.side
    changed = change_job(job, side.changes)
    asked = FioCall(changed, opened.path, side.size_bytes, call.play_s, call.seed)
    opened.drop_cache()
    with hold_scheduler(side):
        cached = opened.measure_cached_bytes()
        before, io = read_counters(side.device.number), _read_own_io()
        at_s = time.monotonic() - progress.began
        result = progress.play(call.fio, asked)
        after, io_after = read_counters(side.device.number), _read_own_io()
    if not result.operations:
        hint = "a longer --time, or a disk that answers"
        raise HostError(
            f"{job.name} on {side.name} did no operation in {call.play_s:g} s", hint=hint
        )
    return DiskPlay(
        block=call.block,
        side=side.name,
        job=job.name,
        at_s=at_s,
        duration_s=result.duration_s,
        operations=result.operations,
        size_bytes=result.size_bytes,
        total=result.total,
        submit=result.submit,
        sync=result.sync,
        syncs=result.syncs,
        fetched_bytes=_subtract(io_after, io, "read_bytes"),
        owed_bytes=_subtract(io_after, io, "write_bytes"),
        device=subtract_counters(after, before) if before and after else None,
        cached_before=cached,
        cached_after=opened.measure_cached_bytes(),
        slice=call.slice,
        rates=result.rates,
    )


def trace_sides(progress: DiskProgress, fio: Fio) -> None:
    """Plays jobs of which one operation is one request once more, traced, and adds to the record
    where their time goes; where the host does not let us, a note why.
    """
    run = progress.run
    traces: list[DiskTrace] = []
    try:
        with ExitStack() as stack:
            for path in run.writable:
                stack.enter_context(hold_device(path))
            for side in run.sides:
                traces += _trace_side(progress, fio, side)
    except HostError as refused:
        note = f"Queue and device are told apart by the device's counters: {refused.sentence}."
        progress.run = replace(run, notes=(*run.notes, note), is_traced=True)
        return
    progress.run = replace(run, traces=tuple(traces), is_traced=True)


def _trace_side(progress: DiskProgress, fio: Fio, side: DiskSide) -> Iterator[DiskTrace]:
    run = progress.run
    with open_side(side, side.path in run.writable) as opened:
        for job in run.jobs:
            changed = change_job(job, opened.side.changes)
            if is_one_request(changed) and opened.side.device.number:
                yield from _trace(progress, fio, opened, replace(changed, name=job.name))


def is_one_request(job: DiskJob) -> bool:
    """Is each of its operations one request to the device, whose time is that of the operation?"""
    return job.access == "direct" and not job.sync and job.block_bytes <= REQUEST_BYTES


def _trace(progress: DiskProgress, fio: Fio, opened: OpenSide, job: DiskJob) -> Iterator[DiskTrace]:
    side, run = opened.side, progress.run
    numbers = [side.device.number, _read_number(opened)]
    seconds = min(run.play_s, TRACED_S)
    call = FioCall(job, opened.path, side.size_bytes, seconds, run.seed)
    with hold_scheduler(side), trace_requests(numbers) as traced:
        result = progress.play(fio, call)
    times = traced.measure()
    # fewer requests than operations: most touched no device, and what was seen is of others
    if times and times.requests >= SEEN_SHARE * result.operations:
        yield DiskTrace(
            side=side.name,
            job=job.name,
            requests=times.requests,
            submit_ns=result.submit.mean,
            queue_ns=times.queue_ns,
            device_ns=times.device_ns,
            total_ns=result.total.mean,
        )


def _read_number(opened: OpenSide) -> str:
    """The device that a request is queued for: a partition's own, which is not its disk's."""
    found = os.fstat(opened.handle)
    number = found.st_rdev or found.st_dev
    word = f"{os.major(number)}:{os.minor(number)}"
    return word if os.major(number) else opened.side.device.number


def _subtract(after: Mapping[str, int], before: Mapping[str, int], name: str) -> int | None:
    return after[name] - before[name] if name in after and name in before else None


def _read_own_io() -> dict[str, int]:
    """What the kernel fetched from devices and owes to them for us and those that we waited for."""
    try:
        return read_pairs(Path("/proc/self/io"))
    except OSError:
        return {}


def read_counters(number: str) -> DeviceCounters | None:
    """A device's counters since it is there; None where it shows none."""
    try:
        words = [int(it) for it in Path(f"/sys/dev/block/{number}/stat").read_text().split()]
    except (OSError, ValueError):
        return None
    told = dict(zip(STAT, words, strict=False))
    flushes = words[STAT_FLUSHES : STAT_FLUSH_MS + 1] if len(words) > STAT_FLUSH_MS else (0, 0)
    return DeviceCounters(
        reads=told["reads"],
        read_bytes=told["read_sectors"] * SECTOR_BYTES,
        read_ms=told["read_ms"],
        writes=told["writes"],
        written_bytes=told["written_sectors"] * SECTOR_BYTES,
        write_ms=told["write_ms"],
        flushes=flushes[0],
        flush_ms=flushes[1],
    )


def subtract_counters(after: DeviceCounters, before: DeviceCounters) -> DeviceCounters:
    """What happened between two readings."""
    names = DeviceCounters.__struct_fields__
    return DeviceCounters(*(getattr(after, name) - getattr(before, name) for name in names))


@contextmanager
def hold_scheduler(side: DiskSide) -> Iterator[None]:
    """Holds the I/O scheduler that a side asks for, by the control of that name, which journals
    what it found; `HostError` where the host refuses.
    """
    if not side.scheduler:
        yield
        return
    control = load_controls()["io_scheduler"]
    with control.hold(side.scheduler, ControlTarget(home=Path(side.path))) as held:
        if refused := held.found.get("refused"):
            raise HostError(f"io_scheduler={side.scheduler} is not held", cause=refused)
        yield


def list_playable_jobs(
    jobs: Sequence[DiskJob], sides: Sequence[DiskSide], writable: Sequence[str]
) -> tuple[tuple[DiskJob, ...], list[str]]:
    """The jobs that every side can play, and a sentence on each reason why others are left out."""
    notes, kept = [], list(jobs)
    for side in sides:
        if side.kind == "directory" or side.path in writable:
            continue
        whose = "is only read: --write-device with its name allows writes"
        if side.kind != "device":
            whose = "is only read"
        left = [job.name for job in kept if job.is_write]
        if left:
            kept = [job for job in kept if not job.is_write]
            plural = "job is" if len(left) == 1 else "jobs are"
            notes.append(f"{side.name} {whose}; {len(left)} {plural} left out that write.")
    return tuple(kept), notes
