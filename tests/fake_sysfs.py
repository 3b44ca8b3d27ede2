"""A tree of the kernel's knobs in a temporary folder, in place of /sys and /proc."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dyno.host.controls import _journal, _knob, io_scheduler
from dyno.host.controls.governor import POLICIES
from dyno.host.controls.numa import NODES
from dyno.host.controls.swap import SWAPPINESS, SWAPS
from dyno.host.controls.thp import ENABLED
from dyno.host.controls.thp_defrag import DEFRAG
from dyno.host.controls.turbo import NO_TURBO

#: What each file holds. A real one answers a list with its choice in brackets; here it is what was
#: written last, which a knob of one value does too.
FILES = {
    _knob.BOOT: "first-start",
    ENABLED: "madvise",
    DEFRAG: "madvise",
    SWAPPINESS: "60",
    SWAPS: "Filename Type Size Used Priority\n/dev/zram0 partition 1 0 100",
    NO_TURBO: "0",
    NODES: "0",
    f"{POLICIES}/policy0/scaling_governor": "powersave",
    f"{POLICIES}/policy0/scaling_available_governors": "performance powersave schedutil "
    "ondemand conservative",
    f"{POLICIES}/policy1/scaling_governor": "schedutil",
    f"{POLICIES}/policy1/scaling_available_governors": "performance powersave schedutil "
    "ondemand conservative",
    "/proc/sys/kernel/randomize_va_space": "2",
}


def make_tree(folder: Path) -> Path:
    """Lays the tree under `folder`, with a disk (`sda`, of which `sda1` holds `folder`)."""
    folder.mkdir()
    for name, text in FILES.items():
        write_file(folder, name, text)
    disk = folder / "sys/devices/pci/block/sda"
    write_file(folder, "/sys/devices/pci/block/sda/queue/scheduler", "mq-deadline")
    write_file(folder, "/sys/devices/pci/block/sda/sda1/partition", "1")
    number = folder.stat().st_dev
    link = folder / f"sys/dev/block/{os.major(number)}:{os.minor(number)}"
    link.parent.mkdir(parents=True)
    link.symlink_to(disk / "sda1")
    if not os.major(number):  # a file system without a device of its own
        write_file(folder, io_scheduler.MOUNTS, "")
    return folder


def write_file(folder: Path, name: str, text: str) -> None:
    """Makes one file of the tree hold `text`."""
    file = folder / name.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n")


def read_all(folder: Path) -> dict[str, str]:
    """What every file of the tree holds."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {str(file.relative_to(folder)): file.read_text().strip() for file in files}


def watch_writes(
    monkeypatch: pytest.MonkeyPatch, tree: Path, before: Callable[[Path], None]
) -> None:
    """Calls `before` with every file of the tree that is about to be opened for writing."""
    opened = os.open

    def watched(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR) and Path(path).is_relative_to(tree):
            before(Path(path))
        return opened(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", watched)


def environment(tree: Path, journal: Path) -> dict[str, str]:
    """What has a process use the tree, and keep its journal beside it."""
    return {_knob.ROOT: str(tree), _journal.CHOSEN: str(journal)}
