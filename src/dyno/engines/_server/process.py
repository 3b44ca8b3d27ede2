"""One process of a server: how it is spawned, which processes belong to it, how all of them end.

Beside each is a watchdog, which ends all of them when we die.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from dyno import scratch, subprocesses
from dyno.access import account
from dyno.builds import keep_answers
from dyno.engines._server import watchdog
from dyno.engines._server.libraries import diagnose_failure
from dyno.engines._server.watchdog import find_family, send
from dyno.errors import HostError, TrialFailed, UsageError

#: What a tool of a server's (one that makes a data folder) may take.
TOOL_S = 300.0
#: What the kernel may take over a process that was killed: it may have much to write.
KILL_S = 60.0
PAUSE_S = 0.02
#: Signals that a shell may have us ignore.
PASSED_ON = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


def build_server_environment(home: Path, more: Mapping[str, str]) -> dict[str, str]:
    path = os.environ.get("PATH", os.defpath)
    return {"PATH": path, "LANG": "C", "HOME": str(home), "TMPDIR": str(home), **more}


def spawn(
    command: Sequence[str], environment: Mapping[str, str], log: Path, home: Path
) -> subprocess.Popen[bytes]:
    """A process that works in `home`, leads a session of its own and writes into `log`."""
    _enable_signals()
    with log.open("ab") as words:
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
                env=environment,
                cwd=home,
                start_new_session=True,
            )
        except OSError as error:
            raise HostError(f"cannot start '{command[0]}'", cause=error.strerror) from error


def run_tool(
    command: Sequence[str],
    home: Path,
    given: str = "",
    more: Mapping[str, str] | None = None,
    limit_s: float = TOOL_S,
) -> str:
    """What a tool of a server's says, run as the server will be, with `given` as its input.

    `home` becomes the server's; `more` joins the environment. `HostError` where the tool cannot be
    started or lacks a library, `TrialFailed` where it fails.
    """
    user = account.find_server_account()
    account.give_folder(user, home)
    _enable_signals()
    with _run_watchdog(command[0], home):
        prefix = account.build_account_prefix(user, signal.SIGKILL)
        try:
            done = _run([*prefix, *command], limit_s, given, home, more or {})
        except subprocess.TimeoutExpired:
            raise TrialFailed(f"{command[0]} took longer than {limit_s:.0f} s") from None
    if done.returncode:
        raise diagnose_failure(f"{Path(command[0]).name} failed", done.stdout)
    return done.stdout


def _run(
    command: Sequence[str], limit_s: float, given: str, home: Path, more: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    heed = subprocesses.Heed()
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=build_server_environment(home, more),
        cwd=home,
        start_new_session=True,
    )
    return subprocesses.finish(process, heed, limit_s, given)


def ask_program(command: Sequence[str], more: Mapping[str, str] | None = None) -> str:
    """What a program says for itself (its version, its variables), run as a server would be.

    `more` joins the environment. `UsageError` where it is no program, `HostError` where it lacks a
    library.
    """
    return _ask_program(Path(command[0]), tuple(command), tuple((more or {}).items()))


@keep_answers
def _ask_program(_: Path, command: tuple[str, ...], more: tuple[tuple[str, str], ...]) -> str:
    with scratch.make_folder("ask") as place:
        try:
            return run_tool(command, place, more=dict(more))
        except TrialFailed as failed:
            raise UsageError(f"{command[0]} does not run", cause=failed.cause) from None


def end_process(process: subprocess.Popen[bytes], programs: Sequence[Path], home: Path) -> None:
    """Kills a process and every other one of the programs beside it that works in `home`."""
    process.kill()
    process.wait()
    end_family(programs, home)


def end_family(programs: Sequence[Path], home: Path) -> None:
    """Kills every process of `programs`, and of those that lie beside it, that works in `home`."""
    ends_s = time.monotonic() + KILL_S
    folders, home = find_folders(programs), home.resolve()
    while (left := list(find_family(folders, home))) and time.monotonic() < ends_s:
        for pid in left:
            send(pid, signal.SIGKILL)
        time.sleep(PAUSE_S)


def wake_family(programs: Sequence[Path], home: Path) -> None:
    for pid in find_family(find_folders(programs), home.resolve()):
        send(pid, signal.SIGCONT)


def find_folders(programs: Sequence[Path]) -> list[Path]:
    return [program.resolve().parent for program in programs]


def begin_watchdog(
    programs: Sequence[Path], home: Path, death: signal.Signals, folder: Path | None = None
) -> subprocess.Popen[bytes]:
    """Starts the watchdog of what will work in `home`; `folder` goes with it.

    `programs` are those it may be, each with what lies beside it. `HostError` where it cannot be
    started.
    """
    quiet, handle = subprocess.DEVNULL, os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    folders = os.pathsep.join(map(str, find_folders(programs)))
    about = [watchdog.__file__, folders, home.resolve(), handle, int(death), folder or ""]
    try:
        return subprocess.Popen(
            [sys.executable, "-IS", "-c", watchdog.WAITING, *map(str, about)],
            stdin=subprocess.PIPE,
            stdout=quiet,
            stderr=quiet,
            cwd="/",
            pass_fds=(handle,),
            start_new_session=True,
        )
    except OSError as error:
        raise HostError(f"cannot start '{sys.executable}'", cause=error.strerror) from error
    finally:
        os.close(handle)


def end_watchdog(watchdog: subprocess.Popen[bytes]) -> None:
    """Kill it before it does anything: the processes that it watches are gone."""
    watchdog.kill()
    watchdog.wait()
    if watchdog.stdin is not None:
        watchdog.stdin.close()


@contextmanager
def _run_watchdog(program: str, home: Path) -> Iterator[None]:
    """Kill what `program` starts in `home` when we die, and at the end."""
    places = [Path(shutil.which(program) or program)]
    watchdog = begin_watchdog(places, home, signal.SIGKILL)
    try:
        yield
    finally:
        end_family(places, home)
        end_watchdog(watchdog)


def _enable_signals() -> None:
    """Handle signals that we were started with ignored (by `dyno … &`, by nohup), so that what we
    start has their default: a handler is not inherited, unlike an ignored signal.
    """
    if threading.current_thread() is threading.main_thread():
        for number in PASSED_ON:
            if signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, _do_nothing)


def _do_nothing(_: int, __: FrameType | None) -> None:
    """A handler by which a signal stays without effect."""
