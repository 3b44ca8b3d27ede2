"""Lines to a driver and lines from it, each waited for until a time that its caller sets."""

from __future__ import annotations

import os
import select
import subprocess
import time
from contextlib import suppress


class DriverLines:
    """The stdin and stdout of a `process` that was started with unbuffered pipes for both."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._buffer = bytearray()

    def say(self, line: str) -> None:
        """Sends a line. A process that died meanwhile is noticed where its answer is missing."""
        assert self._process.stdin
        with suppress(BrokenPipeError):
            self._process.stdin.write(line.encode() + b"\n")

    def read(self, until_s: float, most_bytes: int) -> bytes:
        """The next line, without its end.

        `TimeoutError` where it is not whole by `until_s` (of time.monotonic), `EOFError` where the
        process ends before, `OverflowError` where it is longer than `most_bytes`.
        """
        assert self._process.stdout
        poll = select.poll()
        poll.register(self._process.stdout, select.POLLIN)
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if not poll.poll(max(0.0, until_s - time.monotonic()) * 1000):
                raise TimeoutError
            chunk = os.read(self._process.stdout.fileno(), 1 << 18)
            if not chunk:
                raise EOFError
            self._buffer += chunk
            if len(self._buffer) > most_bytes:
                raise OverflowError
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line
