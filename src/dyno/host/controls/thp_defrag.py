"""Control `thp_defrag`: what a process does that wants a huge page where none is free.

To wait while the kernel moves memory about is a pause in the middle of a query. Needs root; it
matters only where transparent huge pages are given out at all (control `thp`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from dyno.host.controls import KEEP, ControlTarget, _knob
from dyno.host.controls._host_wide import HostSetting, HostWide

DEFRAG = "/sys/kernel/mm/transparent_hugepage/defrag"


class ThpDefrag(HostWide):
    """The host's switch."""

    name = "thp_defrag"
    summary = "sets what a process does that wants a huge page where none is free"
    missing = "the kernel has no transparent huge pages"
    values: ClassVar[dict[str, str]] = {
        KEEP: "as the host has it",
        "always": "every process waits while memory is moved",
        "defer": "none waits; the kernel moves memory in the background",
        "defer+madvise": "those that asked for huge pages wait, for others it is done later",
        "madvise": "those that asked for huge pages wait, the others do without",
        "never": "all do without",
    }

    def list_settings(self, value: str, subject: ControlTarget) -> Sequence[HostSetting]:
        knob = _knob.find_path(DEFRAG)
        return [HostSetting(knob, value)] if _knob.read_current_value(knob) else []


CONTROL = ThpDefrag()
