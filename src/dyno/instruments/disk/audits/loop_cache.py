"""Audit `loop_cache`: do data cross two page caches?

A loop device without direct I/O reads its file through a second page cache: what a benchmark calls
direct I/O is then memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from dyno.record.disk import DiskFinding, DiskRun


def judge(run: DiskRun) -> Iterator[DiskFinding]:
    """One finding for each side that lies on a loop device, else one for all."""
    loops = [side for side in run.sides if side.device.loop_direct is not None]
    for side in loops:
        facts = side.device
        if facts.loop_direct:
            sentence = f"{side.name} lies on {facts.name}, which has direct I/O."
            yield DiskFinding("loop_cache", "sound", sentence, sides=(side.name,))
            continue
        sentence = (
            f"{side.name} lies on {facts.name}, a loop device without direct I/O: its file "
            f"({facts.loop_file or 'not visible'}) is read through a second page cache."
        )
        yield DiskFinding("loop_cache", "invalid", sentence, sides=(side.name,))
    if not loops:
        yield DiskFinding("loop_cache", "does not apply", "No path lies on a loop device.")
