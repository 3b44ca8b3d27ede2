"""Control `governor`: how the kernel chooses the frequency of each core.

A governor that follows the load starts each burst on a slow core. `performance` asks for the
highest frequency always; what the firmware and the temperature make of it is theirs. Needs root
and a host that shows its frequencies: most virtual machines do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from dyno.host.controls import KEEP, ControlTarget, _knob
from dyno.host.controls._host_wide import HostSetting, HostWide

POLICIES = "/sys/devices/system/cpu/cpufreq"


class Governor(HostWide):
    """The governor of every frequency policy (a core, or several that share a clock)."""

    name = "governor"
    summary = "sets how the kernel chooses the cores' frequency"
    missing = "the kernel sets no frequency on this host (no cpufreq)"
    values: ClassVar[dict[str, str]] = {
        KEEP: "as the host has it",
        "performance": "the highest frequency, always",
        "powersave": "the lowest; of intel_pstate and amd-pstate: by load, sparingly",
        "schedutil": "by the scheduler's own measure of load",
        "ondemand": "by load, up at once",
        "conservative": "by load, up step by step",
    }

    def list_settings(self, value: str, subject: ControlTarget) -> Sequence[HostSetting]:
        found = sorted(_knob.find_path(POLICIES).glob("policy*/scaling_governor"))
        return [HostSetting(knob, value) for knob in found]

    def find_refusal(self, value: str, subject: ControlTarget) -> str:
        for each in self.list_settings(value, subject) if value != KEEP else ():
            known = _knob.read_text(each.knob.with_name("scaling_available_governors")).split()
            if known and value not in known:
                return f"the kernel offers {', '.join(known)}"
        return super().find_refusal(value, subject)


CONTROL = Governor()
