"""What a folder is mounted from, and the disk under it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dyno.survey._machine import Machine


@dataclass(frozen=True)
class Mount:
    """A mounted file system: `number` is its device's `major:minor`, 0:… where it has none."""

    point: str
    device: str
    kind: str
    options: frozenset[str]
    number: str


def mount_of(machine: Machine, folder: Path) -> Mount | None:
    """The file system that `folder` lies on, or will lie on; of several at one place the last."""
    lines = machine.text("/proc/self/mountinfo").splitlines()
    mounts = [mount for line in lines if (mount := _read(line))]
    around = [m for m in mounts if folder.is_relative_to(m.point)]
    longest = max((len(m.point) for m in around), default=0)
    return next((m for m in reversed(around) if len(m.point) == longest), None)


def _read(line: str) -> Mount | None:
    """A line of mountinfo (proc_pid_mountinfo(5)); `\\040` is a blank there."""
    left, dash, right = line.partition(" - ")
    own, source = left.split(), right.split()
    if not dash or len(own) < 6 or len(source) < 2:
        return None
    point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), own[4])
    options = {*own[5].split(","), *"".join(source[2:3]).split(",")} - {""}
    return Mount(point, source[1], source[0], frozenset(options), own[2])


def disk_of(machine: Machine, mount: Mount) -> Path | None:
    """The folder in /sys of the disk under a mount: a partition's own, a mapping's first one."""
    block = machine.path(f"/sys/dev/block/{mount.number}")
    if not block.exists():
        return None
    block = block.resolve()
    while slaves := sorted(block.glob("slaves/*")):
        block = slaves[0].resolve()
    disk = block.parent if (block / "partition").exists() else block
    return Path("/") / disk.relative_to(machine.root.resolve())
