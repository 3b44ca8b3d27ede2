"""Survey: memory, swap and large pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dyno.host.checks import choose_mark, make_not_visible, make_observation, quota
from dyno.host.checks._machine import Machine
from dyno.record import Mark, Observation

WEIGHTS = {"swap": 18, "memory": 18, "huge pages": 9}

HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
#: Percent of memory in use, fair and poor.
USED = (75.0, 90.0)


def observe(machine: Machine) -> Iterator[Observation]:
    yield observe_memory(machine)
    yield swap(machine)
    yield observe_huge_pages(machine)


def observe_memory(machine: Machine) -> Observation:
    """Observe how much is available without swapping or reclaiming."""
    why = "data that do not fit beside the others are read from disk again, or swapped"
    total, available = (_read_kilobytes(machine, key) for key in ("MemTotal", "MemAvailable"))
    if total is None or available is None:
        return make_not_visible("memory", why)
    found = f"{available / 1e6:.1f} of {total / 1e6:.1f} GB available"
    hint = "free some, or keep the data set well below it"
    return make_observation(
        "memory", found, choose_mark(100 - 100 * available / total, *USED), why, hint
    )


def measure_available_bytes(machine: Machine) -> int | None:
    """Return what we may take without swapping or reclaiming, within our groups' limits; None if
    the kernel does not say.
    """
    available = _read_kilobytes(machine, "MemAvailable")
    if available is None:
        return None
    return round(min(available * 1024, quota.measure_left_bytes(machine)))


def swap(machine: Machine) -> Observation:
    why = "reading a swapped page takes milliseconds, at an unpredictable time"
    total, free = (_read_kilobytes(machine, key) for key in ("SwapTotal", "SwapFree"))
    if total is None or free is None:
        return make_not_visible("swap", why)
    used = total - free
    mark: Mark = "good" if not total else "poor" if used > total // 100 else "fair"
    found = f"{used / 1e6:.1f} of {total / 1e6:.1f} GB in use" if total else "none"
    return make_observation("swap", found, mark, why, "--control swap=avoid, or sudo swapoff -a")


def _read_kilobytes(machine: Machine, key: str) -> int | None:
    digits = machine.read_after("/proc/meminfo", key).removesuffix("kB").strip()
    return int(digits) if digits.isdigit() else None


def observe_huge_pages(machine: Machine) -> Observation:
    """Transparent huge pages (Documentation/admin-guide/mm/transhuge.rst)."""
    why = "the kernel merges pages by itself, in some restarts more than in others"
    chosen = re.search(r"\[(\w+)\]", machine.read_text(HUGE_PAGES))
    if not chosen:
        return make_not_visible("huge pages", why)
    hint = f"--control thp=off (no root), or echo madvise | sudo tee {HUGE_PAGES}"
    return make_observation(
        "huge pages", chosen[1], "fair" if chosen[1] == "always" else "good", why, hint
    )
