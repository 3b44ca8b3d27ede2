"""The switch between those that are interleaved: wakes the engine whose time it is, suspends the
others.

It keeps count of its own lateness. Where Dyno itself stands still (a signal, a machine that is
paused, a garbage collection), the engine that runs then has the time of all others, and nothing
else in a record would say so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from itertools import count, groupby
from typing import Protocol

from msgspec.structs import replace

from dyno.driver.plan import SlicePlan
from dyno.errors import InternalError
from dyno.instruments.time.freezer import Freezable
from dyno.record import Switches

#: An engine is woken so long before its time, where the drain before that is as long.
WAKE_BEFORE_NS = 1_000_000
#: A switch that is so late tells of a standstill. What is shorter is the scheduler's of a busy
#: host, meets all candidates alike, and is what the limits on noise are for.
LATE_NS = 50_000_000


def iterate_turns(turns: SlicePlan) -> Iterator[tuple[int, int]]:
    """Whose time begins when, in ns from the start, without end: the driver's timeline."""
    candidates = max(turns.order) + 1
    epoch_ns = 0
    for epoch in count():
        if turns.epoch_turns:
            owns = range(candidates) if epoch % 2 == 0 else reversed(range(candidates))
            for place, own in enumerate(owns):
                yield own, epoch_ns + place * turns.connect_ns
        begin_ns = epoch_ns + (candidates * turns.connect_ns if turns.epoch_turns else 0)
        width = turns.epoch_turns or len(turns.order)
        for place in range(width):
            turn = epoch * width + place
            yield turns.order[turn % len(turns.order)], begin_ns + place * turns.turn_ns
        epoch_ns = begin_ns + width * turns.turn_ns


class SwitchClock(Protocol):
    """CLOCK_MONOTONIC, and waiting by it."""

    def read_ns(self) -> int:
        """Now."""

    def wait_until(self, at_ns: int, stopped: threading.Event) -> bool:
        """Waits until then; True at once where it is stopped."""


class MonotonicClock:
    """The machine's."""

    def read_ns(self) -> int:
        """Now."""
        return time.monotonic_ns()

    def wait_until(self, at_ns: int, stopped: threading.Event) -> bool:
        """Waits until then; True at once where it is stopped."""
        return stopped.wait(max(0.0, (at_ns - time.monotonic_ns()) / 1e9))


class Lateness:
    """How late the turns of a phase began, and what that took from each candidate's time.

    A turn that begins late is played by an engine that stands still, while the one before goes on.
    """

    def __init__(self, turns: SlicePlan) -> None:
        self._lost_ns = dict.fromkeys(range(max(turns.order) + 1), 0)
        self._count, self._most_ns = 0, 0
        self._last: tuple[int, int, int] | None = None

    def begin(self, own: int, planned_ns: int, begun_ns: int) -> None:
        """The turn of `own` was planned for then, and its engine was awake from then on."""
        self.end(planned_ns)
        late_ns = max(0, begun_ns - planned_ns)
        self._count, self._most_ns = self._count + 1, max(self._most_ns, late_ns)
        self._last = own, planned_ns, late_ns

    def end(self, at_ns: int) -> None:
        """The last turn that began was planned to last until then."""
        if self._last is not None:
            own, planned_ns, late_ns = self._last
            if late_ns > LATE_NS:
                self._lost_ns[own] += min(late_ns, max(0, at_ns - planned_ns))
        self._last = None

    def list_switches(self) -> dict[int, Switches]:
        """For each candidate's record."""
        return {
            own: Switches(self._count, self._most_ns, lost_ns)
            for own, lost_ns in self._lost_ns.items()
        }


class Switch(threading.Thread):
    """Lets the engine run whose time it is, and no other; at its end all run."""

    def __init__(
        self,
        turns: SlicePlan,
        start_ns: int,
        engines: Mapping[int, Freezable],
        clock: SwitchClock | None = None,
    ) -> None:
        super().__init__(name="switch", daemon=True)
        self._turns, self._start_ns, self._engines = turns, start_ns, engines
        self._clock = clock or MonotonicClock()
        self._stopped = threading.Event()
        self.lateness = Lateness(turns)
        self._before = {own: engine.suspended for own, engine in engines.items()}

    def run(self) -> None:
        """Wakes each candidate's engine a moment before its time, and stops the others at it.

        A server is awake only half a millisecond or more after it is told to be. Was it told at
        its time, that is gone from its slice (docs/evidence/suspending.md). Whoever has the turn
        before is in its drain by then, and begins nothing.
        """
        try:
            for own, begin_ns in self._plan_turns():
                if self._is_over_at(own, begin_ns):
                    return
        finally:
            self._wake_all()

    def _plan_turns(self) -> Iterator[tuple[int, int]]:
        """Who has the turn from when on: turns of one candidate that follow each other are one."""
        for own, turns_ns in groupby(iterate_turns(self._turns), key=lambda turn: turn[0]):
            yield own, self._start_ns + next(begin_ns for _, begin_ns in turns_ns)

    def _is_over_at(self, own: int, begin_ns: int) -> bool:
        """Begins the turn of `own`; True where it is stopped before that is due.

        Where it is stopped too late, since Dyno stood still up to the phase's end, the turns that
        should have begun were lost.
        """
        wait, now_ns = self._clock.wait_until, self._clock.read_ns
        lead_ns = min(self._turns.drain_ns, WAKE_BEFORE_NS)
        if wait(begin_ns - lead_ns, self._stopped):
            if is_over := begin_ns >= now_ns():
                self.lateness.end(begin_ns)
            else:
                self.lateness.begin(own, begin_ns, now_ns())
            return is_over
        self._engines[own].thaw()
        self.lateness.begin(own, begin_ns, now_ns())
        if not wait(begin_ns, self._stopped):
            for number, engine in self._engines.items():
                if number != own:
                    engine.freeze()
        return False

    def _wake_all(self) -> None:
        for engine in self._engines.values():
            engine.thaw()

    def list_switches(self) -> dict[int, Switches]:
        """For each candidate's record, once it is over."""
        found = self.lateness.list_switches()
        for own, engine in self._engines.items():
            before, now = self._before[own], engine.suspended
            suspended = now - before if now is not None and before is not None else None
            found[own] = replace(found[own], refused=engine.refused, suspended=suspended)
        return found

    def stop(self) -> None:
        """Ends it; nobody stands still when this returns."""
        self._stopped.set()
        if self.is_alive():
            self.join(10.0)
        if self.is_alive():
            raise InternalError("the slices of a phase do not end")
        self._wake_all()
