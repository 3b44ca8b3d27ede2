"""One process of a server's: how it is spawned, who belongs to it, how all of them end.

A watchdog of a server: does, when we die, what the server's death signal leaves undone.

A process that stands still (SIGSTOP) takes no signal but SIGKILL, so any other death signal would
wait with it; and nobody else knows the folder that was made for its socket.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from dyno.engines._server import account
from dyno.engines._server import log as _words
from dyno.errors import HostError, TrialFailed, UsageError

#: What a tool of a server's (one that makes a data folder) may take.
TOOL_S = 300.0
#: What the kernel may take over a process that was killed: it may have much to write.
KILL_S = 60.0
PAUSE_S = 0.02


def server_environment(home: Path, more: Mapping[str, str]) -> dict[str, str]:
    """As small as it can be, so that runs agree."""
    path = os.environ.get("PATH", os.defpath)
    return {"PATH": path, "LANG": "C", "HOME": str(home), "TMPDIR": str(home), **more}


def spawn(
    command: Sequence[str], surroundings: Mapping[str, str], log: Path, home: Path
) -> subprocess.Popen[bytes]:
    """A process that works in `home`, leads a session of its own and writes into `log`."""
    with log.open("ab") as words:
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
                env=surroundings,
                cwd=home,
                start_new_session=True,
            )
        except OSError as error:
            raise HostError(f"cannot start '{command[0]}'", cause=error.strerror) from error


def run_tool(
    command: Sequence[str], home: Path, given: str = "", more: Mapping[str, str] | None = None
) -> str:
    """What a tool of a server's says, run as the server will be, with `given` as its input.

    `home` becomes the server's; `more` joins the environment. `HostError` where the tool cannot be
    started or lacks a library, `TrialFailed` where it fails.
    """
    user = account.server_account()
    account.give_folder(user, home)
    try:
        done = subprocess.run(
            [*account.account_prefix(user, signal.SIGKILL), *command],
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=server_environment(home, more or {}),
            cwd=home,
            start_new_session=True,
            timeout=TOOL_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TrialFailed(f"{command[0]} was not over after {TOOL_S:.0f} s") from None
    if done.returncode:
        raise _words.failure_of(f"{Path(command[0]).name} failed", done.stdout)
    return done.stdout


def ask_program(command: Sequence[str], more: Mapping[str, str] | None = None) -> str:
    """What a program says for itself (its version, its variables), run as a server would be.

    `more` joins the environment. `UsageError` where it is no program, `HostError` where it lacks a
    library.
    """
    with tempfile.TemporaryDirectory(prefix="dyno-") as scratch:
        try:
            return run_tool(command, Path(scratch), more=more)
        except TrialFailed as failed:
            raise UsageError(f"{command[0]} does not run", cause=failed.cause) from None


def end_family(process: subprocess.Popen[bytes], program: Path, home: Path) -> None:
    """Kills a process and every other one of `program` that works in `home`."""
    process.kill()
    process.wait()
    ends_s = time.monotonic() + KILL_S
    while (left := list(_family(program.resolve(), home.resolve()))) and time.monotonic() < ends_s:
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE_S)


def wake_family(program: Path, home: Path) -> None:
    """Lets every process of `program` that works in `home` go on where it was stopped."""
    for pid in _family(program.resolve(), home.resolve()):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGCONT)


def _family(program: Path, home: Path) -> Iterator[int]:
    """The processes of `program` that work in `home`.

    Neither parent nor group tells: a server's children may lead sessions of their own, and outlive
    it. They all sit in its data folder.
    """
    for found in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            inside = (found / "cwd").readlink().is_relative_to(home)
            if inside and (found / "exe").readlink() == program:
                yield int(found.name)


#: Sleeps until the pipe from us ends, as it does however we die.
BEREFT = 'read -r _; kill -CONT "$1"; test -z "$2" || rm -rf -- "$2"'


def begin_watchdog(pid: int, folder: Path | None) -> subprocess.Popen[bytes]:
    """Starts the watchdog of server `pid`; `folder` goes with it. `HostError` without a shell."""
    command = ["sh", "-c", BEREFT, "dyno-watchdog", str(pid), str(folder or "")]
    quiet = subprocess.DEVNULL
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=quiet,
            stderr=quiet,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise HostError("cannot start 'sh'", cause=error.strerror) from error


def end_watchdog(watchdog: subprocess.Popen[bytes]) -> None:
    """Ends it before it does anything: the server is gone, and its number may be another's."""
    watchdog.kill()
    watchdog.wait()
    if watchdog.stdin is not None:
        watchdog.stdin.close()
