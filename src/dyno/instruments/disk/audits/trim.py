"""Audit `trim`: can the file system tell the drive what is free?

Without discard (`discard_max_bytes` is 0) an SSD takes deleted blocks for data, and slows down as
it fills. Dyno sends no discard.
"""

from __future__ import annotations

from collections.abc import Iterator

from dyno.record.disk import DiskFinding, DiskRun


def judge(run: DiskRun) -> Iterator[DiskFinding]:
    """One finding for each side."""
    for side in run.sides:
        facts = side.device
        if facts.discard_bytes is None:
            sentence = f"{side.name}: whether the device takes a discard is not visible."
            yield DiskFinding("trim", "not checked", sentence, sides=(side.name,))
        elif facts.rotational and not facts.discard_bytes:
            sentence = f"{side.name}: a rotating disk needs no discard."
            yield DiskFinding("trim", "sound", sentence, sides=(side.name,))
        elif not facts.discard_bytes:
            sentence = (
                f"{side.name}: {facts.name} takes no discard (TRIM): it slows down as it is "
                "overwritten, and how far depends on what was written before."
            )
            yield DiskFinding("trim", "doubtful", sentence, sides=(side.name,))
        else:
            sentence = f"{side.name}: {facts.name} takes discards."
            yield DiskFinding("trim", "sound", sentence, sides=(side.name,))
