"""Audit `unwritten`: are the blocks that are read really there?

A block that was never written, or was trimmed, is answered without touching the medium: by the file
system of a hole, by an SSD's map of a block that it has not. Such reads are "faster than the disk".
"""

from __future__ import annotations

from collections.abc import Iterator

from dyno.record.disk import DiskFinding, DiskRun, DiskSide

#: Shares of absent or zero blocks, in percent: of a file, and of a sample.
FILE_PERCENT, ZERO_PERCENT = 1.0, 10.0
#: From here on a device is mostly empty.
MOSTLY_PERCENT = 50.0


def judge(run: DiskRun) -> Iterator[DiskFinding]:
    """One finding for each side, of its reads."""
    reads = tuple(job.name for job in run.jobs if not job.is_write)
    if not reads:
        yield DiskFinding("unwritten", "does not apply", "Nothing is read.")
        return
    for side in run.sides:
        yield _judge_side(side, reads)


def _judge_side(side: DiskSide, reads: tuple[str, ...]) -> DiskFinding:
    absent, zero = side.blocks.absent_percent, side.blocks.zero_percent
    if absent is not None and absent >= FILE_PERCENT:
        sentence = (
            f"{side.name}: {absent:.0f} % of the file was never written (holes or unwritten "
            "extents), so reads of it touch no disk."
        )
        return DiskFinding("unwritten", "invalid", sentence, sides=(side.name,), jobs=reads)
    if zero is not None and zero >= ZERO_PERCENT:
        sentence = (
            f"{side.name}: {zero:.0f} % of its sampled blocks hold zeros only, as never-written or "
            "trimmed ones do; a drive answers those faster than its medium."
        )
        if zero >= MOSTLY_PERCENT and absent is None:
            return DiskFinding("unwritten", "invalid", sentence, sides=(side.name,), jobs=reads)
        return DiskFinding("unwritten", "doubtful", sentence, sides=(side.name,), jobs=reads)
    if absent is not None:
        sentence = f"{side.name}: every block of the file was written."
        return DiskFinding("unwritten", "sound", sentence, sides=(side.name,), jobs=reads)
    if zero is not None:
        sentence = f"{side.name}: of a sample of its blocks, {100 - zero:.0f} % hold data."
        return DiskFinding("unwritten", "sound", sentence, sides=(side.name,), jobs=reads)
    sentence = f"{side.name}: whether its blocks were ever written is not visible."
    return DiskFinding("unwritten", "not checked", sentence, sides=(side.name,), jobs=reads)
