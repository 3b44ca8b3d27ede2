"""The block devices that a folder's data lie on, as the kernel names them in /sys."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dyno.controls import _knob

BLOCK = "/sys/dev/block"
MOUNTS = "/proc/self/mountinfo"


def queues(folder: Path) -> list[Path]:
    """The request queue of each disk that the file system of `folder` lies on.

    None where it lies on no disk (memory, a network), or does not say on which (overlay).
    """
    there = next((path for path in (folder, *folder.absolute().parents) if path.exists()), None)
    device = _device(there.stat().st_dev) if there else None
    return sorted(set(_below(_knob.at(f"{BLOCK}/{device}")))) if device else []


def _device(number: int) -> str:
    """`254:0`; some file systems (btrfs) count as a device of their own, and tell theirs in the
    table of mounts.
    """
    own = f"{os.major(number)}:{os.minor(number)}"
    if os.major(number):
        return own
    for line in _knob.line(_knob.at(MOUNTS)).splitlines():
        before, _, after = line.partition(" - ")
        if before.split()[2] == own:
            with suppress(OSError, IndexError):
                found = Path(after.split()[1]).stat()
                if stat.S_ISBLK(found.st_mode):
                    return f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"
    return ""


def _below(device: Path) -> Iterator[Path]:
    """A partition's disk, a mapped or mirrored device's parts; then their queues."""
    place = device.resolve()
    if parts := sorted(place.glob("slaves/*")):
        for part in parts:
            yield from _below(part)
    elif (place / "partition").exists():
        yield from _below(place.parent)
    elif (place / "queue").is_dir():
        yield place / "queue"
