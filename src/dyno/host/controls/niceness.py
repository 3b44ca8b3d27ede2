"""Control `niceness`: how the engine's process stands with others that want the same core.

A nicer one waits longer. It does not keep others away (pinning does), and matters only where they
compete; a value below the present one needs root (or CAP_SYS_NICE). Where the kernel shares cores
among sessions first (autogroups, sched(7)), the engine's session has the same value among these.
"""

from __future__ import annotations

import os
import re
from functools import partial
from typing import ClassVar

from dyno.errors import build_unknown_error
from dyno.host.controls import KEEP, ControlResult, OneProcess, try_command
from dyno.host.processes import set_session_niceness

LEAST, MOST = -20, 19


class Niceness(OneProcess):
    """The nice value of the engine's process, which its threads and children inherit (nice(1))."""

    name = "niceness"
    summary = "sets the engine's share of a core that others want too"
    values: ClassVar[dict[str, str]] = {
        KEEP: "dyno's own",
        "NUMBER": f"{LEAST} (the most) to {MOST} (the least); below dyno's own it needs root",
    }

    def check(self, value: str) -> None:
        number = re.fullmatch(r"[+-]?\d{1,2}", value)
        if value != KEEP and not (number and LEAST <= int(value) <= MOST):
            raise build_unknown_error("value of niceness", value, self.values)

    def describe_default(self) -> str:
        return str(os.getpriority(os.PRIO_PROCESS, 0))

    def find_reason(self, value: str) -> str:
        """Find by trying: nice(1) only warns if it is refused, and goes on."""
        if value not in self.values and try_command([*self._build_prefix(value), "nice"])[
            1
        ] != _parse_number(value):
            return "needs root" if os.geteuid() else "the host refuses it"
        return ""

    def start(self, value: str, found: dict[str, str]) -> ControlResult:
        started = partial(_set_session, number=int(value))
        return ControlResult(found, prefix=self._build_prefix(value), started=started)

    def _build_prefix(self, value: str) -> tuple[str, ...]:
        return ("nice", "-n", str(int(value) - int(self.describe_default())))


def _set_session(pid: int, number: int) -> dict[str, str]:
    if os.getsid(pid) == os.getsid(0):
        return {"refused": "the engine's process is in dyno's own session"}
    try:
        before = set_session_niceness(pid, number)
    except OSError as error:
        return {"refused": f"the session of the engine keeps its own ({error.strerror})"}
    return {} if before is None else {"session_before": str(before), "session": str(number)}


def _parse_number(value: str) -> str:
    return str(int(value))


CONTROL = Niceness()
