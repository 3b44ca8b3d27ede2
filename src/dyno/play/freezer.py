"""Freezing an engine while others have their turn: every process of it stands still.

By SIGSTOP, which nobody can refuse and whoever started a process may send. Its purge, checkpoint,
compaction or autovacuum then cost its own windows and not its neighbour's. What it had under way in
the disk goes on; its timers see the time jump (docs/METHOD.md, Turns).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol

#: Processes of an engine, asked anew for each switch: a server starts and ends some. One is stopped
#: before the next is asked for.
Processes = Callable[[], Iterable[int]]


class Freezable(Protocol):
    """Something that can be made to stand still, and to go on."""

    def freeze(self) -> None:
        """Makes it stand still."""

    def thaw(self) -> None:
        """Lets it go on; it may be running."""


class NeverFrozen:
    """An engine that runs on while others have their turn: somebody else's."""

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

    def freeze(self) -> None:
        """Stops every process there is now; those already stopped are left alone."""
        if not self._frozen:
            for pid in self._processes():
                self._frozen.append(pid)
                _signal([pid], signal.SIGSTOP)

    def thaw(self) -> None:
        """Wakes those that were stopped."""
        frozen, self._frozen = self._frozen, []
        _signal(reversed(frozen), signal.SIGCONT)


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
