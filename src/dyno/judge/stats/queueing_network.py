"""A closed queueing network of users, cores, locks, cache lines and syncs: throughput and idle
share from what one operation needs.

- **Cache lines** of shared locks and counters: a station each, where a core waits and is busy. It
  serves a transfer where the line is on another core, which it is at (m - 1)/m of the times with m
  cores at work, and whenever it is waited for. Mean-value analysis (Reiser and Lavenberg, JACM 27,
  1980; with Reiser's residual time of constant transfers, 1979) gives the speed of m cores.
- **Cores** are shared by all who are not blocked (processor sharing): the network of lines is one
  load-dependent station, which serves N at most (Chandy, Herzog and Woo, *Parametric analysis of
  queuing networks*, IBM J. R&D 19, 1975; Lazowska et al., *Quantitative System Performance*, 1984).
- **Exclusive locks**: one station each. Whoever holds one needs a core, too: simultaneous resource
  possession, which Jacobson and Lazowska's surrogates (*Analyzing queueing networks with
  simultaneous resource possession*, CACM 25, 1982) and Menascé's two levels (2002) iterate for.
  Here all who are at work go on at the same speed, which depends on their number alone, so the
  order of events is that of as many cores as users: that network has a product form, and its states
  are weighted by how long each lasts.
- **Locks that are granted to who waits** rest while the next holder wakes up: such a station is
  slower when anybody waits, which keeps the product form. Cores that many share make a wake-up
  longer, too.
- **Delays** (network, client elsewhere) and **group commit**, a sync that serves all who wait for
  it, lie around these, which are one load-dependent station to them. A sync's wait depends on the
  throughput: a fixed point.

Times are ns, throughputs operations per ns.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.signal import lfilter
from scipy.special import gammaln

Floats = NDArray[np.float64]

#: Populations of the inner network that are solved; those between are interpolated, and more than
#: so many to a core are as these.
POPULATIONS, CROWD = 14, 8
#: A sync's wait is found when it changes by less than this share, or after so many rounds.
CLOSE, ROUNDS = 1e-4, 60
#: Lines are solved for so many cores at least, so that fewer of them need not be solved again.
ROWS = 192
#: CPU time outside of locks is no less than this share of all, so that logarithms exist.
OUTSIDE_LEAST = 1e-3


@dataclass(frozen=True)
class Demand:
    """What an operation needs: `cpu_ns` in all, of which it holds exclusive locks for `held_ns`,
    `acquired` times; `transfers` of each shared line; it waits `delay_ns` for nobody, and for
    `syncs` that take `sync_ns`. A lock of `granted` is handed to who waits for it at its release;
    any other is free then for whoever runs.
    """

    cpu_ns: float
    held_ns: dict[str, float] = field(default_factory=dict)
    acquired: dict[str, float] = field(default_factory=dict)
    transfers: dict[str, float] = field(default_factory=dict)
    delay_ns: float = 0.0
    syncs: float = 0.0
    sync_ns: float = 0.0
    granted: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Cores:
    """So many, how long a line takes between two of them, and from a wake-up until who slept runs;
    beyond `near_cores` a line lies as likely on another socket as cores do, `far_ns` away.
    """

    count: int
    transfer_ns: float = 0.0
    far_ns: float | None = None
    near_cores: int | None = None
    wakeup_ns: float = 0.0

    def compute_transfers_ns(self, at_work: Floats) -> Floats:
        """The mean time of a line's way to a core with so many at work, its own included."""
        far_ns = self.transfer_ns if self.far_ns is None else self.far_ns
        near = np.minimum(at_work, self.near_cores or np.inf)
        elsewhere = (near - 1) * self.transfer_ns + (at_work - near) * far_ns
        return np.asarray(elsewhere / at_work)


@dataclass(frozen=True)
class Solution:
    """`rate` is the throughput, `idle` the share of the cores' time in which they have no work,
    `used` the share of time in which each lock is held or line on its way; `blocked` users wait for
    a lock, on average.
    """

    rate: float
    idle: float
    used: dict[str, float]
    blocked: float = 0.0


def solve(demand: Demand, cores: Cores, users: int) -> Solution:
    """Return what so many users get."""
    is_delayed = demand.delay_ns or (demand.syncs and demand.sync_ns)
    most = min(users, CROWD * (cores.count + 2)) if is_delayed else users
    inner = _Inner(demand, cores, most)
    if not is_delayed:
        rates, busy, blocked = inner.solve(users)
        return _describe(demand, inner, rates, busy, blocked)
    few = np.arange(1, min(most, 8) + 1)
    grid = np.geomspace(1, most, min(most, POPULATIONS))
    populations = np.unique(np.round(np.concatenate([few, grid])))
    solved = np.array([inner.solve(int(each)) for each in populations])
    counts = np.arange(1, users + 1, dtype=float)
    wanted, known = np.log(counts), np.log(populations)
    busies, blockeds = (np.interp(wanted, known, each) for each in solved.T[1:])
    rates = np.exp(np.interp(wanted, known, np.log(solved.T[0])))
    sync_ns = demand.sync_ns
    rate = 0.0
    for _ in range(ROUNDS):
        shares = _weigh_populations(rates, users, demand.delay_ns + demand.syncs * sync_ns)
        found = float(shares[1:] @ rates)
        if abs(found - rate) <= CLOSE * found:
            break
        rate = found
        if demand.syncs:
            arriving = found * demand.syncs
            sync_ns = (
                sync_ns + compute_group_commit_ns(demand.sync_ns, sync_ns, arriving, users)
            ) / 2
    busy, blocked = float(shares[1:] @ busies), float(shares[1:] @ blockeds)
    return _describe(demand, inner, found, busy, blocked)


def compute_group_commit_ns(sync_ns: float, waited_ns: float, rate: float, users: int) -> float:
    """Return how long a sync is waited for that serves all who came before it began: its own time,
    and what is left of the one that is under way. Whoever was served by the end of one comes back
    the sooner after it, the less there is to do between; times between are taken as exponential.
    """
    if users < 2 or not sync_ns:
        return sync_ns
    between_ns = max(users / rate - waited_ns, 1e-3 * sync_ns)
    alone = (1 - min(1.0, rate * sync_ns / users)) ** (users - 1)
    others = rate * (users - 1) / users
    busy = sync_ns / (sync_ns + alone / others)
    left_ns = sync_ns - between_ns + sync_ns / np.expm1(min(sync_ns / between_ns, 500.0))
    return float(sync_ns + busy * left_ns)


def estimate_held_ns(
    waited_ns: float, demand: Demand, cores: Cores, users: int, acquired: float
) -> float:
    """Return the time for which an operation holds a lock of which only the time waited for it at
    so many users is known; 0 where nobody waits.
    """
    if waited_ns <= 0 or users < 2:
        return 0.0

    def compare(held_ns: float) -> float:
        tried = replace(demand, held_ns={"it": held_ns}, acquired={"it": acquired})
        found = solve(tried, cores, users)
        return found.blocked / found.rate - waited_ns

    most = demand.cpu_ns * (1 - OUTSIDE_LEAST)
    if compare(most) <= 0:
        return most
    return float(brentq(compare, 0.0, most, rtol=1e-3))


class _Inner:
    """The cores with their lines and locks, without delays, for so many users at most."""

    def __init__(self, demand: Demand, cores: Cores, users: int) -> None:
        self.cores = cores.count
        whole = replace(cores, count=max(cores.count, ROWS))
        lines = tuple(demand.transfers.values())
        self.speeds, self.lines_ns = _find_speeds(demand.cpu_ns, lines, whole)
        moved_ns = float(cores.compute_transfers_ns(np.array([float(cores.count)]))[0])
        self.held_ns = {
            name: held_ns + demand.acquired.get(name, 0.0) * moved_ns
            for name, held_ns in demand.held_ns.items()
        }
        self.wakeups_ns = {
            name: demand.acquired.get(name, 1.0) * cores.wakeup_ns for name in demand.granted
        }
        inside = sum(demand.held_ns.values())
        self.outside_ns = max(demand.cpu_ns - inside, OUTSIDE_LEAST * demand.cpu_ns)
        times = np.array(
            [
                (held_ns, self.wakeups_ns.get(name, 0.0))
                for name, held_ns in self.held_ns.items()
                if held_ns > 0
            ]
        ).reshape(-1, 2)
        self.longest_ns = float(times.sum(axis=1).max(initial=0.0))
        self.counted = _count_states(times / self.longest_ns, users)

    def solve(self, users: int) -> tuple[float, float, float]:
        """The throughput, how many cores are at work, and how many users are blocked."""
        if not self.longest_ns:
            running = min(users, self.cores)
            return float(self.speeds[running - 1]) / self.outside_ns, float(running), 0.0
        own, active = self._weigh(users)
        fewer, _ = self._weigh(users - 1)
        top = own.max()
        weights = np.exp(own - top)
        free_rate = np.exp(fewer - top).sum() / weights.sum() / self.longest_ns
        at_work = np.minimum(active, self.cores).astype(int)
        slowed_by = np.where(active > 0, active / self.speeds[at_work - 1], 1.0)
        lasting = weights * slowed_by
        slowed = lasting.sum() / weights.sum()
        lasting /= lasting.sum()
        return (
            float(free_rate / slowed),
            float(lasting @ at_work),
            float(lasting @ (users - active)),
        )

    def _weigh(self, users: int) -> tuple[Floats, Floats]:
        """Of the network with a core for everybody: the log weight of each pair of how many locks
        are held and how many users are blocked, and how many are at work in it.
        """
        logs = self.counted[:, : users + 1]
        holders = np.arange(len(logs), dtype=float)[:, None]
        free = users - holders - np.arange(logs.shape[1])
        is_state = (free >= 0) & (logs > -np.inf)
        work = free[is_state] * np.log(self.outside_ns / self.longest_ns)
        own = logs[is_state] + work - gammaln(free[is_state] + 1)
        return own, (free + holders)[is_state]


@lru_cache(maxsize=128)
def _find_speeds(
    cpu_ns: float, transfers: tuple[float, ...], cores: Cores
) -> tuple[Floats, Floats]:
    """How many cores' work 1, 2 ... cores do, and the demand for each line with so many."""
    at_work = np.arange(1, cores.count + 1, dtype=float)
    if not transfers:
        return at_work, np.zeros((cores.count, 0))
    lines_ns = np.outer(cores.compute_transfers_ns(at_work), transfers)
    speeds = solve_lines(cpu_ns, lines_ns) * cpu_ns
    # a line that is waited for is never where it was
    used = speeds[:, None] / cpu_ns * lines_ns
    lines_ns *= 1 + used / np.maximum(at_work - 1, 1)[:, None]
    return solve_lines(cpu_ns, lines_ns) * cpu_ns, lines_ns


def solve_lines(cpu_ns: float, lines_ns: Floats) -> Floats:
    """Return the throughput of 1, 2 ... cores, each with work of its own and waits for lines, whose
    demands stand in the row of each number of cores: mean-value analysis of all at once.
    """
    cores = len(lines_ns)
    met, rates = np.zeros_like(lines_ns), np.zeros(cores)
    most = 1 / np.maximum(lines_ns.max(axis=1, initial=0.0), 1e-9)
    for users in range(1, cores + 1):
        residence_ns = lines_ns * (1 + met)
        rate = np.minimum(most, users / (cpu_ns + residence_ns.sum(axis=1)))
        met = rate[:, None] * (residence_ns - lines_ns / 2)
        rates[users - 1] = rate[users - 1]
    return rates


def _count_states(times: Floats, users: int) -> Floats:
    """The log weight of so many locks whose holders work (rows) and users who are blocked. A lock
    that is held for h, after a wake-up of w where anybody waits, has the generating function
    1 + h x + h (h x y + w y²) / (1 - (h + w) y): x counts holders at work and y those blocked.
    """
    counted = np.zeros((len(times) + 1, users + 1))
    counted[0, 0] = 1.0
    for held, wakeup in times:
        waited_for = [1.0, -(held + wakeup)]
        at_work = lfilter([held, -held * wakeup], waited_for, counted, axis=1)
        counted += lfilter([0.0, 0.0, held * wakeup], waited_for, counted, axis=1)
        counted[1:] += at_work[:-1]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(counted))


def _weigh_populations(rates: Floats, users: int, waited_ns: float) -> Floats:
    """How likely 0, 1 ... users are at the station, and not in their delay."""
    counts = np.arange(users, dtype=float)
    steps = np.log(users - counts) - np.log(waited_ns) - np.log(rates)
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def _describe(demand: Demand, inner: _Inner, rate: float, busy: float, blocked: float) -> Solution:
    running = max(1, round(busy))
    lines = zip(demand.transfers, inner.lines_ns[running - 1], strict=True)
    used = {name: rate * line_ns for name, line_ns in lines}
    for name, held_ns in inner.held_ns.items():
        # a wake-up is in it as often as the lock is in use when it is wanted
        wakeup_ns = inner.wakeups_ns.get(name, 0.0)
        used[name] = rate * held_ns / max(1 - rate * wakeup_ns, rate * held_ns)
    return Solution(rate, 1 - busy / inner.cores, used, blocked)
