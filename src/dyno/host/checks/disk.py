"""Survey: the file system that the data will lie on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from dyno.host.checks import choose_mark, make_not_visible, make_observation
from dyno.host.checks._machine import Machine, Mount, find_mount
from dyno.record import Mark, Observation

WEIGHTS = {"file system": 18, "mount options": 12, "free disk": 12}

OVERWRITING = ("ext4", "ext3", "ext2", "xfs", "f2fs", "jfs")
#: What is wrong with the others; kinds that begin so.
KINDS: dict[str, tuple[Mark, str]] = {
    "tmpfs": ("fair", "memory, not a disk: a commit costs nothing here"),
    "ramfs": ("fair", "memory, not a disk: a commit costs nothing here"),
    "overlay": ("fair", "a container's layers: the first write to a file copies it"),
    "btrfs": ("fair", "copy on write: a write's cost depends on what was written before"),
    "zfs": ("fair", "copy on write: a write's cost depends on what was written before"),
    "nfs": ("poor", "a network file system: others use network and server too"),
    "cifs": ("poor", "a network file system: others use network and server too"),
    "9p": ("poor", "the host's file system, over a protocol"),
    "virtiofs": ("poor", "the host's file system, over a protocol"),
    "fuse": ("poor", "every call goes through another process"),
}
#: Mount options that change what a commit or a deletion costs.
OPTIONS: dict[str, tuple[Mark, str]] = {
    "barrier=0": ("poor", "fsync does not reach the disk: commits are too cheap"),
    "nobarrier": ("poor", "fsync does not reach the disk: commits are too cheap"),
    "sync": ("poor", "every write waits for the disk"),
    "data=journal": ("fair", "data are written twice"),
    "strictatime": ("fair", "every read writes the access time"),
    "discard": ("fair", "each deletion sends the disk a discard, in the middle of a trial"),
}
ELSEWHERE = "keep the data on ext4 or xfs on a local disk: DYNO_TMP=/path dyno …"
#: Percent of the file system in use, fair and poor; and bytes that are too few for anything.
USED, FEW_BYTES = (85.0, 95.0), 2 << 30


def observe(machine: Machine) -> Iterator[Observation]:
    mount = find_mount(machine, machine.data)
    yield observe_kind(mount)
    yield observe_options(mount)
    yield observe_free(machine)


def observe_kind(mount: Mount | None) -> Observation:
    why = "the file system decides what a commit and a page write cost"
    if mount is None:
        return make_not_visible("file system", why)
    found = f"{mount.kind} on {mount.device}, at {mount.point}"
    if mount.kind in OVERWRITING:
        return make_observation("file system", found, "good", why)
    known = (told for start, told in KINDS.items() if mount.kind.startswith(start))
    mark, why = next(known, ("unknown", why))
    return make_observation("file system", found, mark, why, ELSEWHERE)


def observe_options(mount: Mount | None) -> Observation:
    why = "some options make commits too cheap or other work more expensive"
    if mount is None:
        return make_not_visible("mount options", why)
    told = [name for name in OPTIONS if name in mount.options]
    if not told:
        return make_observation("mount options", ",".join(sorted(mount.options)), "good", why)
    mark: Mark = "poor" if any(OPTIONS[name][0] == "poor" for name in told) else "fair"
    why = "; ".join(OPTIONS[name][1] for name in told)
    hint = f"sudo mount -o remount,{','.join(map(_negate, told))} {mount.point}"
    return make_observation("mount options", ",".join(told), mark, why, hint)


def _negate(option: str) -> str:
    """Return the option that undoes another."""
    opposite = {
        "barrier=0": "barrier=1",
        "nobarrier": "barrier",
        "sync": "async",
        "data=journal": "data=ordered",
        "strictatime": "relatime",
    }
    return opposite.get(option, f"no{option}")


def observe_free(machine: Machine) -> Observation:
    why = "a nearly full file system is slower, and a run may fill it"
    there = next(p for p in (machine.data, *machine.data.parents) if machine.find_path(p).exists())
    with suppress(OSError):
        left, total = machine.free(machine.find_path(there))
        used_percent = 100 - 100 * left / max(1, total)
        mark: Mark = "poor" if left < FEW_BYTES else choose_mark(used_percent, *USED)
        found = f"{left / 1e9:.0f} of {total / 1e9:.0f} GB"
        return make_observation(
            "free disk", found, mark, why, "dyno clean lists what runs and builds take"
        )
    return make_not_visible("free disk", why)
