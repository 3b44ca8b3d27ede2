"""What operations do with locks, measured from before the users connect until they have hung up.

A server is asked by samples, at times of their own: the share of samples in which a lock is held
times the time between, over the operations, is how long an operation holds it, at any number of
users. On busy cores who asks would be served when a user has just stopped, and would find nothing
held: the three threads on its way are served first (SCHED_FIFO), where the kernel permits that.
Each sample costs the server a statement. What a server counts itself stands beside them.
The locks of an embedded engine are counted by the library `profile/_lock_calls.c`.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from dyno.driver import Conversation
from dyno.engines import BESIDE, Engine, MeasuresLocks, Server
from dyno.errors import DynoError, TrialFailed
from dyno.profile import lock_calls
from dyno.record.scaling import LockKind, LockUse

#: Between two samples, on average; and what an answer may take.
PERIOD_S, ANSWER_S = 0.005, 5.0
#: A lock met in fewer samples has no known time.
MET_LEAST = 10
#: Locks that are told of: those that take most of an operation's time.
MOST = 12
#: A lock that takes less of an operation than so many acquisitions that are free is not told of.
OFTEN_LEAST = 0.01
#: What moving a lock's line takes, about, where only acquisitions are known.
LINE_NS = 100.0

#: What is said where samples wait for a core like anybody.
LATE = "locks held on busy cores: samples came when a core was free, which makes held times short"

#: A lock's class, its kind, and which one of the class.
Lock = tuple[str, str, str]


@dataclass(frozen=True)
class LocksFound:
    """The locks that matter, and what was not seen, in clauses."""

    uses: tuple[LockUse, ...]
    unseen: tuple[str, ...]


class LockWatch(Protocol):
    """Measures from its making to `end`; `close` ends it without an answer."""

    def end(self, operations: int, users: int) -> LocksFound:
        """What so many operations of so many users did; `TrialFailed` if it was not told."""

    def close(self) -> None:
        """Measures no more."""


def watch_locks(engine: Engine, server: Server, folder: Path) -> LockWatch | None:
    """Begin to measure; None for an engine that tells nothing. `folder` is where an embedded one
    counts, whose process has the environment of `lock_calls.build_environment`.
    """
    if isinstance(engine, MeasuresLocks):
        return SampledLocks(engine, server)
    return CalledLocks(folder) if engine.embedded else None


class CalledLocks:
    """Locks of a process with the library that counts them."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._before = folder, lock_calls.read_counts(folder)

    def end(self, operations: int, users: int) -> LocksFound:
        after = lock_calls.read_counts(self._folder)
        if not after:
            hint = "it is linked statically, or runs under an instrument"
            raise TrialFailed("the engine's process did not count its locks", hint=hint)
        uses = lock_calls.compute_uses(self._before, after, operations, users)
        return select_uses(uses, lock_calls.UNSEEN)

    def close(self) -> None:
        """Nothing goes on here."""


@dataclass
class LockSamples:
    """How many held each lock and how many waited for it, summed over `taken` samples; `held` are
    samples in which it was held at all.
    """

    taken: int = 0
    held: Counter[Lock] = field(default_factory=Counter)
    waiting: Counter[Lock] = field(default_factory=Counter)

    def add(self, rows: Iterable[Sequence[str | None]]) -> None:
        """One more sample."""
        self.taken += 1
        holders: Counter[Lock] = Counter()
        for name, kind, which, held, waiting in rows:
            lock = str(name), str(kind), str(which)
            holders[lock] += int(held or 0)
            self.waiting[lock] += int(waiting or 0)
        self.held.update(lock for lock, count in holders.items() if count)


#: How often each lock was taken, and the ns that this took.
Counts = dict[Lock, tuple[int, int]]


class SampledLocks(threading.Thread):
    """Samples a server over a connection of its own."""

    def __init__(self, engine: MeasuresLocks, server: Server) -> None:
        """Connects, and begins; `TrialFailed` where the server does not answer."""
        super().__init__(name="locks", daemon=True)
        self._session = server.session
        self._questions = engine.choose_lock_questions(server)
        self._conversation = Conversation(ANSWER_S)
        self._stopped, self._failed = threading.Event(), ""
        self._samples = LockSamples()
        self._ask(self._questions.held)
        asker = self._ask(self._questions.asker) if self._questions.asker else [["0"]]
        ways = [self._conversation.pid or 0, *(int(number or 0) for row in asker for number in row)]
        self._is_late = not all(serve_first(number) for number in ways)
        self._before = self._count()
        self._began_s = time.monotonic()
        self.start()

    def run(self) -> None:
        """Samples until it is stopped, or an answer fails to come."""
        rng = random.Random(0)
        self._is_late |= not serve_first(threading.get_native_id())
        try:
            while not self._stopped.wait(PERIOD_S * rng.uniform(0.5, 1.5)):
                self._samples.add(self._ask(self._questions.held))
        except (DynoError, KeyboardInterrupt) as failed:
            self._failed = str(failed)

    def _ask(self, sql: str) -> list[list[str | None]]:
        (rows,) = self._conversation(self._session, [sql])
        return rows

    def _count(self) -> Counts:
        if not self._questions.counted:
            return {}
        rows = self._ask(self._questions.counted)
        return {
            (str(name), str(kind), str(which)): (int(taken or 0), int(waited_ns or 0))
            for name, kind, which, taken, waited_ns in rows
        }

    def end(self, operations: int, users: int) -> LocksFound:
        self._end_sampling()
        spent_s = time.monotonic() - self._began_s
        if self._failed or not self._samples.taken:
            self.close()
            raise TrialFailed("the server did not tell of its locks", cause=self._failed)
        try:
            after = self._count()
        finally:
            self.close()
        per_sample_ns = 1e9 * spent_s / self._samples.taken / operations
        uses = compute_uses(self._samples, self._before, after, per_sample_ns, operations, users)
        late = (LATE,) if self._is_late else ()
        return select_uses(uses, (*self._questions.unseen, *late))

    def close(self) -> None:
        self._end_sampling()
        self._conversation.close()

    def _end_sampling(self) -> None:
        self._stopped.set()
        if self.is_alive():
            self.join(2 * ANSWER_S)
            if self.is_alive():
                self._conversation.abandon()
                self.join(ANSWER_S)


def compute_uses(
    samples: LockSamples,
    before: Counts,
    after: Counts,
    per_sample_ns: float,
    operations: int,
    users: int,
) -> list[LockUse]:
    """Return what an operation does with each class of locks, by the one of the class that is most
    used; `per_sample_ns` of an operation's time stand for a sample.

    A lock that is gone once the users have hung up was a session's own, and is left out, as are
    classes whose locks share the acquisitions as users do. An operation is one acquisition of what
    is not counted.
    """
    counted = {lock: _subtract(counts, before.get(lock)) for lock, counts in after.items()}
    classes: dict[tuple[str, str], list[Lock]] = defaultdict(list)
    for lock in {**samples.held, **samples.waiting, **counted}:
        is_lasting = not lock[2] or lock in after or (lock[0], "shared", lock[2]) in after
        if is_lasting and lock[2] != BESIDE:
            classes[lock[:2]].append(lock)
    uses = []
    for (name, kind), locks in classes.items():
        taken = {lock: counted.get(lock, (0, 0))[0] for lock in locks}
        is_spread = 0 < max(taken.values()) <= 1.5 * sum(taken.values()) / users
        if users > 1 and len(locks) >= users and is_spread:
            continue
        lock = max(locks, key=lambda it: (samples.held[it], taken[it], samples.waiting[it]))
        met = samples.held[lock] >= MET_LEAST
        held = samples.held[lock] * per_sample_ns if met else None
        waited, acquisitions = samples.waiting[lock] * per_sample_ns, 1.0
        if lock in counted:
            own, waited_ns = _subtract(counted[lock], counted.get((name, kind, BESIDE)))
            acquisitions, waited = own / operations, max(waited_ns, 0) / operations
        elif held is None and not waited:
            continue
        if acquisitions > 0:
            told: LockKind = "shared" if kind == "shared" else "exclusive"
            held_ns = None if held is None else held / acquisitions
            uses.append(LockUse(name, told, acquisitions, held_ns, waited / acquisitions))
    return uses


def _subtract(counts: tuple[int, int], before: tuple[int, int] | None) -> tuple[int, int]:
    return (counts[0] - before[0], counts[1] - before[1]) if before else counts


def serve_first(number: int) -> bool:
    """Have the kernel serve a thread before all others; False where it refuses that, and for 0."""
    try:
        if number <= 0:  # the kernel would take it for the caller
            return False
        os.sched_setscheduler(number, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        return False
    return True


def select_uses(uses: Iterable[LockUse], unseen: tuple[str, ...]) -> LocksFound:
    """Return the locks that take most of an operation's time, and how many others there are; what
    hardly any operation takes is none of them.
    """

    def weigh(use: LockUse) -> float:
        held_ns = use.held_ns or 0.0 if use.kind == "exclusive" else 0.0
        return use.acquisitions * max(held_ns, use.waited_ns or 0.0, LINE_NS)

    least_ns = OFTEN_LEAST * LINE_NS
    ranked = sorted((use for use in uses if weigh(use) >= least_ns), key=weigh, reverse=True)
    rest = len(ranked) - MOST
    more = (f"{rest} more locks, which take less of an operation's time",) if rest > 0 else ()
    return LocksFound(tuple(ranked[:MOST]), (*unseen, *more))
