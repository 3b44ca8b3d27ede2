"""A server that runs already, moved to chosen cores while a trial lasts, and put back.

Its process, those that it began (PostgreSQL's backends and helpers) and all their threads are
placed as taskset(1) would place them; what is born later inherits it. A keeper process does it and
waits: when we close its line, or die (kill -9 too), it puts every thread back on the cores that it
had, and one that was born meanwhile on those of the first process. Allowed to root and to whoever
runs the server; else, and for a server of which no process is known here, the reason is said.

Limit: where the keeper itself is killed, the server stays where it was placed (`taskset -acp` puts
it back).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from dyno.host.controls import RUNS_ALREADY

#: What the keeper runs: cores and process in, `ok` or a reason out; at the end of its input, back.
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
    """Why the server of process `pid` cannot be placed by us; empty where it can."""
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
