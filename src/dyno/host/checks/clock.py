"""Survey: how the time is read, and who keeps it right."""

from __future__ import annotations

from collections.abc import Iterator

from dyno.host.checks import make_not_visible, make_observation
from dyno.host.checks._machine import Machine
from dyno.record import Mark, Observation

WEIGHTS = {"clock source": 18, "time": 6}

SOURCES = "/sys/devices/system/clocksource/clocksource0"
#: Sources that are read without a system call (the vDSO).
QUICK = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase", "tod")


def observe(machine: Machine) -> Iterator[Observation]:
    yield observe_source(machine)
    yield observe_time_of_day(machine)


def observe_source(machine: Machine) -> Observation:
    why = "a latency takes two clock readings; a slow source costs a system call and 1 µs each"
    current = machine.read_text(f"{SOURCES}/current_clocksource")
    if not current:
        return make_not_visible("clock source", why)
    others = machine.read_text(f"{SOURCES}/available_clocksource").split()
    mark: Mark = "good" if current in QUICK else "poor"
    better = next((name for name in others if name in QUICK), "")
    hint = "see `dmesg | grep -i clocksource` for why the CPU's own counter is not trusted"
    if better:
        hint = f"echo {better} | sudo tee {SOURCES}/current_clocksource"
    return make_observation("clock source", current, mark, why, hint)


def observe_time_of_day(machine: Machine) -> Observation:
    """Observe whether the time is kept; durations come from a clock that no step moves."""
    why = "durations are safe (CLOCK_MONOTONIC), but a clock step garbles logs and time stamps"
    kept = machine.clock_synchronised()
    if kept is None:
        return make_not_visible("time", why)
    found = "synchronised" if kept else "not synchronised: it may be stepped at any time"
    return make_observation(
        "time", found, "good" if kept else "fair", why, "sudo timedatectl set-ntp true"
    )
