"""The last lines of a program's output, as much of it as an error shows; a log as it grows; and
what another host's program writes, within a limit.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

#: How much of a log is looked at: a dying server may dump a page of its memory.
LOG_BYTES = 8000
#: So much is kept of the beginning of what another host's program writes, and of its end.
END_BYTES = 512 << 10
#: How long a pipe's end is waited for once its program is gone: another may hold it.
DRAIN_S = 1.0


def extract_last_lines(text: str, most: int) -> str:
    """The last `most` lines, without empty ones at their end."""
    return "\n".join(text.strip().splitlines()[-most:])


def read_tail(log: Path | None, size: int = LOG_BYTES) -> str:
    """The end of a log, from the beginning of a line; empty where there is none."""
    if log is None:
        return ""
    with suppress(OSError), log.open("rb") as file:
        start = max(0, log.stat().st_size - size)
        file.seek(start)
        text = file.read().decode(errors="replace")
        return text.partition("\n")[2] if start and "\n" in text else text
    return ""


@dataclass
class GrowingLog:
    """What a log has gained since it was read last."""

    log: Path
    read: int = 0

    def read_more(self) -> str:
        """The new text; of much only the end."""
        with suppress(OSError), self.log.open("rb") as file:
            size = self.log.stat().st_size
            file.seek(max(self.read, size - LOG_BYTES))
            self.read = size
            return file.read().decode(errors="replace")
        return ""


class DrainedPipe:
    """A pipe that a thread reads to its end, whatever comes: its beginning and its end are kept."""

    def __init__(self, pipe: IO[bytes]) -> None:
        """The pipe is closed at its end."""
        self._head, self._tail, self._size = bytearray(), bytearray(), 0
        self._thread = threading.Thread(target=self._read_all, args=(pipe,), daemon=True)
        self._thread.start()

    def _read_all(self, pipe: IO[bytes]) -> None:
        with pipe:
            while chunk := os.read(pipe.fileno(), 1 << 16):
                room = END_BYTES - len(self._head)
                self._head += chunk[:room]
                self._tail += chunk[room:]
                del self._tail[: max(0, len(self._tail) - END_BYTES)]
                self._size += len(chunk)

    def read_words(self) -> str:
        """What was kept, once the program has ended; between both ends, how much was left out."""
        self._thread.join(DRAIN_S)
        dropped = self._size - len(self._head) - len(self._tail)
        note = f"\n[{dropped} bytes left out]\n".encode() if dropped else b""
        return (self._head + note + self._tail).decode(errors="replace")
