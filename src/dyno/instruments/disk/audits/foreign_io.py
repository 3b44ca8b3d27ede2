"""Audit `foreign_io`: did others use the disk when we did?

The device counts everybody's requests; what it did beyond ours is theirs. A file system's own
journal is ours as far as we wait for it, so only reads are held against ours, and of writes a
multiple.
"""

from __future__ import annotations

from collections.abc import Iterator

from dyno.record.disk import DiskFinding, DiskPlay, DiskRun

#: Bytes beyond ours, as a share of ours, that are doubtful; and how few bytes are nothing.
READ_SHARE, FEW_BYTES_A_S = 0.2, 4 << 20
#: Reads of others beside a job that writes.
WROTE_SHARE = 3.0


def judge(run: DiskRun) -> Iterator[DiskFinding]:
    """One finding for each side."""
    writes = {job.name for job in run.jobs if job.is_write}
    for side in run.sides:
        plays = [play for play in run.plays if play.side == side.name]
        if not any(play.device for play in plays):
            sentence = f"{side.name}: the device shows no counters."
            yield DiskFinding("foreign_io", "not checked", sentence, sides=(side.name,))
            continue
        disturbed = [play for play in plays if _is_disturbed(play, play.job in writes)]
        if not disturbed:
            sentence = f"{side.name}: the device did what we asked for, and nothing else."
            yield DiskFinding("foreign_io", "sound", sentence, sides=(side.name,))
            continue
        jobs = tuple(dict.fromkeys(play.job for play in disturbed))
        sentence = (
            f"{side.name}: others used {side.device.name} in {len(disturbed)} of {len(plays)} "
            f"plays, first in '{jobs[0]}'."
        )
        yield DiskFinding("foreign_io", "doubtful", sentence, sides=(side.name,), jobs=jobs)


def _is_disturbed(play: DiskPlay, writes: bool) -> bool:
    if play.device is None:
        return False
    few = FEW_BYTES_A_S * play.duration_s
    if writes:
        foreign = play.device.read_bytes
        return foreign > few or play.device.written_bytes > few + (1 + WROTE_SHARE) * max(
            play.size_bytes, play.owed_bytes or 0
        )
    foreign = play.device.read_bytes - (play.fetched_bytes or play.size_bytes)
    foreign += play.device.written_bytes
    return foreign > few and foreign > READ_SHARE * play.size_bytes
