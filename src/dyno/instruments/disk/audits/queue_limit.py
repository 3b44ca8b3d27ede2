"""Audit `queue_limit`: did requests wait in the kernel, not in the disk?

A queue holds `nr_requests`, and a control group may allow less than the disk can (`io.max`,
`blkio.throttle`): what is measured is then the limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from dyno.record.disk import DiskFinding, DiskRun


def judge(run: DiskRun) -> Iterator[DiskFinding]:
    """One finding for each side: a limit, jobs with more requests than the queue holds, or none."""
    for side in run.sides:
        facts = side.device
        deep = [
            job.name
            for job in run.list_jobs(side)
            if facts.requests and job.in_flight > facts.requests
        ]
        if facts.limit:
            sentence = f"{side.name}: this control group allows {facts.limit} on {facts.name}."
            yield DiskFinding("queue_limit", "doubtful", sentence, sides=(side.name,))
        elif deep:
            sentence = (
                f"{side.name}: the queue of {facts.name} holds {facts.requests} requests, and "
                f"'{deep[0]}' has more in flight."
            )
            yield DiskFinding(
                "queue_limit", "doubtful", sentence, sides=(side.name,), jobs=tuple(deep)
            )
        elif facts.requests is None:
            sentence = f"{side.name}: the device's queue is not visible."
            yield DiskFinding("queue_limit", "not checked", sentence, sides=(side.name,))
        else:
            sentence = f"{side.name}: the queue holds all requests in flight."
            yield DiskFinding("queue_limit", "sound", sentence, sides=(side.name,))
