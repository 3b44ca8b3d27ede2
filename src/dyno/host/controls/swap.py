"""Control `swap`: how readily the kernel moves memory of programs to a swap device.

It is set through `vm.swappiness`, not by `swapoff`: that must find room for all that lies on the
device at once, for which the kernel may kill processes, and what it was could not be put back by
writing one value. At 0 the kernel swaps only to escape from running out of memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

from dyno.errors import build_unknown_error
from dyno.host.controls import KEEP, ControlResult, ControlTarget, _knob
from dyno.host.controls._host_wide import HostSetting, HostWide

SWAPPINESS = "/proc/sys/vm/swappiness"
SWAPS = "/proc/swaps"
MOST = 200


class Swap(HostWide):
    """vm.swappiness of the whole host; needs root."""

    name = "swap"
    summary = "keeps programs' memory off the swap devices (vm.swappiness)"
    missing = "the kernel has no vm.swappiness"
    values: ClassVar[dict[str, str]] = {
        KEEP: "as the host has it",
        "avoid": "vm.swappiness=0: only to escape from running out of memory",
        "NUMBER": f"vm.swappiness, 0 to {MOST}",
    }

    def check(self, value: str) -> None:
        if value not in (KEEP, "avoid") and not (
            re.fullmatch(r"\d{1,3}", value) and int(value) <= MOST
        ):
            raise build_unknown_error("value of swap", value, self.values)

    def list_settings(self, value: str, subject: ControlTarget) -> Sequence[HostSetting]:
        knob, text = _knob.find_path(SWAPPINESS), value if value.isdigit() else "0"
        return [HostSetting(knob, str(int(text)))] if _knob.read_current_value(knob) else []

    @contextmanager
    def hold(self, value: str, subject: ControlTarget) -> Iterator[ControlResult]:
        """Record the swap devices, too: without any, nothing is swapped."""
        with super().hold(value, subject) as held:
            devices = [
                line.split()[0] for line in _knob.read_text(_knob.find_path(SWAPS)).splitlines()[1:]
            ]
            held.found["devices"] = " ".join(devices) or "none"
            yield held


CONTROL = Swap()
