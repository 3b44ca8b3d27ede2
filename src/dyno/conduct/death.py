"""Tells a server that died, or stands still, from one that refused: the error of its trial."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dyno.engines import Server
from dyno.errors import DynoError, InternalError, TrialFailed

#: What the kernel may take, once a server's connections are gone, to show that it is gone too.
PATIENCE_S = 1.0
#: Lines of the server's log that an error carries.
LINES = 8
#: How much of a log is looked at for them: a dying server may dump a page of its memory.
TAIL_BYTES = 8000
#: Letters of proc_pid_stat(5): stopped by a signal, by a debugger.
STOPPED = ("T", "t")


@contextmanager
def explained(server: Server) -> Iterator[None]:
    """Where the server dies meanwhile, `TrialFailed` with its last words, whatever was raised;
    where it stands still, one that says that.
    """
    try:
        yield
    except InternalError:
        raise
    except DynoError as error:
        told = str(error).partition("\nhint: ")[0]
        if server.pid is not None and _state(server.pid) in STOPPED:
            hint = f"kill -CONT {server.pid} lets it go on"
            raise TrialFailed("the server stands still (SIGSTOP)", cause=told, hint=hint) from error
        if server.pid is None or _lives(server.pid):
            raise
        words = "".join(f"\n  {line}" for line in last_words(server)) or " nothing"
        cause = f"{told}\nits log ends with:{words}"
        raise TrialFailed(f"the server died{_how(server)}", cause=cause) from error


def last_words(server: Server, lines: int = LINES) -> list[str]:
    """The last lines of the server's log; none where it has no log."""
    return tail(server.log).splitlines()[-lines:]


def tail(log: Path | None, size: int = TAIL_BYTES) -> str:
    """The end of a log, from the beginning of a line; empty where there is none."""
    if log is None:
        return ""
    with suppress(OSError), log.open("rb") as file:
        start = max(0, log.stat().st_size - size)
        file.seek(start)
        text = file.read().decode(errors="replace")
        return text.partition("\n")[2] if start and "\n" in text else text
    return ""


def _lives(pid: int) -> bool:
    """Is it there, and no zombie? A dying one is given a moment."""
    end_s = time.monotonic() + PATIENCE_S
    while _state(pid) not in "ZX":
        if time.monotonic() > end_s:
            return True
        time.sleep(0.01)
    return False


def _state(pid: int) -> str:
    """The letter of proc_pid_stat(5); `X` for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "X"


def _how(server: Server) -> str:
    """The signal or exit code, where the engine holds a `Popen` that can tell."""
    poll = getattr(server.handle, "poll", None)
    code = poll() if callable(poll) else None
    if not isinstance(code, int):
        return ""
    return f" (signal {-code})" if code < 0 else f" (exit code {code})"
