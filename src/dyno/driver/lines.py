"""Lines to a driver and lines from it, each waited for until a time that its caller sets."""

from __future__ import annotations

import os
import select
import subprocess
import time
from contextlib import suppress

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
