"""Interleaved trials: several engines, all started, are played in short slices in turn.

What else a host does is slow: it meets neighbouring slices alike, and cancels in their ratio. The
drivers know whose slice it is from the clock alone (`schedule/timeline.rs`); here is the rest: the
order of the turns, and where the trials of a block meet before and after each phase. `switch.py`
suspends the engine of a side that has no turn.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from dyno.driver.plan import SlicePlan
from dyno.instruments.time.cpu_samples import PhaseSampler, PhaseSamples
from dyno.instruments.time.freezer import Freezable
from dyno.instruments.time.switch import Switch
from dyno.record import Candidate, Interleaving, Run, Switches, WorkloadPlan
from dyno.record.turn_order import connect_s, count_epoch_turns, draw_turn_order

#: From the last `go` to the common start: what a driver takes to hear it.
START_AFTER_S = 0.05


class InterleavingBroken(Exception):
    """Another trial of the block has failed, or was stopped: nobody is left to be interleaved
    with.
    """


def plan_turns(
    design: Interleaving, run: Run, workload: WorkloadPlan, block: int, sides: Sequence[Candidate]
) -> list[SlicePlan]:
    """The turns of each candidate in a block; the order is the run's seed's."""
    time_slice = design.find_slice(workload.name)
    first = SlicePlan(
        order=draw_turn_order(run, workload, block, len(sides)),
        own=0,
        slice_ns=round(time_slice.length_s * 1e9),
        drain_ns=round(time_slice.drain_s * 1e9),
        ramp_in_ns=round(time_slice.ramp_in_s * 1e9),
        epoch_turns=count_epoch_turns(design, workload, len(sides)),
        connect_ns=round(connect_s(workload) * 1e9),
        frozen=False,
    )
    stand_still = [design.is_freezing(workload.name) and not side.attached for side in sides]
    return [replace(first, own=own, frozen=frozen) for own, frozen in enumerate(stand_still)]


class InterleavedBlock:
    """What the trials of a block share that are interleaved: where they meet, and who stands
    still. `sampler` samples the CPU time of all their engines, None: nobody does.
    """

    def __init__(
        self, turns: Sequence[SlicePlan], frozen: bool, sampler: PhaseSampler | None = None
    ) -> None:
        self.turns, self.frozen, self.sampler = tuple(turns), frozen, sampler
        self.places: dict[int, TrialProcesses] = {}
        self.broken = False
        self._start_ns = 0
        self._switch: Switch | None = None
        self._switches: dict[int, Switches] = {}
        self._ready = threading.Barrier(len(turns))
        self._started = threading.Barrier(len(turns), action=self._start)
        self._ended = threading.Barrier(len(turns), action=self._end)
        self._named = threading.Barrier(len(turns), action=self._name)

    def make_slot(self, own: int) -> TrialSlot:
        """The place of the candidate of this number."""
        return TrialSlot(self, own)

    def wait_ready(self) -> None:
        """Waits until all trials stand ready for a phase; `InterleavingBroken` where one never
        will.
        """
        self._meet(self._ready)

    def agree_start_ns(self) -> int:
        """Waits for all, and answers when their phase starts: CLOCK_MONOTONIC."""
        self._meet(self._started)
        return self._start_ns

    def end(self) -> None:
        """Waits until all have ended the phase: from then on nobody stands still."""
        self._meet(self._ended)

    def find_samples(self, own: int) -> PhaseSamples:
        """Waits until the probes of all have been read, and answers where the CPU time of the
        engine of this number went; nothing where a trial has failed.
        """
        if self.sampler is None:
            return PhaseSamples()
        try:
            self._named.wait()
        except threading.BrokenBarrierError:
            return PhaseSamples()
        return self.sampler.find(own)

    def break_off(self) -> None:
        """One of the trials is over before its time, or all are to stop: nobody need wait, all
        engines run, and the drivers are told to end.
        """
        self.broken = True
        for barrier in (self._ready, self._started, self._ended, self._named):
            barrier.abort()
        self._end()
        for place in list(self.places.values()):
            place.interrupt()

    def _meet(self, barrier: threading.Barrier) -> None:
        try:
            barrier.wait()
        except threading.BrokenBarrierError:
            raise InterleavingBroken from None

    def find_switches(self, own: int) -> Switches | None:
        """How the turns of the phase that is over were switched, beside what the candidate of this
        number lost by it; None where no engine was suspended.
        """
        return self._switches.get(own)

    def _start(self) -> None:
        self._switches = {}
        if self.sampler:
            sampled = {own: place.sampled for own, place in self.places.items()}
            self.sampler.start({own: pid for own, pid in sampled.items() if pid is not None})
        self._start_ns = time.monotonic_ns() + round(START_AFTER_S * 1e9)
        if self.frozen:
            engines = {own: place.engine for own, place in self.places.items()}
            self._switch = Switch(self.turns[0], self._start_ns, engines)
            self._switch.start()

    def _end(self) -> None:
        switch, self._switch = self._switch, None
        if switch is not None:
            switch.stop()
            self._switches = switch.list_switches()
        if self.sampler:
            self.sampler.stop()

    def _name(self) -> None:
        if self.sampler:
            self.sampler.name()


@dataclass(frozen=True)
class TrialProcesses:
    """A trial among those that are interleaved: what stands still when others have theirs, which
    processes are its own, how its driver is told to end, and whose CPU time is sampled (None:
    nobody's).
    """

    engine: Freezable
    pids: tuple[int, ...]
    interrupt: Callable[[], None]
    sampled: int | None = None


@dataclass(frozen=True)
class TrialSlot:
    """A trial's place among those that are interleaved."""

    block: InterleavedBlock
    own: int

    @property
    def turns(self) -> SlicePlan:
        """Its turns, as the driver is given them."""
        return self.block.turns[self.own]

    @contextmanager
    def take(self, place: TrialProcesses) -> Iterator[None]:
        """While its driver plays; `InterleavingBroken` where another trial has failed, since this
        one's driver was told to end then, or came too late to be told.

        Where it fails itself nobody stands still any more, its own engine neither: what is found
        wrong with that is not our doing, and it can be stopped.
        """
        self.block.places[self.own] = place
        try:
            self._check_whole()
            yield
            self._check_whole()
        except BaseException:
            self.block.break_off()
            raise
        finally:
            del self.block.places[self.own]

    def _check_whole(self) -> None:
        if self.block.broken:
            raise InterleavingBroken

    def list_others(self) -> tuple[int, ...]:
        """The processes of the others: their engines' and their drivers'."""
        places = list(self.block.places.items())
        return tuple(pid for own, place in places if own != self.own for pid in place.pids)
