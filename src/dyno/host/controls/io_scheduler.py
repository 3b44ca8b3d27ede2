"""Control `io_scheduler`: in which order the kernel hands requests to the disk that holds the data.

A fast device orders them itself (`none`); `mq-deadline` prefers reads to writes, `bfq` and `kyber`
share the device among processes. Needs root.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from dyno.host.controls import KEEP, ControlTarget, _knob
from dyno.host.controls._host_wide import HostSetting, HostWide

BLOCK = "/sys/dev/block"
MOUNTS = "/proc/self/mountinfo"


def find_disk_queues(folder: Path) -> list[Path]:
    """The request queue of each disk that the file system of `folder` lies on; of a block device,
    its own.

    None where it lies on no disk (memory, a network), or does not say on which (overlay).
    """
    there = next((path for path in (folder, *folder.absolute().parents) if path.exists()), None)
    found = there.stat() if there else None
    device = None
    if found:
        device = _find_device(found.st_rdev if stat.S_ISBLK(found.st_mode) else found.st_dev)
    return sorted(set(_find_below(_knob.find_path(f"{BLOCK}/{device}")))) if device else []


def _find_device(number: int) -> str:
    """`254:0`; some file systems (btrfs) count as a device of their own, and tell theirs in the
    table of mounts.
    """
    own = f"{os.major(number)}:{os.minor(number)}"
    if os.major(number):
        return own
    for line in _knob.read_text(_knob.find_path(MOUNTS)).splitlines():
        before, _, after = line.partition(" - ")
        if before.split()[2] == own:
            with suppress(OSError, IndexError):
                found = Path(after.split()[1]).stat()
                if stat.S_ISBLK(found.st_mode):
                    return f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"
    return ""


def _find_below(device: Path) -> Iterator[Path]:
    place = device.resolve()
    if parts := sorted(place.glob("slaves/*")):
        for part in parts:
            yield from _find_below(part)
    elif (place / "partition").exists():
        yield from _find_below(place.parent)
    elif (place / "queue").is_dir():
        yield place / "queue"


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

    def list_settings(self, value: str, subject: ControlTarget) -> Sequence[HostSetting]:
        queues = find_disk_queues(subject.home)
        return [HostSetting(q / "scheduler", value) for q in queues if (q / "scheduler").exists()]


CONTROL = IoScheduler()
