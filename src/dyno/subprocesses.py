"""Programs that are started and waited for: each has a time limit, and ends at the first interrupt.

A program that writes is `guarded`: where Dyno is killed, a shell beside it sees its input end and
kills the group, for a registry's client that goes on alone would meet the next one in its folder.

Python raises an interrupt in the main thread alone, while another thread would wait for its program
to the end. So what is waited for is known here, and `interrupt`, which the command line calls at
SIGINT and SIGTERM, kills all of it; whichever thread waited has a `KeyboardInterrupt` then. What is
asked after an interrupt, to clean up, is given `AFTERWARDS_S` at most.
"""

from __future__ import annotations

import errno
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

#: What may still be waited for once we were interrupted.
AFTERWARDS_S = 10.0
#: How often a program's end is looked for that another's end would end.
LOOK_S = 0.2

#: Those that are waited for, and how often we were interrupted. A signal's handler reads them in
#: the middle of anything, so they have no lock: each change is one step of the interpreter's.
_waited: dict[int, subprocess.Popen[Any]] = {}
_interrupts: list[float] = []


def interrupt() -> None:
    """Ends every program that is waited for; to be called by a signal's handler."""
    _interrupts.append(time.monotonic())
    for process in list(_waited.values()):
        kill(process)


def choose_limit(limit_s: float) -> float:
    """The time limit of a new wait, in s: shorter once we were interrupted."""
    return min(limit_s, AFTERWARDS_S) if _interrupts else limit_s


class Heed:
    """Whether we were interrupted since this was made: for loops that wait in any thread."""

    def __init__(self) -> None:
        self._before = len(_interrupts)

    def check(self) -> None:
        """`KeyboardInterrupt` where we were."""
        if len(_interrupts) > self._before:
            raise KeyboardInterrupt

    def pause(self, seconds: float) -> None:
        """Sleeps so long; `KeyboardInterrupt` where we were interrupted before or meanwhile."""
        self.check()
        time.sleep(seconds)
        self.check()


@contextmanager
def wait_for(process: subprocess.Popen[Any], heed: Heed) -> Iterator[None]:
    """While `process` is waited for; `KeyboardInterrupt` where an interrupt has ended it.

    `heed` was made before the process was.
    """
    _waited[id(process)] = process
    try:
        heed.check()
        yield
    except Exception:
        heed.check()
        raise
    finally:
        del _waited[id(process)]
    heed.check()


#: Runs its words; when its input ends, kills its group.
GUARD = """
exec 3<&0 </dev/null
"$@" 3<&- & program=$!
{ read -r _ <&3; kill -KILL 0; } >/dev/null 2>&1 &
exec 3<&-
wait $program
"""


def guard(command: Sequence[str]) -> list[str]:
    """The command beside its guard; who starts it leads it into a session of its own, and keeps the
    other end of its input open for as long as it may run.
    """
    return ["/bin/sh", "-c", GUARD, "guard", *command]


def run(
    command: Sequence[str],
    limit_s: float,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """What a program ends with, its output and errors as text; its input is empty.

    It leads a session, which is killed whole: registries' clients start others.
    `subprocess.TimeoutExpired` after `limit_s`, `OSError` where it cannot be started.
    """
    return _run(command, limit_s, folder, environment, subprocess.DEVNULL)


def run_beside(
    pid: int, command: Sequence[str], limit_s: float
) -> subprocess.CompletedProcess[str]:
    """The same for a program that talks to process `pid`: `ProcessLookupError` as soon as that has
    ended, for what talks to the dead may wait for ever.
    """
    watched = os.pidfd_open(pid)
    try:
        heed, ends_s = Heed(), time.monotonic() + choose_limit(limit_s)
        process = _start(command, None, None, subprocess.DEVNULL)
        with process, wait_for(process, heed):
            try:
                while True:
                    with suppress(subprocess.TimeoutExpired):
                        said, words = process.communicate(timeout=LOOK_S)
                        break
                    if select.select([watched], [], [], 0)[0]:
                        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
                    if time.monotonic() > ends_s:
                        raise subprocess.TimeoutExpired(command, limit_s)
            except BaseException:
                kill(process)
                raise
    finally:
        os.close(watched)
    return subprocess.CompletedProcess(command, process.returncode, said, words)


def run_guarded(
    command: Sequence[str],
    limit_s: float,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """The same for a program that writes files: it ends with us, however we end."""
    path = (os.environ if environment is None else environment).get("PATH", os.defpath)
    if shutil.which(command[0], path=path) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
    ours, theirs = os.pipe()
    try:
        done = _run(guard(command), limit_s, folder, environment, ours)
    finally:
        os.close(ours)
        os.close(theirs)
    return subprocess.CompletedProcess(command, done.returncode, done.stdout, done.stderr)


def _run(
    command: Sequence[str],
    limit_s: float,
    folder: Path | None,
    environment: Mapping[str, str] | None,
    given: int,
) -> subprocess.CompletedProcess[str]:
    heed = Heed()
    return finish(_start(command, folder, environment, given), heed, limit_s)


def _start(
    command: Sequence[str],
    folder: Path | None,
    environment: Mapping[str, str] | None,
    given: int,
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        stdin=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        cwd=folder,
        env=environment,
        start_new_session=True,
    )


def finish(
    process: subprocess.Popen[str], heed: Heed, limit_s: float, given: str | None = None
) -> subprocess.CompletedProcess[str]:
    """What a program that is started ends with, as `run` has it, `given` its input; `heed` was made
    before the process was.
    """
    with process:
        try:
            with wait_for(process, heed):
                said, words = process.communicate(given, timeout=choose_limit(limit_s))
        except BaseException:
            kill(process)
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, said, words or "")


def kill(process: subprocess.Popen[Any]) -> None:
    """Kills a program with the group that it leads, if it leads one."""
    if process.returncode is None:
        # it has ended, or took another user, whose watchdog ends it
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(process.pid) == process.pid:
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
