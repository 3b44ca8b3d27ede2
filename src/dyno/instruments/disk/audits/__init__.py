"""Audits of a disk's run: one file per way in which its numbers can be wrong, each with `judge`.

`judge(run)` reads the record and touches nothing else. It answers one finding at least: *sound*
with what was checked, *not checked* where something could not be looked at, *does not apply* where
the run has nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dyno.plugins import load_things
from dyno.record.disk import DiskFinding, DiskRun

Judge = Callable[[DiskRun], Iterable[DiskFinding]]
WORST_FIRST = ("invalid", "doubtful", "not checked", "sound", "does not apply")


def judge_run(run: DiskRun) -> list[DiskFinding]:
    """What all audits find, the worst first."""
    judges: dict[str, Judge] = load_things("dyno.instruments.disk.audits", "judge")
    found = [finding for judge in judges.values() for finding in judge(run)]
    return sorted(found, key=lambda it: (WORST_FIRST.index(it.soundness), it.audit))
