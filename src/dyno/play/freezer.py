"""Freezing an engine while others have their turn: every process of it stands still.

By SIGSTOP, which no process can refuse. One that has changed its user may be beyond what we may
signal: it is counted as refused, and audit `turns` says so. An engine's purge, checkpoint,
compaction or autovacuum then cost its own windows and not its neighbour's. What it had under way in
the disk goes on; its timers see the time jump (docs/METHOD.md, Turns).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from typing import Protocol

#: Processes of an engine, asked anew for each switch: a server starts and ends some. One is stopped
#: before the next is asked for.
Processes = Callable[[], Iterable[int]]


class Freezable(Protocol):
    """Something that can be made to stand still, and to go on."""

    @property
    def refused(self) -> int:
        """How many of its processes we might not signal, at the switch where they were most."""

    def freeze(self) -> None:
        """Makes it stand still."""

    def thaw(self) -> None:
        """Lets it go on; it may be running."""


class NeverFrozen:
    """An engine that runs on while others have their turn: somebody else's."""

    refused = 0

    def freeze(self) -> None:
        """Does nothing."""

    def thaw(self) -> None:
        """Does nothing."""


class ProcessFreezer:
    """Freezes processes by signals, parents before children, and wakes them the other way round: a
    parent that saw its child stand still might take it for dead.
    """

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._frozen: list[int] = []
        self.refused = 0

    def freeze(self) -> None:
        """Stops every process there is now; those already stopped are left alone."""
        if not self._frozen:
            refused = 0
            for pid in self._processes():
                self._frozen.append(pid)
                refused += not _signal(pid, signal.SIGSTOP)
            self.refused = max(self.refused, refused)

    def thaw(self) -> None:
        """Wakes those that were stopped."""
        frozen, self._frozen = self._frozen, []
        for pid in reversed(frozen):
            _signal(pid, signal.SIGCONT)


def _signal(pid: int, number: signal.Signals) -> bool:
    """False where we may not; one that is gone needs none."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
    except PermissionError:
        return False
    return True
