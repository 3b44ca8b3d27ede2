"""Users, cores, locks, cache lines and syncs, event by event: what `queueing_network` computes."""

from __future__ import annotations

import heapq
import random
from collections import deque
from dataclasses import dataclass, field
from itertools import count

from dyno.judge.stats.queueing_network import Cores, Demand

#: A thread gives up its core after this share of an operation's CPU time, where others wait.
QUANTUM = 0.1
#: Pieces of CPU time outside of locks, between which lines move.
PIECES = 4


@dataclass
class Lock:
    holder: int | None = None
    waiting: deque[int] = field(default_factory=deque)


@dataclass
class Thread:
    steps: list[tuple[str, str, float]]
    at: int = 0
    left_ns: float | None = None
    core: int | None = None


class Simulation:
    """Cores take threads in turn, a line remembers its core, and a sync serves all who wait."""

    def __init__(self, demand: Demand, cores: Cores, users: int, seed: int) -> None:
        self.demand, self.cores, self.random = demand, cores, random.Random(seed)
        self.now = 0.0
        self.events: list[tuple[float, int, int, str]] = []
        self.ties = count()
        self.threads = [Thread(list_steps(demand)) for _ in range(users)]
        self.ready: deque[int] = deque()
        self.free = list(range(cores.count))
        self.locks = {name: Lock() for name in demand.held_ns}
        self.lines = dict.fromkeys(demand.transfers, (0, 0.0))
        self.syncing: list[int] = []
        self.unsynced: list[int] = []
        self.done, self.busy_ns = 0, 0.0

    def run(self, operations: int) -> tuple[float, float]:
        """The throughput and the idle share, after a tenth that counts for nothing."""
        began_ns, busy_ns, warm = 0.0, 0.0, operations // 10
        for each in range(len(self.threads)):
            self.go_on(each)
        while self.done < operations + warm:
            self.give_cores()
            self.now, _, number, what = heapq.heappop(self.events)
            if what == "synced":
                self.end_sync()
            elif what == "woken":
                self.wake(number)
            else:
                self.end_step(number, what)
            if not began_ns and self.done >= warm:
                began_ns, busy_ns = self.now, self.busy_ns
        lasted_ns = self.now - began_ns
        busy = (self.busy_ns - busy_ns) / lasted_ns / self.cores.count
        return operations / lasted_ns, 1 - busy

    def after(self, wait_ns: float, number: int, what: str) -> None:
        heapq.heappush(self.events, (self.now + wait_ns, next(self.ties), number, what))

    def give_cores(self) -> None:
        while self.free and self.ready:
            number = self.ready.popleft()
            self.threads[number].core = self.free.pop(self.random.randrange(len(self.free)))
            self.run_piece(number)

    def leave_core(self, thread: Thread) -> None:
        if thread.core is not None:
            self.free.append(thread.core)
            thread.core = None

    def run_piece(self, number: int) -> None:
        """On its core: up to a quantum of CPU time, or a line's way."""
        thread = self.threads[number]
        kind, name, mean_ns = thread.steps[thread.at]
        if kind == "line":
            ns = self.move_line(name, thread.core or 0)
        else:
            if thread.left_ns is None:
                thread.left_ns = self.random.expovariate(1 / mean_ns)
            ns = min(thread.left_ns, QUANTUM * self.demand.cpu_ns)
            thread.left_ns -= ns
        self.busy_ns += ns
        self.after(ns, number, kind)

    def move_line(self, name: str, core: int) -> float:
        """How long it takes until the line is here."""
        last, until_ns = self.lines[name]
        begins_ns = max(self.now, until_ns)
        ends_ns = begins_ns + (0.0 if last == core else self.cores.transfer_ns)
        self.lines[name] = core, ends_ns
        return ends_ns - self.now

    def end_step(self, number: int, what: str) -> None:
        thread = self.threads[number]
        if what == "cpu" and thread.left_ns:
            if not self.ready:
                self.run_piece(number)
                return
            self.leave_core(thread)
            self.ready.append(number)
            return
        thread.left_ns = None
        self.advance(number)
        self.go_on(number)

    def wake(self, number: int) -> None:
        self.advance(number)
        self.ready.append(number)

    def advance(self, number: int) -> None:
        thread = self.threads[number]
        thread.at = (thread.at + 1) % len(thread.steps)
        self.done += thread.at == 0

    def go_on(self, number: int) -> None:
        """Until the thread needs a core, or waits."""
        thread = self.threads[number]
        while True:
            kind, name, mean_ns = thread.steps[thread.at]
            if kind in ("cpu", "line"):
                if thread.core is None:
                    self.ready.append(number)
                else:
                    self.run_piece(number)
                return
            if kind == "release":
                lock = self.locks[name]
                lock.holder = lock.waiting.popleft() if lock.waiting else None
                if lock.holder is not None:
                    wakeup_ns = self.cores.wakeup_ns if name in self.demand.granted else 0.0
                    if wakeup_ns:
                        self.after(self.random.expovariate(1 / wakeup_ns), lock.holder, "woken")
                    else:
                        self.wake(lock.holder)
            elif kind == "acquire":
                lock = self.locks[name]
                if lock.holder is not None:
                    lock.waiting.append(number)
                    self.leave_core(thread)
                    return
                lock.holder = number
            else:
                self.leave_core(thread)
                if kind == "sync":
                    self.unsynced.append(number)
                    if not self.syncing:
                        self.begin_sync()
                else:
                    self.after(self.random.expovariate(1 / mean_ns), number, "delay")
                return
            self.advance(number)

    def begin_sync(self) -> None:
        self.syncing, self.unsynced = self.unsynced, []
        if self.syncing:
            self.after(self.demand.sync_ns, 0, "synced")

    def end_sync(self) -> None:
        served = self.syncing
        self.begin_sync()
        for number in served:
            self.end_step(number, "sync")


def list_steps(demand: Demand) -> list[tuple[str, str, float]]:
    """An operation, step by step; every step of a lock is a CPU time between its two ends."""
    outside_ns = demand.cpu_ns - sum(demand.held_ns.values())
    steps: list[tuple[str, str, float]] = []
    for piece in range(PIECES):
        steps.append(("cpu", "", outside_ns / PIECES))
        for name, transfers in demand.transfers.items():
            steps += [("line", name, 0.0)] * (round(transfers) // PIECES)
        for name, held_ns in list(demand.held_ns.items())[piece::PIECES]:
            steps += [("acquire", name, 0.0), ("cpu", "", held_ns), ("release", name, 0.0)]
    if demand.delay_ns:
        steps.append(("delay", "", demand.delay_ns))
    if demand.syncs:
        steps.append(("sync", "", 0.0))
    return steps
