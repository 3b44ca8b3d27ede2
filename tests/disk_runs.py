"""Records of `dyno disk`, made up: sides, jobs, plays, and what fio would have written."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from dyno.record.disk import (
    DeviceCounters,
    DeviceFacts,
    DiskJob,
    DiskLatency,
    DiskPlay,
    DiskRun,
    DiskSide,
    FileBlocks,
)

MB = 1 << 20
READ = DiskJob("read 4K", "randread")
LOG = DiskJob("log 4K + fdatasync", "write", access="buffered", sync="fdatasync")
WHOLE = FileBlocks(64 * MB, 0, 0, 1, 0.0)
DEVICE = DeviceFacts(
    name="nvme0n1",
    number="259:0",
    stack=("nvme0n1",),
    rotational=False,
    scheduler="none",
    write_cache="write through",
    discard_bytes=1 << 30,
    requests=1023,
    size_bytes=256 << 30,
)


def make_side(name: str = "/data", **changes: Any) -> DiskSide:
    """A folder on an honest disk, but for the changes."""
    side = DiskSide(name, name, "directory", 64 * MB, "filled", "ext4", ("rw",), DEVICE, WHOLE)
    return replace(side, **changes)


def make_play(side: str, job: DiskJob, block: int, rate: float = 10_000.0) -> DiskPlay:
    """A second of I/O that went to the disk, every byte of it."""
    size = round(rate) * job.block_bytes
    syncs = round(rate) if job.sync else 0
    counters = DeviceCounters(reads=round(rate), read_bytes=size, read_ms=800)
    if job.is_write:
        counters = DeviceCounters(writes=round(rate), written_bytes=size, flushes=syncs)
    return DiskPlay(
        block=block,
        side=side,
        job=job.name,
        at_s=10.0 * block,
        duration_s=1.0,
        operations=round(rate),
        size_bytes=size,
        total=DiskLatency(1e9 / rate, 1e9 / rate, 2e9 / rate, 1e8),
        submit=DiskLatency(2_000.0, 2_000.0, 4_000.0, 1e5),
        sync=DiskLatency(400_000.0, 400_000.0, 900_000.0, 1e7) if job.sync else DiskLatency(),
        syncs=syncs,
        fetched_bytes=0 if job.is_write else size,
        owed_bytes=size if job.is_write else 0,
        device=counters,
        cached_before=0,
        cached_after=0,
    )


def make_run(
    sides: Sequence[DiskSide] = (),
    jobs: Sequence[DiskJob] = (READ,),
    blocks: int = 6,
    rate: Callable[[str, int], float] = lambda side, block: 10_000.0 + 10 * block,
    change: Callable[[DiskPlay], DiskPlay] = lambda play: play,
) -> DiskRun:
    """A run of some sides; `rate` says how fast each is in a block, `change` alters each play."""
    sides = tuple(sides) or (make_side(),)
    plays = [
        change(make_play(side.name, job, block, rate(side.name, block)))
        for block in range(blocks)
        for job in jobs
        for side in sides
    ]
    return DiskRun(
        name=" vs ".join(side.name for side in sides),
        created_utc="2026-01-02T03:04:05+00:00",
        command="dyno disk /data",
        seed=1,
        matrix="default",
        question="What?",
        jobs=tuple(jobs),
        sides=sides,
        plays=tuple(plays),
        analyses=(blocks,),
        margin_percent=5.0,
        play_s=1.0,
        fio="fio-3.33",
    )


def write_fio(**changes: Any) -> str:
    """fio's JSON of a job of 1,000 reads in a second; `changes` are of its one job."""
    latency = {"mean": 90_000.0, "max": 9e6, "N": 1000}
    latency["percentile"] = {"50.000000": 80_000, "99.000000": 200_000}  # type: ignore[assignment]
    did = {"io_bytes": 4_096_000, "total_ios": 1000, "runtime": 1000, "lat_ns": latency}
    did["slat_ns"] = {"mean": 2_000.0, "max": 9e4, "N": 1000}
    job = {"jobname": "dyno", "error": 0, "read": did, "write": did, "sync": {"lat_ns": {"N": 0}}}
    return json.dumps({"fio version": "fio-3.33", "jobs": [job | changes]})
