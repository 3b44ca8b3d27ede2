"""The host: one file per subject, which offers `observe`, and `WEIGHTS` of what it observes.

A machine is read through `Machine` only, so that a test can make one of a folder; nothing is
changed by it. Each observation is marked, and what is not good costs points of a hundred: its
weight where it is poor, a third of that where it is fair. The weights say how far each can mislead
a comparison on one host, by our judgement: 24 for what comes and goes between two trials of a
block, which nothing averages away; about 12 for what makes every trial noisier; 3 for what costs
convenience only. What cannot be seen costs nothing, and is said.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from dyno.host.checks._machine import (
    PERF_EVENT_OPEN,
    Machine,
    Mount,
    find_mount,
    read_host_group,
    read_host_id,
)
from dyno.plugins import load_things
from dyno.record import Mark, Observation, compute_host_score


def make_observation(name: str, found: str, mark: Mark, why: str, hint: str = "") -> Observation:
    """An observation; a hint is for what is not good."""
    return Observation(name, found, mark, why, "" if mark == "good" else hint)


def make_not_visible(name: str, why: str, found: str = "not visible here") -> Observation:
    """An observation of what this machine does not show."""
    return Observation(name, found, "unknown", why)


def choose_mark(value: float, fair: float, poor: float) -> Mark:
    """Good below `fair`, fair below `poor`."""
    return "good" if value < fair else "fair" if value < poor else "poor"


__all__ = [
    "GRADES",
    "PERF_EVENT_OPEN",
    "Machine",
    "Mount",
    "Observe",
    "find_mount",
    "grade",
    "read_host_group",
    "survey_host",
]

#: What a subject offers as `observe`: one observation for each thing that it looks at.
Observe = Callable[[Machine], Iterable[Observation]]

#: The least score that deserves the words.
GRADES = {
    85: "good: small differences can be found here",
    60: "fair: expect wider intervals, and some blocks dropped",
    0: "poor: mend this before you rely on a verdict",
}

#: How long a run that begins counts steal and other load: some dozens of the kernel's ticks.
WATCHED_S = 0.3

_WORST_FIRST: tuple[Mark, ...] = ("poor", "fair", "unknown", "good")


def survey_host(machine: Machine) -> tuple[Observation, ...]:
    """Every observation with its points: the poor ones first, and of these the dearest."""
    observe: dict[str, Observe] = load_things("dyno.host.checks", "observe")
    weights: dict[str, dict[str, int]] = load_things("dyno.host.checks", "WEIGHTS")
    priced = [
        replace(each, points=_compute_cost(each, weights[subject][each.name]))
        for subject, look in observe.items()
        for each in look(machine)
    ]
    return tuple(sorted(priced, key=lambda o: (_WORST_FIRST.index(o.mark), -o.points, o.name)))


def _compute_cost(observation: Observation, weight: int) -> int:
    """The points that an observation takes off: of one that is fair, a third of the weight."""
    return {"poor": weight, "fair": weight // 3}.get(observation.mark, 0)


def grade(observations: Sequence[Observation]) -> str:
    """The score of a survey in words."""
    score = compute_host_score(observations)
    return next(words for least, words in GRADES.items() if score >= least)


#: Facts that may change between a run and its resumption without making them two experiments: what
#: is read anew each time, and what a user says of the host.
FLEETING = ("load_1min", "memory_available_mb", "group")


#: Features of a processor that valgrind's has, too, where the host's has them: by these the C
#: library and engines choose their code, so that counts depend on them, and on no clock or cache.
CPU_FEATURES = {
    *("abm", "avx", "avx2", "bmi1", "bmi2", "cx16", "f16c", "fma", "rdrand", "rdseed", "rdtscp"),
    *("sse4_2", "ssse3", "aes", "asimd", "asimddp", "asimdfhm", "asimdhp", "atomics", "crc32"),
    *("fphp", "pmull", "sha1", "sha2"),
}


def read_host_facts(folder: Path) -> dict[str, str]:
    """The host's facts by name; what this machine does not tell is left out.

    `folder` is where the data lie: its file system belongs to the facts. `id` tells this host from
    others (`read_host_id`), `group` is what the user says it is one of. `UsageError` for a group's
    name that is none.
    """
    machine = Machine(data=folder.absolute())
    features = machine.read_after("/proc/cpuinfo", "flags")
    features = features or machine.read_after("/proc/cpuinfo", "Features")
    facts = {
        "id": read_host_id(machine),
        "group": read_host_group(),
        "cpu": machine.read_after("/proc/cpuinfo", "model name"),
        "cores": str(len(os.sched_getaffinity(0))),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpu_features": " ".join(sorted(CPU_FEATURES & {*features.split()})),
        "libc": " ".join(platform.libc_ver()).strip(),
        "distribution": _read_distribution(),
        "memory_mb": _read_megabytes(machine, "MemTotal"),
        "memory_available_mb": _read_megabytes(machine, "MemAvailable"),
        "load_1min": f"{os.getloadavg()[0]:.2f}",
        "virtualisation": _detect_virtualisation(machine),
        "clock_source": machine.read_text(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        "aslr": machine.read_text("/proc/sys/kernel/randomize_va_space"),
        "governor": machine.read_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "turbo": machine.read_text("/sys/devices/system/cpu/intel_pstate/no_turbo"),
        "huge_pages": machine.read_text("/sys/kernel/mm/transparent_hugepage/enabled"),
        "file_system": find_file_system(folder),
        "python": platform.python_version(),
    }
    return {name: value for name, value in facts.items() if value}


def list_host_complaints(folder: Path) -> tuple[Observation, ...]:
    """What is not good about the host, the worst first, for a run's record: the survey of
    `dyno doctor`, load and steal included, so that both tell of one host.
    """
    observations = survey_host(Machine(data=folder.absolute(), watch_s=WATCHED_S))
    return tuple(observation for observation in observations if observation.mark != "good")


def _read_megabytes(machine: Machine, key: str) -> str:
    kilobytes = machine.read_after("/proc/meminfo", key).removesuffix("kB").strip()
    return str(int(kilobytes) // 1024) if kilobytes.isdigit() else ""


def _read_distribution() -> str:
    with suppress(OSError):
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    return ""


def _detect_virtualisation(machine: Machine) -> str:
    if product := machine.read_text("/sys/class/dmi/id/product_name"):
        return product
    flags = machine.read_after("/proc/cpuinfo", "flags").split()
    return "a hypervisor" if "hypervisor" in flags else ""


def find_file_system(folder: Path) -> str:
    """The type and device of the file system that `folder` lies on, or will lie on."""
    mount = find_mount(Machine(), folder.absolute())
    return f"{mount.kind} on {mount.device}" if mount else ""
