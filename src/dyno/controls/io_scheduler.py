"""Control `io_scheduler`: in which order the kernel hands requests to the disk that holds the data.

A fast device orders them itself (`none`); `mq-deadline` prefers reads to writes, `bfq` and `kyber`
share the device among processes. Needs root.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from dyno.controls import KEEP, Subject, _disks
from dyno.controls._host import HostWide, Setting


class IoScheduler(HostWide):
    """The scheduler of every disk that the engine's data lie on."""

    name = "io_scheduler"
    summary = "sets the order in which requests reach the disk that holds the data"
    missing = "the data lie on no disk of this host that shows its queue"
    values: ClassVar[dict[str, str]] = {
        KEEP: "as the host has it",
        "none": "as they come",
        "mq-deadline": "reads before writes, none later than its deadline",
        "kyber": "as many at a time as keep the device's latency low",
        "bfq": "a fair share for each process",
    }

    def settings(self, value: str, subject: Subject) -> Sequence[Setting]:
        """One knob per disk below the file system of the data."""
        queues = _disks.queues(subject.home)
        return [Setting(q / "scheduler", value) for q in queues if (q / "scheduler").exists()]


CONTROL = IoScheduler()
