"""Watchers that kill or stop a process of the trial that they watch."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import processes

from dyno.instruments.time.watch import Event, PhaseEnded, PhaseStarted, Progressed, TrialStarted


class Killer:
    """Kills `whom` once, in the first block: in the load, in the run, or in the pause between both.

    The trial's own thread does it: a phase that is over by then still waits for us.
    """

    def __init__(self, whom: Callable[[int], int], when: str) -> None:
        self.whom, self.when = whom, when
        self.block, self.is_done = 0, False

    def __call__(self, event: Event) -> None:
        if isinstance(event, TrialStarted):
            self.block = event.block
        if self.is_done or self.block != 0 or self.when != self._moment(event):
            return
        self.is_done = True
        time.sleep(0.05)
        self._kill()

    def _moment(self, event: Event) -> str:
        match event:
            case PhaseStarted(phase="prepare"):
                return "load"
            case PhaseEnded(phase="prepare"):
                return "between"
            case PhaseStarted(phase="run"):
                return "run"
        return ""

    def _kill(self) -> None:
        os.kill(self.whom(os.getpid()), signal.SIGKILL)


class Stopper(Killer):
    """Stops the whole server in the same way, and never lets it go on."""

    def _kill(self) -> None:
        processes.send_signal(self.whom(os.getpid()), signal.SIGSTOP)


class Once:
    """Acts once, `after_s` after a moment of a trial, in a thread of its own."""

    #: Of a workload whose warm-up takes half a second of its own time, interleaved of two.
    MOMENTS: ClassVar[dict[str, tuple[Any, str, float]]] = {
        "load": (PhaseStarted, "prepare", 0.05),
        "settle": (PhaseEnded, "prepare", 0.02),
        "warm-up": (PhaseStarted, "run", 0.4),
        "measured phase": (PhaseStarted, "run", 1.6),
    }

    def __init__(self, moment: str, act: Callable[[], object]) -> None:
        self.kind, self.phase, self.after_s = self.MOMENTS[moment]
        self.act = act
        self.timer: threading.Timer | None = None

    def __call__(self, event: Event) -> None:
        if self.timer is None and isinstance(event, self.kind) and event.phase == self.phase:
            self.timer = threading.Timer(self.after_s, self.act)
            self.timer.start()


class Pauser:
    """Stops the whole server of `home` for more than two seconds, one second into the run."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.timer: threading.Timer | None = None

    def __call__(self, event: Event) -> None:
        if self.timer is None and isinstance(event, Progressed) and event.phase == "run":
            server = processes.server_below(os.getpid(), self.home)
            processes.send_signal(server, signal.SIGSTOP)
            self.timer = threading.Timer(2.2, processes.send_signal, (server, signal.SIGCONT))
            self.timer.start()
