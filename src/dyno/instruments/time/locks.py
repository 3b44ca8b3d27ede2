"""What operations do with locks in a phase.

A server is asked by samples, at times of their own: the share of samples in which a lock is held
times the time between, over the operations, is how long an operation holds it, at any number of
users. Whoever asks has a core of its own, and the users have the others: on the same core it would
be served when a user has just stopped, and find nothing held, or, served first, hold up users that
wake to take their lock (docs/evidence/scaling.md). Each sample costs the server a statement. What a
server counts itself stands beside them. The locks of an embedded engine are counted by the library
`profile/_lock_calls.c`.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, get_args

from dyno.driver import Conversation
from dyno.engines import BESIDE, Engine, MeasuresLocks, Server
from dyno.errors import DynoError, TrialFailed
from dyno.host.probes import Measure, ProbeTarget
from dyno.host.processes import list_process_family, list_threads
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

#: What is said where who asks has no core of its own.
LATE = "locks held on busy cores: samples came when a core was free, which makes held times short"

#: What a question calls a lock's kind.
KINDS: dict[str, LockKind] = {it: it for it in get_args(LockKind)}

#: A lock's class, its kind, and which one of the class.
Lock = tuple[str, str, str]


@dataclass(frozen=True)
class LocksFound:
    """The locks that matter, and what was not seen, in clauses; how many cores the users had."""

    uses: tuple[LockUse, ...]
    unseen: tuple[str, ...]
    cores: int


class LockWatch(Protocol):
    """Measures from its making to `stop`; `close` ends it without an answer."""

    def stop(self) -> None:
        """Measures no more, while the users are still connected; `TrialFailed` if that failed."""

    def describe(self, operations: int, users: int) -> LocksFound:
        """What so many operations of so many users did, who have hung up; `TrialFailed` if it was
        not told.
        """

    def close(self) -> None:
        """Lets go of all that it has."""


def watch_locks(engine: Engine, server: Server, client_pid: int, folder: Path) -> LockWatch | None:
    """Begin to measure; None for an engine that tells nothing. `folder` is where an embedded one
    counts, whose process has the environment of `lock_calls.build_environment`.
    """
    if isinstance(engine, MeasuresLocks):
        return SampledLocks(engine, server, client_pid)
    return CalledLocks(folder) if engine.embedded else None


class LockProbe:
    """Watches the locks of phases that `watch` is asked for: from a phase's first sample to its
    last with the users connected. A connection of ours that stays would be waited for by who counts
    the server's work once nobody is connected.
    """

    summary = "what an operation does with each of the engine's locks"
    is_condition = True
    measures: tuple[Measure, ...] = ()

    def __init__(self, engine: Engine, folder: Path) -> None:
        self._engine, self._folder = engine, folder
        self._server: Server | None = None
        self._watch: LockWatch | None = None
        self._failed = ""

    @contextmanager
    def watch(self, server: Server) -> Iterator[None]:
        """Measures the next phase."""
        self._server, self._failed = server, ""
        try:
            yield
        finally:
            self._server = None
            if self._watch:
                self._watch.close()
                self._watch = None

    def sample(self, watched: ProbeTarget) -> dict[str, float]:
        try:
            if self._watch:
                self._watch.stop()
            elif self._server and not self._failed:
                given = self._engine, self._server, watched.client_pid, self._folder
                self._watch = watch_locks(*given)
        except TrialFailed as failed:
            self._failed = failed.sentence
        return {}

    def describe(self, operations: int, users: int) -> LocksFound:
        """What was found in the phase; no lock, and why, where that failed."""
        try:
            if self._watch and not self._failed:
                return self._watch.describe(operations, users)
        except TrialFailed as failed:
            self._failed = failed.sentence
        return LocksFound((), (self._failed,) if self._failed else (), len(os.sched_getaffinity(0)))


class CalledLocks:
    """Locks of a process with the library that counts them."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._before = folder, lock_calls.read_counts(folder)
        self._after = self._before

    def stop(self) -> None:
        self._after = lock_calls.read_counts(self._folder)

    def describe(self, operations: int, users: int) -> LocksFound:
        if not self._after:
            hint = "it is linked statically, or runs under an instrument"
            raise TrialFailed("the engine's process did not count its locks", hint=hint)
        uses = lock_calls.compute_uses(self._before, self._after, operations, users)
        return select_uses(uses, lock_calls.UNSEEN, len(os.sched_getaffinity(0)))

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

    def __init__(self, engine: MeasuresLocks, server: Server, client_pid: int) -> None:
        """Connects, and begins; `TrialFailed` where the server does not answer."""
        super().__init__(name="locks", daemon=True)
        self._session = server.session
        self._questions = engine.choose_lock_questions(server)
        self._conversation = Conversation(ANSWER_S)
        self._stopped, self._failed = threading.Event(), ""
        self._samples = LockSamples()
        self._conversation(self._session, self._questions.prepare)
        self._ask(self._questions.held)
        asker = self._ask(self._questions.asker) if self._questions.asker else [["0"]]
        asking = [self._conversation.pid or 0, *(int(it or 0) for row in asker for it in row)]
        self._working = list_process_family(server.pid, client_pid)
        self._core: set[int] = set()
        self._is_late = not self._take_core(asking)
        self._before = self._after = self._count()
        self._began_s, self._spent_s = time.monotonic(), 0.0
        self.start()

    def run(self) -> None:
        """Samples until it is stopped, or an answer fails to come."""
        rng = random.Random(0)
        try:
            if self._core:
                os.sched_setaffinity(threading.get_native_id(), self._core)
            while not self._stopped.wait(PERIOD_S * rng.uniform(0.5, 1.5)):
                self._samples.add(self._ask(self._questions.held))
        except (DynoError, KeyboardInterrupt) as failed:
            self._failed = str(failed)

    def _take_core(self, asking: Sequence[int]) -> bool:
        """Give the threads `asking` a core of their own; False where there is none for them, or a
        number is not known (0, which the kernel would take for the caller).
        """
        core, others = divide_cores()
        if not core or 0 in asking:
            return False
        try:
            place_threads(self._working, others, asking)
            for thread in asking:
                os.sched_setaffinity(thread, core)
        except OSError:
            return False
        self._core = core
        return True

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

    def stop(self) -> None:
        self._end_sampling()
        self._spent_s = time.monotonic() - self._began_s
        try:
            if self._failed or not self._samples.taken:
                raise TrialFailed("the server did not tell of its locks", cause=self._failed)
            self._after = self._count()
        finally:
            self.close()

    def describe(self, operations: int, users: int) -> LocksFound:
        lasting = self._count()
        after = {lock: counts for lock, counts in self._after.items() if lock in lasting}
        per_sample_ns = 1e9 * self._spent_s / self._samples.taken / operations
        uses = compute_uses(self._samples, self._before, after, per_sample_ns, operations, users)
        late = (LATE,) if self._is_late else ()
        cores = len(os.sched_getaffinity(0)) - len(self._core)
        return select_uses(uses, (*self._questions.unseen, *late), cores)

    def close(self) -> None:
        self._end_sampling()
        self._conversation.close()
        if self._core:
            core, others = divide_cores()
            place_threads(self._working, core | others)

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
            held_ns = None if held is None else held / acquisitions
            uses.append(LockUse(name, KINDS[kind], acquisitions, held_ns, waited / acquisitions))
    return uses


def _subtract(counts: tuple[int, int], before: tuple[int, int] | None) -> tuple[int, int]:
    return (counts[0] - before[0], counts[1] - before[1]) if before else counts


def divide_cores() -> tuple[set[int], set[int]]:
    """Return the core of who asks, the last one, and those of the users; none for who asks where
    there is one only.
    """
    cores = sorted(os.sched_getaffinity(0))
    return set(cores[1:][-1:]), set(cores[:-1] or cores)


def place_threads(processes: Iterable[int], cores: set[int], others: Collection[int] = ()) -> None:
    """Hold all threads of the processes to these cores, but for some others; `OSError` where the
    kernel refuses that.
    """
    for thread in (int(it.name) for pid in processes for it in list_threads(pid)):
        if thread not in others:
            with suppress(ProcessLookupError):
                os.sched_setaffinity(thread, cores)


def select_uses(uses: Iterable[LockUse], unseen: tuple[str, ...], cores: int) -> LocksFound:
    """Return the locks that take most of an operation's time, and how many others there are; what
    hardly any operation takes is none of them.
    """

    def weigh(use: LockUse) -> float:
        held_ns = 0.0 if use.kind == "shared" else use.held_ns or 0.0
        return use.acquisitions * max(held_ns, use.waited_ns or 0.0, LINE_NS)

    least_ns = OFTEN_LEAST * LINE_NS
    ranked = sorted((use for use in uses if weigh(use) >= least_ns), key=weigh, reverse=True)
    rest = len(ranked) - MOST
    more = (f"{rest} more locks, which take less of an operation's time",) if rest > 0 else ()
    return LocksFound(tuple(ranked[:MOST]), (*unseen, *more), cores)
