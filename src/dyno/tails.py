"""The last lines of a program's output, as much of it as an error shows; and a log as it grows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: How much of a log is looked at: a dying server may dump a page of its memory.
LOG_BYTES = 8000


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
