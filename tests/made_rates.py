"""Steps of servers with a fixed service time, simulated: the truth is known (M/D/c). And records of
capacity runs, made up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dyno.instruments.capacity.search import WIDEN_FIRST, WIDEN_LATER, RateSearch
from dyno.judge.stats.log_ratio import Floats
from dyno.record import Candidate, Design, Pace, Phase, Run, Stop, Stream, WorkloadPlan
from dyno.record.capacity import (
    CapacityBlock,
    CapacityPlan,
    CapacityRestart,
    CapacityStep,
    LimitTerm,
)

Spoil = Callable[[float, int], bool]


def simulate_waits(
    rng: np.random.Generator, rate: float, servers: int, service_s: float, n: int
) -> tuple[Floats, Floats]:
    """Arrivals of a Poisson process and what each waits: with equal service times every server
    takes every c-th of them.
    """
    due = np.cumsum(rng.exponential(1.0 / rate, n))
    waits = np.empty(n)
    for first in range(servers):
        own = due[first::servers]
        done = np.arange(own.size) * service_s
        waits[first::servers] = np.maximum.accumulate(own - done) + done - own
    return due, waits


def find_true_rate(servers: int, service_s: float, limit_s: float, percentile: float) -> float:
    """The rate at which a percentile of M/D/c passes the limit, by a long simulation."""
    low, high = 0.3 * servers / service_s, servers / service_s
    for _ in range(14):
        rate = math.sqrt(low * high)
        _, waits = simulate_waits(np.random.default_rng(1), rate, servers, service_s, 600_000)
        over = float(np.quantile(waits, percentile / 100.0)) + service_s > limit_s
        low, high = (low, rate) if over else (rate, high)
    return low


@dataclass
class MadeServers:
    """Servers of a fixed service time; `spoil` says of a rate and a step's number whether a hiccup
    spoils it.
    """

    servers: int
    service_s: float
    limit_s: float
    events: int = 3000
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))
    spoil: Spoil = lambda rate, number: False
    played: int = 0

    def play(self, rate: float) -> CapacityStep:
        """A step of so many events."""
        self.played += 1
        _, waits = simulate_waits(
            self.rng, rate, self.servers, self.service_s, self.events * 6 // 5
        )
        waits = waits[self.events // 5 :]
        value_s = float(np.quantile(waits, 0.99)) + self.service_s
        if self.spoil(rate, self.played):
            value_s = 5 * self.limit_s
        load = value_s / self.limit_s
        n = waits.size
        return CapacityStep(rate, n / rate, n, n, 0, 0, (value_s * 1e9,), load, rate)

    def search(self, known: float | None = None, lowest: float = 1.0) -> CapacityRestart:
        """A restart's whole search."""
        closed = self.servers / self.service_s
        start = 0.75 * closed if known is None else known
        widen = WIDEN_FIRST if known is None else WIDEN_LATER
        search = RateSearch(start * math.exp(self.rng.uniform(-0.02, 0.02)), lowest, widen)
        while (rate := search.choose_rate()) is not None:
            search.take(self.play(rate))
        return CapacityRestart("made", closed, tuple(search.steps), search.exhausted)


LIMIT = LimitTerm("percentile", 1e7, "p99<10ms", 99.0)


def make_plan(names: Sequence[str] = ("A", "B"), blocks: int = 6) -> CapacityPlan:
    pace = Pace("poisson", 1000.0)
    stream = Stream("event", "event", 16, pace, "reader", "event", 1)
    phase = Phase("run", (stream,), Stop("time", duration_s=15.0))
    workload = WorkloadPlan("w", "w.lua", "", {}, (phase,), ())
    sides = tuple(Candidate(name, name, "made", False, {}, {}, {}) for name in names)
    design = Design(
        base=names[0], margin_percent=5.0, alpha=0.05, quick=False, limits={}, controls={},
        analyses=(24,),
    )  # fmt: skip
    run = Run("made", "2026-01-02T00:00:00Z", "", "", 1, sides, (workload,), design, {})
    return CapacityPlan(run, (LIMIT,), blocks, 3.0, 0.5, 5.0, True)


def make_rate_step(rate: float, load: float | None, busy: float | None = None) -> CapacityStep:
    since = 2 if load is None else None
    value = None if load is None else load * LIMIT.limit
    return CapacityStep(rate, 3.0, 9, 9, 0, 0, (value,), load, rate, since, busy)


def make_restart(
    name: str, rate: float, busy: float | None = None, closed: float = 2000.0
) -> CapacityRestart:
    """One whose load passes 1 at `rate`; 0: at no rate."""
    if not rate:
        return CapacityRestart(
            name, 0.0, (make_rate_step(30.0, 3.0), make_rate_step(30.0, 3.0)), True
        )
    steps = (make_rate_step(rate / 1.02, 1 / 1.02, busy), make_rate_step(rate * 1.02, 1.02))
    return CapacityRestart(name, closed, steps)


def make_blocks(
    rates: Mapping[str, Sequence[float]],
    baselines: Sequence[float] = (0.01,),
    busy: float | None = None,
) -> list[CapacityBlock]:
    return [
        CapacityBlock(
            number,
            tuple(make_restart(name, own[number], busy) for name, own in rates.items()),
            1e6,
            tuple(map(make_rate_step, (1500.0, 1200.0), baselines)),
        )
        for number in range(len(next(iter(rates.values()))))
    ]
