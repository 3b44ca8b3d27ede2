"""Audit `thin_provisioning`: is a block there before it is first written?

A thin volume, or a device over a sparse file, allocates a block at its first write: that write is
slower than later ones, and a read before it touches no medium.
"""

from __future__ import annotations

from collections.abc import Iterator

from dyno.record.disk import DiskFinding, DiskRun


def judge(run: DiskRun) -> Iterator[DiskFinding]:
    """One finding for each side."""
    for side in run.sides:
        if not side.device.name:
            sentence = f"{side.name}: no device is visible below it."
            yield DiskFinding("thin_provisioning", "not checked", sentence, sides=(side.name,))
        elif side.device.thin:
            sentence = (
                f"{side.name}: {side.device.thin}, so a block is allocated at its first write; "
                "write all of it once, and measure then."
            )
            yield DiskFinding("thin_provisioning", "doubtful", sentence, sides=(side.name,))
        else:
            sentence = f"{side.name}: nothing tells of thin provisioning."
            yield DiskFinding("thin_provisioning", "sound", sentence, sides=(side.name,))
