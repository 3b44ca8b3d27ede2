"""Audit `pcie_link`: does the drive have the link that it could have?"""

from __future__ import annotations

from collections.abc import Iterator

from dyno.record.disk import DiskFinding, DiskRun


def judge(run: DiskRun) -> Iterator[DiskFinding]:
    """One finding for each side."""
    for side in run.sides:
        facts = side.device
        if not facts.link:
            sentence = f"{side.name}: the device shows no PCIe link."
            yield DiskFinding("pcie_link", "does not apply", sentence, sides=(side.name,))
        elif facts.link != facts.link_most:
            sentence = (
                f"{side.name}: the PCIe link is {facts.link}, and the drive can {facts.link_most}."
            )
            yield DiskFinding("pcie_link", "doubtful", sentence, sides=(side.name,))
        else:
            sentence = f"{side.name}: the PCIe link is {facts.link}, all that the drive can."
            yield DiskFinding("pcie_link", "sound", sentence, sides=(side.name,))
