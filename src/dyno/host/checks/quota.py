"""Survey: what the control groups above us allow, of either version (cgroups(7))."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from dyno.host.checks import make_not_visible, make_observation
from dyno.host.checks._machine import Machine, find_disk, find_mount
from dyno.record import Observation

WEIGHTS = {"CPU quota": 24, "memory limit": 12, "I/O limit": 12}

ROOT = PurePosixPath("/sys/fs/cgroup")
#: Above this, version 1 means "no limit" (it says the largest page-aligned number).
UNLIMITED_BYTES = 1 << 60
#: Files of version 1 with a limit for each device.
THROTTLES = tuple(f"{way}_{what}_device" for way in ("read", "write") for what in ("bps", "iops"))


def observe(machine: Machine) -> Iterator[Observation]:
    """CPU quota, memory and I/O limit, the tightest of our group and those above it."""
    yield observe_cpu(machine)
    yield observe_memory(machine)
    yield observe_io(machine)


def observe_cpu(machine: Machine) -> Observation:
    why = "once the quota is used up, every thread stops for the rest of the period"
    shares = [_read_share(machine, folder) for folder in _list_folders(machine, "cpu")]
    found = [share for share in shares if share is not None]
    if not found:
        return make_not_visible("CPU quota", why)
    if min(found) == float("inf"):
        return make_observation("CPU quota", "none", "good", why)
    hint = "give whole cores instead of a quota: docker run --cpuset-cpus=0-3, or cpu.max = max"
    return make_observation("CPU quota", f"{min(found):g} cores' time", "poor", why, hint)


def _read_share(machine: Machine, folder: PurePosixPath) -> float | None:
    """Return cores; infinity for no quota, None if there is no file."""
    words = machine.read_text(folder / "cpu.max").split()
    if not words:
        files = (folder / f"cpu.cfs_{part}_us" for part in ("quota", "period"))
        words = [machine.read_text(file) for file in files]
    if not all(words):
        return None
    return float("inf") if words[0] in ("max", "-1") else int(words[0]) / int(words[1])


def observe_memory(machine: Machine) -> Observation:
    """Observe the limit, which page cache counts against, too."""
    why = "the page cache counts against the limit, so cached data are dropped and read again"
    found = list(_read_memory_limits(machine).values())
    if not found:
        return make_not_visible("memory limit", why)
    if min(found) >= UNLIMITED_BYTES:
        return make_observation("memory limit", "none", "good", why)
    hint = "raise it well above the data and the engine's own caches, or leave it out"
    return make_observation("memory limit", f"{min(found) / 1e9:.1f} GB", "fair", why, hint)


def observe_io(machine: Machine) -> Observation:
    why = "a request above the rate waits in the kernel, however fast the disk is"
    mount = find_mount(machine, machine.data)
    disk = find_disk(machine, mount.number) if mount else None
    if disk is None:
        return make_not_visible("I/O limit", why)
    limit = read_io_limit(machine, machine.read_text(f"{disk}/dev"))
    if not limit:
        return make_observation("I/O limit", "none", "good", why)
    hint = "leave it out: systemctl set-property, docker run --device-read-iops, io.max"
    return make_observation("I/O limit", limit, "poor", why, hint)


def read_io_limit(machine: Machine, number: str) -> str:
    """What our groups allow on the device `number` (`8:0`), `rbps=1048576`; empty for no limit."""
    found = []
    for folder in _list_folders(machine, "io"):
        for line in machine.read_text(folder / "io.max").splitlines():
            device, *limits = line.split()
            found += [each for each in limits if device == number and each[-3:] != "max"]
    for folder in _list_folders(machine, "blkio"):
        for name in THROTTLES:
            for line in machine.read_text(folder / f"blkio.throttle.{name}").splitlines():
                device, *limit = line.split()
                found += [f"{name.removesuffix('_device')}={limit[0]}"] if device == number else []
    return ", ".join(dict.fromkeys(found))


def measure_left_bytes(machine: Machine) -> float:
    """What the tightest group leaves us: its limit, less what its processes hold beside the page
    cache; infinity where nothing limits us.
    """
    left = (
        limit - _measure_held_bytes(machine, at)
        for at, limit in _read_memory_limits(machine).items()
    )
    return max(0.0, min(left, default=float("inf")))


def _read_memory_limits(machine: Machine) -> dict[PurePosixPath, float]:
    """The limit of each group that has the file, in bytes."""
    return {
        folder: float("inf") if text == "max" else float(text)
        for folder in _list_folders(machine, "memory")
        for name in ("memory.max", "memory.limit_in_bytes")
        if (text := machine.read_text(folder / name))
    }


def _measure_held_bytes(machine: Machine, group: PurePosixPath) -> int:
    """Anonymous memory of a group and those below it, under either version's name."""
    pairs = (line.split() for line in machine.read_text(group / "memory.stat").splitlines())
    told = dict(pair for pair in pairs if len(pair) == 2)
    return int(told.get("anon", told.get("total_rss", "0")))


def _list_folders(machine: Machine, controller: str) -> list[PurePosixPath]:
    """The folders of our groups and of those above, where the controller may have its files."""
    lines = [line.split(":", 2) for line in machine.read_text("/proc/self/cgroup").splitlines()]
    found: list[PurePosixPath] = []
    for _, controllers, path in (line for line in lines if len(line) == 3):
        if not controllers or controller in controllers.split(","):
            own = PurePosixPath(path.strip("/"))
            top = ROOT / controllers if controllers else ROOT
            found += [top / each for each in (own, *own.parents)]
    return found or [ROOT]
