"""Survey: the disk under the data's file system; `dyno disk` reads the same facts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dyno.host.checks import make_not_visible, make_observation
from dyno.host.checks._machine import Machine, find_disk, find_mount
from dyno.host.checks.quota import read_io_limit
from dyno.record import Mark, Observation
from dyno.record.disk import DeviceFacts

WEIGHTS = {
    "I/O scheduler": 6,
    "discard": 6,
    "write cache": 3,
    "PCIe link": 6,
    "loop device": 12,
    "thin provisioning": 6,
}
#: A sector of the kernel's, whatever the device's own is.
SECTOR_BYTES = 512


def observe(machine: Machine) -> Iterator[Observation]:
    """Observe discard, write cache, scheduler, link, loop, thin; nothing of a file system without a
    disk.
    """
    mount = find_mount(machine, machine.data)
    facts = read_device_facts(machine, mount.number) if mount else DeviceFacts()
    disk = find_disk(machine, mount.number) if mount else None
    yield discard(facts)
    yield write_cache(facts)
    yield observe_scheduler(facts, disk)
    yield observe_link(facts)
    yield observe_loop(facts)
    yield observe_thin(facts)


def read_device_facts(machine: Machine, number: str) -> DeviceFacts:
    """What /sys tells of the device `number` (`8:1`): of the queue, the lowest device's that is
    seen; of a loop device, its own.
    """
    disk = find_disk(machine, number)
    if disk is None:
        return DeviceFacts()
    own = machine.find_path(f"/sys/dev/block/{number}").resolve()
    now, most = _read_link(machine, disk)
    sectors = machine.read_number(Path("/") / own.relative_to(machine.root.resolve()) / "size")
    chosen = re.search(r"\[([\w-]+)\]", machine.read_text(f"{disk}/queue/scheduler"))
    rotational = machine.read_text(f"{disk}/queue/rotational")
    loop = machine.read_text(f"{disk}/loop/dio")
    return DeviceFacts(
        name=disk.name,
        number=machine.read_text(f"{disk}/dev") or number,
        stack=_list_stack(own),
        rotational=rotational == "1" if rotational else None,
        scheduler=chosen[1] if chosen else "",
        write_cache=machine.read_text(f"{disk}/queue/write_cache"),
        discard_bytes=machine.read_number(f"{disk}/queue/discard_max_bytes"),
        requests=machine.read_number(f"{disk}/queue/nr_requests"),
        size_bytes=None if sectors is None else sectors * SECTOR_BYTES,
        link=now,
        link_most=most,
        thin=_find_thin(machine, own, disk),
        loop_file=machine.read_text(f"{disk}/loop/backing_file"),
        loop_direct=loop == "1" if loop else None,
        limit=read_io_limit(machine, machine.read_text(f"{disk}/dev") or number),
    )


def _list_stack(own: Path) -> tuple[str, ...]:
    names = [own.name]
    while slaves := sorted(own.glob("slaves/*")):
        own = slaves[0].resolve()
        names.append(own.name)
    if (own / "partition").exists():
        names.append(own.parent.name)
    return tuple(names)


def _find_thin(machine: Machine, own: Path, disk: Path) -> str:
    """Why blocks may be allocated only when they are written; empty where nothing tells so."""
    place = own
    while slaves := sorted(place.glob("slaves/*")):
        place = slaves[0].resolve()
        identity = place / "dm" / "uuid"
        if identity.is_file() and identity.read_text().strip().endswith(("-tpool", "-vpool")):
            return f"{own.name} lies in the pool {place.name}"
    found = sorted(machine.find_path(f"{disk}/device/scsi_disk").glob("*/thin_provisioning"))
    if any(file.read_text().strip() == "1" for file in found):
        return f"{disk.name} says that it is provisioned thinly"
    return ""


def discard(facts: DeviceFacts) -> Observation:
    why = "without discard (TRIM) a flash disk slows down as it is overwritten"
    if facts.discard_bytes is None:
        return make_not_visible("discard", why)
    if facts.rotational:
        return make_observation("discard", "not needed: a rotating disk", "good", why)
    hint = "enable it (discard=unmap for a virtual disk, issue_discards for LVM)"
    found = "supported" if facts.discard_bytes else "not supported"
    return make_observation("discard", found, "good" if facts.discard_bytes else "fair", why, hint)


def write_cache(facts: DeviceFacts) -> Observation:
    why = "a flush waits for the whole cache, including other processes' writes"
    kind = facts.write_cache
    if not kind:
        return make_not_visible("write cache", why)
    hint = "use a disk with power-loss protection, or give the data their own disk"
    return make_observation(
        "write cache", kind, "fair" if kind == "write back" else "good", why, hint
    )


def observe_scheduler(facts: DeviceFacts, disk: Path | None) -> Observation:
    why = "a scheduler that shares by process favours engines with more processes"
    if not facts.scheduler:
        return make_not_visible("I/O scheduler", why)
    mark: Mark = "fair" if facts.scheduler in ("bfq", "cfq") else "good"
    hint = f"--control io_scheduler=none, or echo none | sudo tee {disk}/queue/scheduler"
    return make_observation("I/O scheduler", facts.scheduler, mark, why, hint)


def observe_link(facts: DeviceFacts) -> Observation:
    why = "a link below its maximum speed or width limits the disk's bandwidth"
    if not facts.link:
        return make_not_visible("PCIe link", why)
    whole = facts.link == facts.link_most
    found = facts.link + ("" if whole else f" of {facts.link_most}")
    hint = "seat it in a slot with more lanes; `lspci -vv` shows LnkSta beside LnkCap"
    return make_observation("PCIe link", found, "good" if whole else "fair", why, hint)


def observe_loop(facts: DeviceFacts) -> Observation:
    why = "a loop device without direct I/O has its blocks in a page cache of its own"
    if not facts.name:
        return make_not_visible("loop device", why)
    if facts.loop_direct is None:
        return make_observation("loop device", "none", "good", why)
    found = f"{facts.name} over {facts.loop_file}"
    if facts.loop_direct:
        return make_observation("loop device", f"{found}, with direct I/O", "good", why)
    hint = f"losetup --direct-io=on /dev/{facts.name}"
    return make_observation("loop device", f"{found}, without direct I/O", "poor", why, hint)


def observe_thin(facts: DeviceFacts) -> Observation:
    why = "the first write of a block allocates it, and reads before it touch no medium"
    if not facts.name:
        return make_not_visible("thin provisioning", why)
    hint = "write the whole file or volume once before it is measured"
    return make_observation(
        "thin provisioning", facts.thin or "none seen", "fair" if facts.thin else "good", why, hint
    )


def _read_link(machine: Machine, disk: Path) -> tuple[str, str]:
    """The link as it is and as it could be, `16.0 GT/s PCIe x4`; empty where there is none."""
    for folder in (disk, *disk.parents):
        now, most = (
            (
                machine.read_text(f"{folder}/{which}_link_speed"),
                machine.read_text(f"{folder}/{which}_link_width"),
            )
            for which in ("current", "max")
        )
        if now[0] and most[0]:
            return f"{now[0]} x{now[1]}", f"{most[0]} x{most[1]}"
    return "", ""
