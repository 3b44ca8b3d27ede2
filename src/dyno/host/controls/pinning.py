"""Control `pinning`: which cores the driver works on, and which are the engine's.

A thread that wanders between cores loses its caches, and a driver that shares the engine's core
takes time from it. An embedded engine works in the driver's threads, so both get the same cores.

A server answers one client at a time while that client sleeps, and neither takes time from the
other: then one core for both saves waking a core that sleeps, which on a virtual machine takes
longer than the answer. `auto` leaves the choice to a comparison's pilot (`compare/pilot`), which
fixes it for all candidates before the first block; elsewhere it is `apart`. All processes of
a server are held to its cores, those for input, output and cleaning too: on one core they take
turns with the one that answers.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import ClassVar

from dyno.errors import UsageError, build_unknown_error
from dyno.host.controls import ControlResult, ControlTarget, make_not_held
from dyno.host.controls._placement import explain_why_not, keep_placed
from dyno.record import PinningCondition

WORDS = ("auto", "apart", "together", "off")


class Pinning:
    """Worker threads on cores of their own, through the plan; a server's through taskset(1)."""

    summary = "keeps the driver and the engine on chosen cores"
    default = "auto"
    values: ClassVar[dict[str, str]] = {
        "auto": "together for a closed loop of one client of a server where an empty answer takes "
        "three times as long apart (a comparison's pilot tries it), else apart",
        "apart": "an embedded engine gets all cores but the first; a server gets the first "
        "three quarters of them, the driver the rest",
        "together": "driver and engine on one core, the last",
        "off": "the kernel places every thread",
        "LIST": "the driver on these cores (1 or 0-2,5), a server on all others",
    }

    def check(self, value: str) -> None:
        """`UsageError` where `value` is neither a word nor a list of cores of this machine."""
        if value not in WORDS:
            _parse_cores(value)

    def find_refusal(self, value: str, subject: ControlTarget) -> str:
        """There must be cores for both, and a server that runs already must be ours to place."""
        if value in ("off", "LIST"):
            return ""
        if subject.attached and (why := explain_why_not(subject.pid)):
            return why
        usable = sorted(os.sched_getaffinity(0))
        driver, engine = _divide_cores(value, usable, subject.embedded)
        if not driver or not engine:
            return f"{len(usable)} core to share"
        return "" if subject.embedded or shutil.which("taskset") else "no taskset"

    @contextmanager
    def hold(self, value: str, subject: ControlTarget) -> Iterator[ControlResult]:
        """Answers the cores; nothing of this process is changed, so nothing is put back.

        An attached server is placed where we may, and put back; else only the driver is, and the
        record says why.
        """
        usable = sorted(os.sched_getaffinity(0))
        driver, engine = _divide_cores(value, usable, subject.embedded)
        why, before = self.find_refusal(value, subject), _format_cores(usable)
        if value == "off":
            yield ControlResult({"before": before})
        elif subject.attached and driver:
            with keep_placed(subject.pid, engine) if not why else nullcontext(why) as reason:
                cores = PinningCondition(tuple(driver), () if reason else tuple(engine))
                state = {"refused": reason} if reason else {"set": value}
                yield ControlResult({"before": before} | state, pinning=cores)
        elif why:
            yield make_not_held(before, why)
        else:
            prefix = () if subject.embedded else ("taskset", "-c", _format_cores(engine))
            cores = PinningCondition(tuple(driver), tuple(engine))
            yield ControlResult({"before": before, "set": value}, prefix, pinning=cores)


def _divide_cores(value: str, usable: Sequence[int], embedded: bool) -> tuple[list[int], list[int]]:
    """The driver's cores and the engine's; the same where it lives in the driver's process."""
    if value == "off":
        return [], []
    if value == "together":
        return list(usable[-1:]), list(usable[-1:])
    driver = (
        _choose_driver_cores(usable, embedded)
        if value in ("auto", "apart")
        else _parse_cores(value)
    )
    return driver, driver if embedded else [core for core in usable if core not in driver]


def _choose_driver_cores(usable: Sequence[int], embedded: bool) -> list[int]:
    """The driver's cores, the last ones: the first serves most interrupts and everybody else."""
    first = 1 if embedded else len(usable) - max(1, len(usable) // 4)
    return list(usable[first:]) if len(usable) > 1 else []


def _parse_cores(text: str) -> list[int]:
    """`0-2,5` as numbers; `UsageError` where this machine lacks one of them."""
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
        raise build_unknown_error("value of pinning", text, Pinning.values)
    spans = (part.partition("-") for part in text.split(","))
    cores = {core for low, _, high in spans for core in range(int(low), int(high or low) + 1)}
    usable = os.sched_getaffinity(0)
    if not cores or not cores <= usable:
        raise UsageError(
            f"cannot pin to cores {text}", hint=f"usable cores are {_format_cores(sorted(usable))}"
        )
    return sorted(cores)


def _format_cores(cores: Sequence[int]) -> str:
    return ",".join(str(core) for core in cores)


CONTROL = Pinning()
