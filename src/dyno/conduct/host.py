"""What there is to say of the machine that a run is played on."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from pathlib import Path

#: Facts that may change between a run and its resumption without making them two experiments.
FLEETING = ("load_1min", "memory_available_mb")


def facts(folder: Path) -> dict[str, str]:
    """The host's facts by name; what this machine does not tell is left out.

    `folder` is where the data lie: its file system belongs to the facts.
    """
    found = {
        "cpu": _after("/proc/cpuinfo", "model name"),
        "cores": str(len(os.sched_getaffinity(0))),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "distribution": _distribution(),
        "memory_mb": _megabytes("MemTotal"),
        "memory_available_mb": _megabytes("MemAvailable"),
        "load_1min": f"{os.getloadavg()[0]:.2f}",
        "virtualisation": _virtualisation(),
        "clock_source": _line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "aslr": _line("/proc/sys/kernel/randomize_va_space"),
        "governor": _line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "turbo": _line("/sys/devices/system/cpu/intel_pstate/no_turbo"),
        "huge_pages": _line("/sys/kernel/mm/transparent_hugepage/enabled"),
        "file_system": _file_system(folder),
        "python": platform.python_version(),
    }
    return {name: value for name, value in found.items() if value}


def _line(path: str) -> str:
    with suppress(OSError):
        return Path(path).read_text().strip()
    return ""


def _after(path: str, key: str) -> str:
    """The value behind ``key :`` in a file of such lines."""
    lines = (line.partition(":") for line in _line(path).splitlines())
    return next((value.strip() for name, _, value in lines if name.strip() == key), "")


def _megabytes(key: str) -> str:
    kilobytes = _after("/proc/meminfo", key).removesuffix("kB").strip()
    return str(int(kilobytes) // 1024) if kilobytes.isdigit() else ""


def _distribution() -> str:
    with suppress(OSError):
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    return ""


def _virtualisation() -> str:
    if product := _line("/sys/class/dmi/id/product_name"):
        return product
    flags = _after("/proc/cpuinfo", "flags").split()
    return "a hypervisor" if "hypervisor" in flags else ""


def _file_system(folder: Path) -> str:
    """The type and device of the file system that `folder` (or its nearest parent) lies on."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    best = ("", "")
    for line in _line("/proc/self/mounts").splitlines():
        device, mount, kind = line.split()[:3]
        if there.is_relative_to(mount) and len(mount) >= len(best[0]):
            best = (mount, f"{kind} on {device}")
    return best[1]
