"""Control `numa`: on which nodes the engine's memory lies.

By default a page lies near the core that touched it first, which on a host of several nodes is
chance. Spread over all of them, each restart is alike; bound to one, all accesses are near as long
as the engine runs there (control `pinning`). By numactl(8); no root is needed.
"""

from __future__ import annotations

import re
import shutil
from typing import ClassVar

from dyno.errors import build_unknown_error
from dyno.host.controls import KEEP, ControlResult, OneProcess, _knob, try_command

NODES = "/sys/devices/system/node/online"
OPTIONS = {"interleave": "--interleave=all", "local": "--localalloc"}


class Numa(OneProcess):
    """The memory policy of the engine's process."""

    name = "numa"
    summary = "chooses the NUMA nodes that the engine's memory lies on"
    values: ClassVar[dict[str, str]] = {
        KEEP: "near the core that touches a page first",
        "interleave": "spread over all nodes",
        "local": "near that core, whatever policy dyno itself was started under",
        "NODES": "on these nodes only (0 or 0-1,3)",
    }

    def check(self, value: str) -> None:
        if value not in (KEEP, *OPTIONS) and not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", value):
            raise build_unknown_error("value of numa", value, self.values)

    def describe_default(self) -> str:
        return f"nodes {_read_nodes()}" if _read_nodes() else "unknown"

    def find_reason(self, value: str) -> str:
        """One node leaves no choice; several need numactl, which says whether they exist."""
        if not re.search(r"[-,]", _read_nodes()):
            return "the host has one node of memory"
        if not shutil.which("numactl"):
            return "no numactl (install numactl)"
        works, said = (
            try_command([*_build_prefix(value), "true"]) if value != "NODES" else (True, "")
        )
        return "" if works else said.splitlines()[0] if said else "numactl is refused"

    def start(self, value: str, found: dict[str, str]) -> ControlResult:
        return ControlResult(found, prefix=_build_prefix(value))


def _read_nodes() -> str:
    return _knob.read_text(_knob.find_path(NODES))


def _build_prefix(value: str) -> tuple[str, ...]:
    return ("numactl", OPTIONS.get(value, f"--membind={value}"))


CONTROL = Numa()
