"""A watchdog of a server: does, when we die, what the server's death signal leaves undone.

A process that stands still (SIGSTOP) takes no signal but SIGKILL, so any other death signal would
wait with it; and nobody else knows the folder that was made for its socket.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from dyno.errors import HostError

#: Sleeps until the pipe from us ends, as it does however we die.
BEREFT = 'read -r _; kill -CONT "$1"; test -z "$2" || rm -rf -- "$2"'


def begin(pid: int, folder: Path | None) -> subprocess.Popen[bytes]:
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


def end(watchdog: subprocess.Popen[bytes]) -> None:
    """Ends it before it does anything: the server is gone, and its number may be another's."""
    watchdog.kill()
    watchdog.wait()
    if watchdog.stdin is not None:
        watchdog.stdin.close()
