"""What a server's sessions are at while a phase is played: sampled over a connection of our own.

Samples are taken in the candidate's own slices alone, at times of their own: equally spread, but
for a random part, so that they follow no rhythm of the slices. A sample that was answered after its
slice is thrown away, since the server may have stood still meanwhile.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from dyno.driver import Conversation
from dyno.driver.plan import SlicePlan
from dyno.engines import Server, TellsWaits
from dyno.errors import DynoError
from dyno.host.processes import sum_cpu_ns
from dyno.instruments.time.job import TrialJob
from dyno.instruments.time.leftovers import CLEANUP, PREPARE
from dyno.instruments.time.switch import iterate_turns
from dyno.record.waits import SessionState, WaitKind, WaitProfile

#: Own time between two samples, on average (docs/evidence/waits-cost.md).
PERIOD_NS = 100_000_000
#: What an answer may take.
ANSWER_S = 5.0


def iterate_samples(turns: SlicePlan | None, seed: int) -> Iterator[tuple[int, int | None]]:
    """When to sample, and when the slice is over: in ns from the phase's start, without end; None:
    all time is its own.
    """
    rng = random.Random(seed)
    due_ns, own_ns = _draw_gap_ns(rng), 0
    if turns is None:
        while True:
            yield due_ns, None
            due_ns += _draw_gap_ns(rng)
    for (own, begin_ns), (_, next_ns) in pairwise(iterate_turns(turns)):
        if own != turns.own:
            continue
        slice_ns = min(turns.slice_ns, next_ns - begin_ns)
        while due_ns < own_ns + slice_ns:
            yield begin_ns + due_ns - own_ns, begin_ns + slice_ns
            due_ns += _draw_gap_ns(rng)
        own_ns += slice_ns


def _draw_gap_ns(rng: random.Random) -> int:
    return round(PERIOD_NS * rng.uniform(0.5, 1.5))


class WaitSampler(threading.Thread):
    """Samples one phase of a server, from `begin` to `end`."""

    def __init__(self, engine: TellsWaits, server: Server, turns: SlicePlan | None, seed: int):
        """Connects, and asks once; `TrialFailed` where the server does not answer."""
        super().__init__(name="waits", daemon=True)
        self._engine, self._server = engine, server
        self._samples = iterate_samples(turns, seed)
        self._conversation = Conversation(ANSWER_S)
        self._stopped, self._start_ns = threading.Event(), 0
        self._met: Counter[tuple[WaitKind, str]] = Counter()
        self._taken = self._missed = self._cpu_ns = 0
        self.asked, self.failed = 0, ""
        self._ask()
        self._cpu_ns -= self._measure_driver_ns()

    def begin(self, start_ns: int) -> None:
        """The phase starts then, on CLOCK_MONOTONIC."""
        self._start_ns = start_ns
        self.start()

    def run(self) -> None:
        """Samples until it is stopped, or an answer fails to come."""
        try:
            for at_ns, over_ns in self._samples:
                due_ns = self._start_ns + at_ns
                if self._stopped.wait(max(0.0, (due_ns - time.monotonic_ns()) / 1e9)):
                    break
                self._sample(None if over_ns is None else self._start_ns + over_ns)
        except (DynoError, KeyboardInterrupt) as failed:
            self.failed = str(failed)
        self._cpu_ns += time.thread_time_ns()

    def _sample(self, over_ns: int | None) -> None:
        if over_ns is not None and time.monotonic_ns() >= over_ns:
            self._missed += 1
            return
        states = self._ask()
        if over_ns is not None and time.monotonic_ns() >= over_ns:
            self._missed += 1
            return
        self._taken += 1
        for each in states:
            self._met[each.kind, each.event] += each.sessions

    def _ask(self) -> list[SessionState]:
        self.asked += 1
        (rows,) = self._conversation(self._server.session, [self._engine.waits_sql])
        return self._engine.extract_waits(rows)

    def _measure_driver_ns(self) -> int:
        """The CPU time of the process that asks for us."""
        pid = self._conversation.pid
        return sum_cpu_ns([pid]) if pid else 0

    def end(self) -> WaitProfile:
        """Stops sampling and hangs up; what was met since the start."""
        self._stopped.set()
        if self.is_alive():
            self.join(ANSWER_S)
            if self.is_alive():
                self._conversation.abandon()
                self.join(ANSWER_S)
        self._cpu_ns += self._measure_driver_ns()
        self._conversation.close()
        states = (SessionState(*state, count) for state, count in self._met.most_common())
        return WaitProfile(self._taken, tuple(states), self._cpu_ns, self._missed)


class PhaseWaits:
    """The sampler of a phase, where its engine tells of waits; what it found, and `unread`, why it
    found nothing.
    """

    def __init__(self, job: TrialJob, server: Server) -> None:
        self._job, self._server = job, server
        self._sampler: WaitSampler | None = None
        self._found: WaitProfile | None = None
        self._asked = 0
        self.unread = ""

    @property
    def candidate(self) -> str:
        """Whose trial it is."""
        return self._job.candidate.name

    def prepare(self, phase: str, is_interleaved: bool) -> None:
        """A phase stands ready: connects where it is to be sampled. The pilot's are not."""
        self.end()
        self._found, self.unread = None, ""
        engine, seat = self._job.engine, self._job.seat
        # by CPU time: asking costs as much a second however few operations share it
        if not self._job.samples_waits or self._job.block < 0 or phase in (PREPARE, CLEANUP):
            return
        if not isinstance(engine, TellsWaits):
            return
        turns = seat.turns if seat and is_interleaved else None
        try:
            self._sampler = WaitSampler(engine, self._server, turns, self._job.seed)
        except DynoError as failed:
            self.unread = failed.message

    def begin(self, start_ns: int | None) -> None:
        """The phase starts then, or now."""
        if self._sampler:
            self._sampler.begin(start_ns or time.monotonic_ns())

    def close(self) -> None:
        """The trial is over, whatever became of it."""
        self.end()

    def end(self) -> None:
        """The phase is over."""
        sampler, self._sampler = self._sampler, None
        if sampler:
            found = sampler.end()
            self._asked += sampler.asked
            self._found = found if found.samples else None
            self.unread = sampler.failed or ("" if found.samples else "the phase was too short")

    def take(self) -> WaitProfile | None:
        """What was found in the phase that is over."""
        self.end()
        return self._found

    def subtract_questions(self, counts: dict[str, int]) -> dict[str, int]:
        """A server's counts without our questions."""
        engine = self._job.engine
        own = engine.counted_as if isinstance(engine, TellsWaits) else ()
        return {n: count - (self._asked if n in own else 0) for n, count in counts.items()}
