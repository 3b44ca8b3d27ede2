"""Survey: what moves the cores' clock rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dyno.host.checks import make_not_visible, make_observation
from dyno.host.checks._machine import Machine
from dyno.record import Mark, Observation

WEIGHTS = {"governor": 18, "power": 18, "turbo": 12}

CPU = "/sys/devices/system/cpu"
SUPPLIES = "/sys/class/power_supply"
STEADY, LIVELY = "performance", ("schedutil", "ondemand")


def observe(machine: Machine) -> Iterator[Observation]:
    yield observe_governor(machine)
    yield observe_turbo(machine)
    yield from observe_power(machine)


def observe_governor(machine: Machine) -> Observation:
    why = "a core that speeds up under load makes the busier candidate look better"
    cores = [name for name in machine.list_names(CPU) if name[:3] == "cpu" and name[3:].isdigit()]
    files = [f"{CPU}/{core}/cpufreq/scaling_governor" for core in cores]
    found = Counter(filter(None, map(machine.read_text, files)))
    if not found:
        return make_not_visible(
            "governor", why, "not visible here (in a virtual machine the host decides)"
        )
    mark = max(map(_choose_mark, found), key=["good", "fair", "poor"].index)
    told = ", ".join(f"{name} ({n} cores)" for name, n in found.items())
    hint = "--control governor=performance, or sudo cpupower frequency-set -g performance"
    return make_observation(
        "governor", told if len(found) > 1 else next(iter(found)), mark, why, hint
    )


def _choose_mark(governor: str) -> Mark:
    return "good" if governor == STEADY else "fair" if governor in LIVELY else "poor"


def observe_turbo(machine: Machine) -> Observation:
    why = "the rate above nominal depends on heat and on how many cores are busy"
    for file, on, off in (
        (f"{CPU}/intel_pstate/no_turbo", "0", "1"),
        (f"{CPU}/cpufreq/boost", "1", "0"),
    ):
        value = machine.read_text(file)
        if value in (on, off):
            hint = f"--control turbo=off, or echo {off} | sudo tee {file}"
            is_on = value == on
            return make_observation(
                "turbo", "on" if is_on else "off", "fair" if is_on else "good", why, hint
            )
    return make_not_visible("turbo", why)


def observe_power(machine: Machine) -> Iterator[Observation]:
    kinds = {
        name: machine.read_text(f"{SUPPLIES}/{name}/type") for name in machine.list_names(SUPPLIES)
    }
    if "Battery" not in kinds.values():
        return
    mains = [name for name, kind in kinds.items() if kind == "Mains"]
    plugged = any(machine.read_text(f"{SUPPLIES}/{name}/online") == "1" for name in mains)
    why = "on battery the firmware limits the cores' power"
    found = "mains" if plugged else "battery"
    yield make_observation("power", found, "good" if plugged else "poor", why, "plug it in")
