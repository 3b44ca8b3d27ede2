"""Audit `write_cache`: does a commit reach what a power cut leaves?

A drive with a volatile cache ("write back") is sent a flush, and has to write its cache to the
medium. One that answers faster than any medium can be written has not; and where the kernel sends
no flush at all (`barrier=0`), nobody asked it to.
"""

from __future__ import annotations

from collections.abc import Iterator

from dyno.record.disk import DiskFinding, DiskJob, DiskRun, DiskSide

#: What writing takes at least, in ns: a program of a page of flash, half a turn at 15,000 a minute.
FLASH_NS, ROTATING_NS = 50_000.0, 2_000_000.0
#: So many of a hundred waits without a flush are a file system that sends none: one flush may serve
#: several that wait together.
FLUSHED_PERCENT = 1.0


def judge(run: DiskRun) -> Iterator[DiskFinding]:
    """One finding for each side, of its jobs that wait for a flush."""
    for side in run.sides:
        jobs = [job for job in run.list_jobs(side) if job.sync]
        if jobs:
            yield _judge_side(run, side, jobs)
        else:
            sentence = f"{side.name}: nothing is committed."
            yield DiskFinding("write_cache", "does not apply", sentence, sides=(side.name,))


def _judge_side(run: DiskRun, side: DiskSide, jobs: list[DiskJob]) -> DiskFinding:
    names = tuple(job.name for job in jobs)
    if not side.device.write_cache:
        sentence = f"{side.name}: whether the device has a volatile cache is not visible."
        return DiskFinding("write_cache", "not checked", sentence, sides=(side.name,), jobs=names)
    if side.device.write_cache != "write back":
        sentence = f"{side.name}: the device says that it has no volatile cache."
        return DiskFinding("write_cache", "sound", sentence, sides=(side.name,), jobs=names)
    waits, flushes = _count_flushes(run, side, jobs)
    if waits and flushes is not None and 100.0 * flushes < FLUSHED_PERCENT * waits:
        sentence = (
            f"{side.name}: the device has a volatile cache, and of {waits:,} waits it was sent "
            f"{flushes:,} flushes (barrier=0, nobarrier?): a power cut loses what was committed."
        )
        return DiskFinding("write_cache", "invalid", sentence, sides=(side.name,), jobs=names)
    # the kernel says of any loop device that it rotates
    rotates = bool(side.device.rotational) and side.device.loop_direct is None
    least = ROTATING_NS if rotates else FLASH_NS
    fastest = [_find_wait_ns(run, side, job) for job in jobs]
    quick = min((each for each in fastest if each), default=None)
    if quick is not None and quick < least:
        medium = "a disk that says that it rotates" if rotates else "flash"
        sentence = (
            f"{side.name}: a block's flushes take {quick / 1e3:.0f} µs, and {medium} needs "
            f"{least / 1e3:.0f} µs at least: a cache answers them, which is safe only if a battery "
            "or capacitor keeps it."
        )
        return DiskFinding("write_cache", "doubtful", sentence, sides=(side.name,), jobs=names)
    sentence = f"{side.name}: flushes take as long as a medium needs."
    return DiskFinding("write_cache", "sound", sentence, sides=(side.name,), jobs=names)


def _count_flushes(run: DiskRun, side: DiskSide, jobs: list[DiskJob]) -> tuple[int, int | None]:
    """How often these jobs waited, and the device's own count of flushes; None where it has
    none. O_DSYNC writes are left out: they may be sent as writes that pass the cache by (FUA).
    """
    plays = [p for job in jobs if job.sync != "dsync" for p in run.find_plays(side.name, job.name)]
    seen = [play.device.flushes for play in plays if play.device]
    return sum(play.syncs for play in plays), sum(seen) if seen else None


def _find_wait_ns(run: DiskRun, side: DiskSide, job: DiskJob) -> float | None:
    """The median wait of a commit, of one user; the least over the blocks."""
    if job.users > 1:
        return None
    of_write = job.sync == "dsync"
    plays = run.find_plays(side.name, job.name)
    waits = [play.total.p50 if of_write else play.sync.p50 for play in plays]
    return min(filter(None, waits), default=None)
