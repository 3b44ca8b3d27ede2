"""What runs in an actor on a Ray node: the agent as a program of its own, and its bytes."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
from contextlib import suppress
from typing import IO

from dyno import subprocesses
from dyno.compare.fleet.messages import PIECE_BYTES
from dyno.tails import extract_last_lines

#: How long the agent has to end by itself.
END_S = 3.0


class AgentProcess:
    """`dyno fleet-host`, as the Python that runs the actor has it."""

    def start(self) -> None:
        """Starts it; its input ends with this process."""
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the actor
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dyno.cli", "fleet-host"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
            start_new_session=True,
        )

    def write(self, data: bytes) -> None:
        """Gives it all of that; `OSError` where it has ended."""
        assert self._process.stdin is not None
        view = memoryview(data)
        while view:
            view = view[os.write(self._process.stdin.fileno(), view) :]

    def read(self, limit_s: float) -> bytes | None:
        """What it has said; None where it says nothing in that time, empty at its end."""
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], limit_s)[0]:
            return None
        return os.read(self._process.stdout.fileno(), PIECE_BYTES)

    def read_errors(self) -> str:
        """The last lines of its stderr."""
        size = os.fstat(self._errors.fileno()).st_size
        text = os.pread(self._errors.fileno(), 8000, max(0, size - 8000))
        return extract_last_lines(text.decode(errors="replace"), 6)

    def close(self) -> None:
        """Ends it."""
        with suppress(OSError):
            if self._process.stdin:
                self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        subprocesses.kill(self._process)
