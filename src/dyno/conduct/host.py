"""What there is to say of the machine that a run is played on."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from pathlib import Path

from dyno.record import Observation
from dyno.survey import Machine, mount_of, survey

#: Facts that may change between a run and its resumption without making them two experiments.
FLEETING = ("load_1min", "memory_available_mb")


def facts(folder: Path) -> dict[str, str]:
    """The host's facts by name; what this machine does not tell is left out.

    `folder` is where the data lie: its file system belongs to the facts.
    """
    machine = Machine(data=folder.absolute())
    found = {
        "cpu": machine.after("/proc/cpuinfo", "model name"),
        "cores": str(len(os.sched_getaffinity(0))),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "distribution": _distribution(),
        "memory_mb": _megabytes(machine, "MemTotal"),
        "memory_available_mb": _megabytes(machine, "MemAvailable"),
        "load_1min": f"{os.getloadavg()[0]:.2f}",
        "virtualisation": _virtualisation(machine),
        "clock_source": machine.text(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        "aslr": machine.text("/proc/sys/kernel/randomize_va_space"),
        "governor": machine.text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "turbo": machine.text("/sys/devices/system/cpu/intel_pstate/no_turbo"),
        "huge_pages": machine.text("/sys/kernel/mm/transparent_hugepage/enabled"),
        "file_system": file_system(folder),
        "python": platform.python_version(),
    }
    return {name: value for name, value in found.items() if value}


def complaints(folder: Path) -> tuple[Observation, ...]:
    """What is not good about the host, the worst first, for a run's record.

    Nobody waits for it: steal and other load are measured in every phase anyway.
    """
    found = survey(Machine(data=folder.absolute()))
    return tuple(observation for observation in found if observation.mark != "good")


def _megabytes(machine: Machine, key: str) -> str:
    kilobytes = machine.after("/proc/meminfo", key).removesuffix("kB").strip()
    return str(int(kilobytes) // 1024) if kilobytes.isdigit() else ""


def _distribution() -> str:
    with suppress(OSError):
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    return ""


def _virtualisation(machine: Machine) -> str:
    if product := machine.text("/sys/class/dmi/id/product_name"):
        return product
    flags = machine.after("/proc/cpuinfo", "flags").split()
    return "a hypervisor" if "hypervisor" in flags else ""


def file_system(folder: Path) -> str:
    """The type and device of the file system that `folder` lies on, or will lie on."""
    mount = mount_of(Machine(), folder.absolute())
    return f"{mount.kind} on {mount.device}" if mount else ""
