"""Control `turbo`: whether a core may run above the frequency that all cores can keep.

How far above, and how long, hangs on temperature and on what the other cores do, so with turbo a
trial's speed depends on its neighbours. Needs root and a host that shows its frequencies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from dyno.host.controls import KEEP, ControlTarget, _knob
from dyno.host.controls._host_wide import HostSetting, HostWide

#: intel_pstate's switch says no, the others' say yes.
NO_TURBO = "/sys/devices/system/cpu/intel_pstate/no_turbo"
BOOST = "/sys/devices/system/cpu/cpufreq/boost"
WORDS = {NO_TURBO: {"on": "0", "off": "1"}, BOOST: {"on": "1", "off": "0"}}


class Turbo(HostWide):
    """intel_pstate's `no_turbo`, or `boost` of the other frequency drivers."""

    name = "turbo"
    summary = "lets the cores run above their steady frequency, or not"
    missing = "no switch for turbo on this host (neither intel_pstate nor cpufreq's boost)"
    values: ClassVar[dict[str, str]] = {
        KEEP: "as the host has it",
        "on": "above the steady frequency while heat and power allow",
        "off": "never above it",
    }

    def list_settings(self, value: str, subject: ControlTarget) -> Sequence[HostSetting]:
        there = [path for path in WORDS if _knob.read_current_value(_knob.find_path(path))]
        return [
            HostSetting(_knob.find_path(path), WORDS[path].get(value, "")) for path in there[:1]
        ]

    def describe_value(self, setting: HostSetting, raw: str) -> str:
        words = WORDS[_knob.strip_root(setting.knob)]
        return next((word for word, digit in words.items() if digit == raw), raw)


CONTROL = Turbo()
