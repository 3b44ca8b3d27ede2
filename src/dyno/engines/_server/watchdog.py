"""A watchdog: a process that ends all of a server's when Dyno dies, however it dies.

The signal that the kernel sends then (`setpriv --pdeathsig`) reaches one process, is lost on one
that ignores it or has no handler for it yet, and waits with one that stands still. So a watchdog
waits beside each server and each tool of a server's, sends the signal to all of them, wakes them,
and kills what is left after a while.

It imports nothing of Dyno's, and until Dyno is gone nothing at all (`WAITING`), so it is small and
there before the server is. It knows the server by its place: its programs' folders and the home it
works in.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

#: The program that waits beside a server, its first word the path of this file. The end of its
#: input means that Dyno is gone, and only then does it load what it takes to end the family.
WAITING = """
from posix import read
while read(0, 1):
    pass
import runpy, sys
runpy.run_path(sys.argv[1], run_name="__main__")
"""
#: What an orphan may take to end by itself: a server frees its shared memory.
GRACE_S = 3.0
#: How long no process must have been seen: one that is starting looks like none.
CALM_S = 0.5
PAUSE_S = 0.02
#: What the kernel adds to the path of a folder that was removed.
REMOVED = " (deleted)"


def find_family(programs: Sequence[Path], home: Path) -> Iterator[int]:
    """The processes of the programs in the folders `programs` that work in `home` or below.

    Neither parent nor group tells: a server's children may lead sessions of their own, and outlive
    it. They all sit in its data folder.
    """
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is another user's
            place = Path(str((process / "cwd").readlink()).removesuffix(REMOVED))
            if place.is_relative_to(home) and (process / "exe").readlink().parent in programs:
                yield int(process.name)


def send(pid: int, *signals: int) -> None:
    """Sends the signals to a process, if it is still there and ours."""
    with suppress(ProcessLookupError, PermissionError):
        for number in signals:
            os.kill(pid, number)


def end(programs: Sequence[Path], home: Path, handle: int, death: int) -> None:
    """Send the family `death`, then kill what is left; `handle` is the home, held open.

    Held open so that a home made anew in its place, by `dyno resume`, is not taken for it.
    """
    asked: set[int] = set()
    began_s = seen_s = time.monotonic()
    while time.monotonic() - seen_s < CALM_S:
        for pid in find_family(programs, home):
            if _is_anothers(pid, home, handle):
                continue
            seen_s = time.monotonic()
            if seen_s - began_s > GRACE_S:
                send(pid, signal.SIGKILL)
            elif pid not in asked:
                asked.add(pid)
                send(pid, death, signal.SIGCONT)
        time.sleep(PAUSE_S)


def _is_anothers(pid: int, home: Path, handle: int) -> bool:
    with suppress(OSError):
        if os.path.samestat(home.stat(), os.fstat(handle)):
            return False
    with suppress(OSError):
        return not str(Path(f"/proc/{pid}/cwd").readlink()).endswith(REMOVED)
    return True


def main(programs: str, home: str, handle: str, death: str, folder: str = "") -> None:
    """End the family, once Dyno is gone; first remove `folder`."""
    if folder:
        # there is no one to tell; what stays is swept by the next run, which says what it cannot
        shutil.rmtree(folder, ignore_errors=True)
    end([Path(each) for each in programs.split(os.pathsep)], Path(home), int(handle), int(death))


if __name__ == "__main__":
    main(*sys.argv[2:])
