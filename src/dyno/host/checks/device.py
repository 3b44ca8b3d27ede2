"""Survey: the disk under the data's file system."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dyno.host.checks import make_not_visible, make_observation
from dyno.host.checks._machine import Machine, find_disk, find_mount
from dyno.record import Mark, Observation

WEIGHTS = {"I/O scheduler": 6, "discard": 6, "write cache": 3, "PCIe link": 6}


def observe(machine: Machine) -> Iterator[Observation]:
    """Discard, write cache, scheduler, link; of a file system without a disk nothing is seen."""
    mount = find_mount(machine, machine.data)
    disk = find_disk(machine, mount) if mount else None
    for subject in (discard, write_cache, observe_scheduler, observe_link):
        yield subject(machine, disk)


def discard(machine: Machine, disk: Path | None) -> Observation:
    """Can a flash disk be told what is free?"""
    why = "without discard (TRIM) a flash disk slows down as it is overwritten"
    most = machine.read_number(f"{disk}/queue/discard_max_bytes") if disk else None
    if most is None:
        return make_not_visible("discard", why)
    if machine.read_text(f"{disk}/queue/rotational") == "1":
        return make_observation("discard", "not needed: a rotating disk", "good", why)
    hint = "enable it (discard=unmap for a virtual disk, issue_discards for LVM)"
    found = "supported" if most else "not supported"
    return make_observation("discard", found, "good" if most else "fair", why, hint)


def write_cache(machine: Machine, disk: Path | None) -> Observation:
    """What the kernel takes the disk's cache for."""
    why = "a flush waits for the whole cache, including other processes' writes"
    kind = machine.read_text(f"{disk}/queue/write_cache") if disk else ""
    if not kind:
        return make_not_visible("write cache", why)
    hint = "use a disk with power-loss protection, or give the data their own disk"
    return make_observation(
        "write cache", kind, "fair" if kind == "write back" else "good", why, hint
    )


def observe_scheduler(machine: Machine, disk: Path | None) -> Observation:
    """Who decides the order of requests."""
    why = "a scheduler that shares by process favours engines with more processes"
    chosen = (
        re.search(r"\[([\w-]+)\]", machine.read_text(f"{disk}/queue/scheduler")) if disk else None
    )
    if not chosen:
        return make_not_visible("I/O scheduler", why)
    mark: Mark = "fair" if chosen[1] in ("bfq", "cfq") else "good"
    hint = f"--control io_scheduler=none, or echo none | sudo tee {disk}/queue/scheduler"
    return make_observation("I/O scheduler", chosen[1], mark, why, hint)


def observe_link(machine: Machine, disk: Path | None) -> Observation:
    """The PCIe link of the disk, or of what it hangs on."""
    why = "a link below its maximum speed or width limits the disk's bandwidth"
    for folder in (disk, *disk.parents) if disk else ():
        now, most = (
            (machine.read_text(f"{folder}/{which}_link_speed"), _read_width(machine, folder, which))
            for which in ("current", "max")
        )
        if now[0] and most[0]:
            found = f"{now[0]} x{now[1]}" + ("" if now == most else f" of {most[0]} x{most[1]}")
            hint = "seat it in a slot with more lanes; `lspci -vv` shows LnkSta beside LnkCap"
            return make_observation(
                "PCIe link", found, "good" if now == most else "fair", why, hint
            )
    return make_not_visible("PCIe link", why)


def _read_width(machine: Machine, folder: Path, which: str) -> str:
    return machine.read_text(f"{folder}/{which}_link_width")
