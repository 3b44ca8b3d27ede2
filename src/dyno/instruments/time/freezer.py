"""Freezing an engine while others have their turn: every process of it stands still.

By SIGSTOP, which no process can refuse. One that has changed its user may be beyond what we may
signal: it is counted as refused. Before those that were stopped are woken, the CPU time that they
used meanwhile is read: somebody else may have woken them. Audit `interleaving` judges both. An
engine's purge, checkpoint, compaction or autovacuum then cost its own slices and not its
neighbour's. What it had under way in the disk goes on; its timers see the time jump
(docs/METHOD.md, Interleaving).
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from typing import Protocol

from dyno.host.processes import read_cpu_ns
from dyno.record import Suspended

#: Processes of an engine, asked anew for each switch: a server starts and ends some. One is stopped
#: before the next is asked for.
Processes = Callable[[], Iterable[int]]


class Freezable(Protocol):
    """Something that can be made to stand still, and to go on."""

    @property
    def refused(self) -> int:
        """How many of its processes we might not signal, at the switch where they were most."""

    @property
    def suspended(self) -> Suspended | None:
        """What its processes did so far while they were to stand still; None where unseen."""

    def freeze(self) -> None:
        """Makes it stand still."""

    def thaw(self) -> None:
        """Lets it go on; it may be running."""


class NeverFrozen:
    """An engine that runs on while others have their turn: somebody else's."""

    refused = 0
    suspended = None

    def freeze(self) -> None:
        """Does nothing."""

    def thaw(self) -> None:
        """Does nothing."""


class ProcessFreezer:
    """Freezes processes by signals, parents before children, and wakes them the other way round: a
    parent that saw its child stand still might take it for dead.
    """

    def __init__(
        self, processes: Processes, read_cpu_ns: Callable[[int], int] = read_cpu_ns
    ) -> None:
        self._processes, self._read_cpu_ns = processes, read_cpu_ns
        self._frozen: list[int] = []
        self._stopped_ns, self._used_ns = 0, dict[int, int]()
        self.refused = 0
        self.suspended: Suspended | None = Suspended()

    def freeze(self) -> None:
        """Stops every process there is now; those already stopped are left alone."""
        if not self._frozen:
            refused = 0
            for pid in self._processes():
                self._frozen.append(pid)
                refused += not _send_signal(pid, signal.SIGSTOP)
            self.refused = max(self.refused, refused)
            self._stopped_ns, self._used_ns = time.monotonic_ns(), self._read_cpu()

    def thaw(self) -> None:
        """Wakes those that were stopped."""
        if self._frozen:
            self._add_up()
        frozen, self._frozen = self._frozen, []
        for pid in reversed(frozen):
            _send_signal(pid, signal.SIGCONT)

    def _add_up(self) -> None:
        """Adds what the processes used since they were stopped; one that is gone used nothing."""
        used_ns = self._read_cpu()
        if self.suspended is not None:
            spent_ns = (max(0, used_ns[pid] - before) for pid, before in self._used_ns.items())
            time_ns = time.monotonic_ns() - self._stopped_ns
            self.suspended += Suspended(1, time_ns, sum(spent_ns))

    def _read_cpu(self) -> dict[int, int]:
        """CPU of each that is stopped: a call of a microsecond each."""
        try:
            return {pid: self._read_cpu_ns(pid) for pid in self._frozen}
        except PermissionError:
            self.suspended = None
            return {}


def _send_signal(pid: int, number: signal.Signals) -> bool:
    """False where we may not; one that is gone needs none."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
    except PermissionError:
        return False
    return True
