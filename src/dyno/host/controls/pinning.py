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
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Lock
from typing import ClassVar

from dyno.errors import UsageError, build_unknown_error
from dyno.host.controls import RUNS_ALREADY, ControlResult, ControlTarget, make_not_held
from dyno.record import PinningCondition

#: What the keeper runs: cores and process in, `ok` or a reason out; at the end of its input, back.
#: A server that runs already is moved to chosen cores while a trial lasts, and put back. Its
#: process, those that it began (PostgreSQL's backends and helpers) and all their threads are
#: placed as taskset(1) would place them; what is born later inherits it. A keeper process does it
#: and waits: when we close its line, or die (kill -9 too), it puts every thread back on the cores
#: that it had, and one that was born meanwhile on those of the first process. Allowed to root and
#: to the server's user; else, and for a server of which no process is known here, the reason
#: is said.
#:
#: Limit: where the keeper itself is killed, the server stays where it was placed (`taskset -acp`
#: puts it back).
KEEPER = """
import os, sys
cores, first = set(map(int, sys.argv[2].split(","))), int(sys.argv[1])

def parents():
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                found[int(name)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            pass
    return found

def threads():
    above, family = parents(), {first}
    while more := {pid for pid, parent in above.items() if parent in family} - family:
        family |= more
    for pid in family:
        try:
            yield from map(int, os.listdir(f"/proc/{pid}/task"))
        except OSError:
            pass

before, root = {}, os.sched_getaffinity(first)

def place(wanted):
    for _ in range(3):  # what is born meanwhile is found by the next round
        for thread in threads():
            try:
                before.setdefault(thread, os.sched_getaffinity(thread))
                os.sched_setaffinity(thread, wanted(thread))
            except ProcessLookupError:
                pass

known = {}
try:
    place(lambda thread: cores)
    known = dict(before)
    print("ok", flush=True)
    sys.stdin.read()
except OSError as error:
    known = dict(before)
    print(error.strerror.lower(), flush=True)
finally:
    place(lambda thread: known.get(thread, root))
"""

#: Process to its keeper and how many hold it: two candidates may be one server.
_kept: dict[int, tuple[subprocess.Popen[str], int]] = {}
_lock = Lock()


def explain_why_not(pid: int | None) -> str:
    """Return why we cannot place the server of process `pid`, or ""."""
    if pid is None:
        return RUNS_ALREADY
    try:
        owner = Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return RUNS_ALREADY
    return "" if os.geteuid() in (0, owner) else "the server runs already, as another user"


@contextmanager
def keep_placed(pid: int | None, cores: Sequence[int]) -> Iterator[str]:
    """Keeps the server on `cores`; yields why not, empty where it is there."""
    why = explain_why_not(pid)
    if why or pid is None:
        yield why or RUNS_ALREADY
        return
    why = _hold(pid, cores)
    try:
        yield why
    finally:
        if not why:
            _release(pid)


def _hold(pid: int, cores: Sequence[int]) -> str:
    with _lock:
        if pid in _kept:
            keeper, holders = _kept[pid]
            _kept[pid] = keeper, holders + 1
            return ""
        words = [sys.executable, "-I", "-S", "-c", KEEPER, str(pid), ",".join(map(str, cores))]
        keeper = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # a signal meant for us is not meant for it
        )
        said = keeper.stdout.readline().strip() if keeper.stdout else ""
        if said == "ok":
            _kept[pid] = keeper, 1
            return ""
        keeper.communicate()
        return f"it could not be placed: {said or 'no answer'}"


def _release(pid: int) -> None:
    with _lock:
        keeper, holders = _kept.pop(pid)
        if holders > 1:
            _kept[pid] = keeper, holders - 1
        else:
            keeper.communicate()


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
        if value not in WORDS:
            _parse_cores(value)

    def find_refusal(self, value: str, subject: ControlTarget) -> str:
        """Check that there are cores for both, and that a running server is ours to place."""
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
        """Yield the cores; nothing of this process is changed, so nothing is put back.

        An attached server is placed if we may, and put back; else only the driver is, and the
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
    """Return the driver's cores and the engine's; the same if it lives in the driver's process."""
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
    """Return the last ones: the first serves most interrupts and other processes."""
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
