"""A machine as a survey sees it: its files below one root, and the little that no file tells."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath

from dyno.survey import _calls
from dyno.survey._watched import Sample, Watched, sample


@dataclass(frozen=True)
class Machine:
    """`data` is where the engines' data will lie; it need not be there yet.

    Steal and other load are counted for `watch_s` seconds, or not looked at where that is 0.
    `pause` waits; `free` answers (bytes free, bytes in all) of a folder; `uring_errno` why
    io_uring is refused (0: it is not); `clock_synchronised` whether the kernel's clock is kept by
    somebody (None: unknown).
    """

    root: Path = Path("/")
    data: Path = Path("/")
    watch_s: float = 0.0
    pause: Callable[[float], None] = time.sleep
    free: Callable[[Path], tuple[int, int]] = _calls.free
    uring_errno: Callable[[], int] = _calls.uring_errno
    clock_synchronised: Callable[[], bool | None] = _calls.clock_synchronised

    def path(self, path: str | PurePath) -> Path:
        """Where the machine's `path` lies for us."""
        return self.root / str(path).lstrip("/")

    def text(self, path: str | PurePath) -> str:
        """A file's text without the blanks around it; empty where it cannot be read."""
        with suppress(OSError, UnicodeDecodeError):
            return self.path(path).read_text().strip()
        return ""

    def number(self, path: str | PurePath) -> int | None:
        """The whole number that a file holds."""
        text = self.text(path)
        return int(text) if text.lstrip("-").isdigit() else None

    def after(self, path: str | PurePath, key: str) -> str:
        """The value behind ``key :`` in a file of such lines."""
        lines = (line.partition(":") for line in self.text(path).splitlines())
        return next((value.strip() for name, _, value in lines if name.strip() == key), "")

    def names(self, path: str | PurePath) -> list[str]:
        """What lies in a folder; nothing where it cannot be listed."""
        with suppress(OSError):
            return sorted(each.name for each in self.path(path).iterdir())
        return []

    def usable_cores(self) -> list[int]:
        """The cores that this process may run on (proc_pid_status(5))."""
        return spans(self.after("/proc/self/status", "Cpus_allowed_list"))

    @cached_property
    def watched(self) -> Watched | None:
        """What happened in `watch_s` seconds; None where nobody is to wait, or there is no /proc.

        All subjects share one watch.
        """
        before = self._sample() if self.watch_s > 0 else None
        if before is None:
            return None
        began = time.monotonic()
        self.pause(self.watch_s)
        took_s = max(self.watch_s, time.monotonic() - began)
        after = self._sample()
        return Watched(before, after, took_s) if after else None

    def _sample(self) -> Sample | None:
        return sample(self.text, self.names("/proc"))


def spans(text: str) -> list[int]:
    """`0-2,5` as numbers."""
    parts = (part.partition("-") for part in text.split(",") if part)
    return [n for low, _, high in parts for n in range(int(low), int(high or low) + 1)]
