"""Control `thp`: whether memory is given out in transparent huge pages (2 MB, not 4 kB).

They save misses of the TLB, and cost when a page is cleared, found or split at a bad moment. The
switch of the whole host needs root; a process can be kept from them without.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

from dyno.host.controls import (
    KEEP,
    RUNS_ALREADY,
    ControlResult,
    ControlTarget,
    _knob,
    make_not_held,
)
from dyno.host.controls._host_wide import HostSetting, HostWide

ENABLED = "/sys/kernel/mm/transparent_hugepage/enabled"
STATUS = "/proc/{pid}/status"
#: PR_SET_THP_DISABLE (prctl(2)) outlives fork and exec, so a program that sets it and becomes the
#: engine is enough; 41 is its number on every architecture.
CODE = """
import ctypes, os, sys
if ctypes.CDLL(None, use_errno=True).prctl(41, 1, 0, 0, 0):
    sys.exit("prctl: " + os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])
"""
PREFIX = (sys.executable, "-I", "-S", "-c", CODE)


class Thp(HostWide):
    """The host's switch, or the process' own."""

    name = "thp"
    summary = "gives out memory in transparent huge pages, or not"
    missing = "the kernel has no transparent huge pages"
    values: ClassVar[dict[str, str]] = {
        KEEP: "as the host has it",
        "off": "not to the engine's process (prctl PR_SET_THP_DISABLE); needs no root",
        "always": "to every process of the host",
        "madvise": "to those of its processes that ask",
        "never": "to none of them",
    }

    def list_settings(self, value: str, subject: ControlTarget) -> Sequence[HostSetting]:
        knob = _knob.find_path(ENABLED)
        return [HostSetting(knob, value)] if _knob.read_current_value(knob) else []

    def find_refusal(self, value: str, subject: ControlTarget) -> str:
        if value != "off":
            return super().find_refusal(value, subject)
        return RUNS_ALREADY if subject.attached else ""

    @contextmanager
    def hold(self, value: str, subject: ControlTarget) -> Iterator[ControlResult]:
        """Set the host's switch; start the process with a prefix, and check it once it runs."""
        if value != "off":
            with super().hold(value, subject) as held:
                yield held
            return
        with super().hold(KEEP, subject) as host:
            before = host.found["before"]
            if why := self.find_refusal(value, subject):
                yield make_not_held(before, why)
            else:
                yield ControlResult(
                    {"before": before, "set": value}, prefix=PREFIX, started=_read_status
                )


def _read_status(pid: int) -> dict[str, str]:
    """What the kernel says of the process (proc_pid_status(5), Linux 5.0 and later)."""
    lines = _knob.read_text(_knob.find_path(STATUS.format(pid=pid))).splitlines()
    said = next((line.split()[1] for line in lines if line.startswith("THP_enabled:")), "")
    if said == "1":
        return {"refused": "the engine's process has huge pages all the same"}
    return {"in_process": {"0": "disabled"}.get(said, "not reported by this kernel")}


CONTROL = Thp()
