"""A driver that plays a plan: its process, our side of the handshake, and lines to and from it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from dyno import private_files
from dyno.driver.events import ClientEvent, Event, Hello, explain_silence, parse_event
from dyno.driver.plan import VERSION, Plan
from dyno.driver.questions import build_driver_environment, find_driver
from dyno.errors import DynoError, HostError, InternalError, TrialFailed
from dyno.tails import LOG_BYTES, DrainedPipe, read_tail

#: What a process may take to read a line of ours.
SAY_S = 60.0


class DriverLines:
    """The stdin and stdout of a `process` that was started with unbuffered pipes for both."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._buffer = bytearray()
        self._searched = 0
        if process.stdin:
            os.set_blocking(process.stdin.fileno(), False)

    def say(self, line: str, limit_s: float = SAY_S) -> None:
        """Sends a line. A process that died meanwhile, or has not read it in `limit_s`, is noticed
        where its answer is missing.
        """
        assert self._process.stdin
        handle, poll = self._process.stdin.fileno(), select.poll()
        poll.register(handle, select.POLLOUT)
        left, until_s = memoryview(line.encode() + b"\n"), time.monotonic() + limit_s
        with suppress(BrokenPipeError, BlockingIOError):
            while left:
                poll.poll(max(0.0, until_s - time.monotonic()) * 1000)
                left = left[os.write(handle, left) :]

    def read(self, until_s: float, most_bytes: int) -> bytes:
        """The next line, without its end.

        `TimeoutError` where it is not whole by `until_s` (of time.monotonic), `EOFError` where the
        process ends before, `OverflowError` where it is longer than `most_bytes`.
        """
        poll = select.poll()
        poll.register(self.handle, select.POLLIN)
        while (line := self.take()) is None:
            if not poll.poll(max(0.0, until_s - time.monotonic()) * 1000):
                raise TimeoutError
            self.fill(most_bytes)
        return line

    @property
    def handle(self) -> int:
        """What to wait for by poll(2)."""
        assert self._process.stdout
        return self._process.stdout.fileno()

    @property
    def said(self) -> bytes:
        """What came of the next line so far."""
        return bytes(self._buffer)

    def take(self) -> bytes | None:
        """The next line where it is here whole."""
        end = self._buffer.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._buffer)
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        return line

    def fill(self, most_bytes: int) -> None:
        """Takes over what the process has said, once there is something; errors as `read`."""
        chunk = os.read(self.handle, 1 << 18)
        if not chunk:
            raise EOFError
        self._buffer += chunk
        if len(self._buffer) > most_bytes:
            raise OverflowError


#: What a line of the driver's may take; a phase of thousands of streams needs far less.
LINE_BYTES = 64 << 20
#: What a driver that has closed its output may take to end.
END_S = 30.0


@dataclass(frozen=True)
class DriverLaunch:
    """How to start a driver: the command before it, what joins its environment, its stderr.

    That is a `log`, or `stderr`, a stream of ours; `passed` are files of ours that the programs
    which a script starts may write to. `command` is the whole command where it is not that of our
    own driver: of a client host's stderr both ends join the log, once it has ended.
    """

    log: Path | None
    prefix: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    stderr: int | None = None
    passed: tuple[int, ...] = ()
    command: tuple[str, ...] = ()


@dataclass(frozen=True)
class Limit:
    """How long the driver may take for what it is `doing`; every wait has one."""

    doing: str
    limit_s: float
    began_s: float = field(default_factory=time.monotonic)


@contextmanager
def _open_stderr(launch: DriverLaunch) -> Iterator[IO[bytes] | int | None]:
    """The driver's stderr."""
    if launch.log is None:
        yield launch.stderr
        return
    with open(launch.log, "ab", opener=private_files.open_private) as log:
        yield log


class DriverProcess:
    """A driver that plays a plan. It leads a process group of its own, so that Ctrl-C reaches it
    only through us; it dies with us (parent-death signal, and the end of its stdin).
    """

    def __init__(self, plan: Plan | None, launch: DriverLaunch) -> None:
        """Starts the driver and hands it the plan, where there is one yet; `HostError` where it
        cannot be started.
        """
        self._log = launch.log
        command = list(launch.command) or [*launch.prefix, str(find_driver()), "run"]
        sys.stdout.flush()
        with _open_stderr(launch) as stderr:
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE if launch.command else stderr,
                    pass_fds=launch.passed,
                    env=build_driver_environment()
                    | launch.environment
                    | ({"DYNO_PASSED": ",".join(map(str, launch.passed))} if launch.passed else {}),
                    start_new_session=True,
                    bufsize=0,
                )
            except OSError as error:
                raise HostError(f"cannot start '{command[0]}'", cause=error.strerror) from error
        self.pid = self._process.pid
        pipe = self._process.stderr
        self._words = DrainedPipe(pipe) if pipe else None
        self.lines = DriverLines(self._process)
        if plan:
            self.lines.say(plan.to_line())

    def go(self, start_ns: int | None = None) -> None:
        """Lets the driver go on after a `Settle`, `Ready`, `Answered` or a phase's record.

        An interleaved phase starts at `start_ns` (CLOCK_MONOTONIC), as all of its block do.
        """
        self.lines.say("go" if start_ns is None else f"go {start_ns}")

    def read_event(self, limit: Limit) -> Event:
        """The next event; the driver's own error is raised as the exception it stands for.

        `TrialFailed` where the driver is gone or the limit is over.
        """
        while True:
            event = parse_event(self._read_line(limit))
            if isinstance(event, Hello):
                check_version(event)
            elif not isinstance(event, ClientEvent):
                return event

    def interrupt(self) -> None:
        """Asks the driver to end now and say what it measured so far."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGINT)

    def close(self) -> None:
        """Kills what is left of the driver's process group, and reaps it."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        words, self._words = self._words, None
        if words and self._log and (said := words.read_words()):
            with open(self._log, "a", opener=private_files.open_private) as log:
                log.write(said)

    def __enter__(self) -> DriverProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_line(self, limit: Limit) -> bytes:
        try:
            return self.lines.read(limit.began_s + limit.limit_s, LINE_BYTES)
        except TimeoutError:
            raise TrialFailed(f"{limit.doing} took longer than {limit.limit_s:.0f} s") from None
        except EOFError:
            raise self.explain_end() from None
        except OverflowError:
            raise InternalError(
                f"the driver sent a line of more than {LINE_BYTES >> 20} MB"
            ) from None

    @property
    def exit_code(self) -> int | None:
        """How it has ended, once that is explained."""
        return self._process.returncode

    def explain_end(self, limit_s: float = END_S) -> DynoError:
        """Why it has ended, where it gave no reason."""
        try:
            code = self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return TrialFailed(f"the driver closed its output and did not end in {limit_s:g} s")
        words = self._words.read_words() if self._words else read_tail(self._log)
        return explain_silence(code, words[-LOG_BYTES:])


def check_version(hello: Hello) -> None:
    """`HostError` where the driver speaks another version of the plan."""
    if hello.version != VERSION:
        raise HostError(
            f"dyno-driver speaks version {hello.version} of the plan, dyno {VERSION}",
            hint="make setup builds both from one source",
        )
