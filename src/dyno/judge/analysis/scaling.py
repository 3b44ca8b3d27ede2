"""A run of `dyno scale` as a forecast: throughput and idle share over numbers of cores, each with
its band, what fills first, and how far the forecast was off where it could be checked.

The band has the spread of the restarts (drawn with replacement, widened as Student's t is for so
few), the intervals of the cache line and of a wake-up, the ways of the line that an acquisition of
a shared lock costs, and the CPU time of an operation from that of few users to that of many.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import stats

from dyno.judge.stats.queueing_network import Cores, Demand, Solution, estimate_held_ns, solve
from dyno.record import Candidate
from dyno.record.scaling import LineTransfer, LockKind, ScalePlay, ScaleRun

#: Numbers of cores that are forecast.
CORES = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192)
DRAWS, LEVEL = 24, 0.95
#: As many users as it takes: so many times as many as keep all cores at work while nobody waits for
#: anybody; and never more than these.
USERS_FACTOR, USERS_MOST = 4.0, 4096
#: A lock or a line is full from this share of the time on.
FULL = 0.9
#: Of an acquisition of a shared lock, how often its line moves: to be taken, and to be given back;
#: less often where a core takes it several times while it has the line.
WAYS = (0.3, 2.0)
#: Locks that take a smaller share of an operation's CPU time do not fill on any number of cores.
SHARE_LEAST = 0.001


@dataclass(frozen=True)
class ForecastBand:
    """The middle of a forecast, and how far it may be off."""

    middle: float
    low: float
    high: float


@dataclass(frozen=True)
class ForecastPoint:
    """A number of cores, the users that were taken for it, operations a second and idle share."""

    cores: int
    users: int
    rate_per_s: ForecastBand
    idle: ForecastBand


@dataclass(frozen=True)
class FirstFull:
    """The resource that fills first, at how many cores, and how many times as much throughput the
    most cores have without it; no name where nothing fills but the cores.
    """

    name: str = ""
    cores: int = 0
    gain: float = 1.0


@dataclass(frozen=True)
class HostCheck:
    """What was forecast for this host from one user, and measured here."""

    users: int
    forecast: ForecastBand
    measured: float

    @property
    def off(self) -> float:
        """How far the forecast is above what was measured."""
        return self.forecast.middle / self.measured - 1


@dataclass(frozen=True)
class CandidateForecast:
    """All of a candidate's; `demand` is what an operation needs, in the middle."""

    side: Candidate
    demand: Demand
    points: tuple[ForecastPoint, ...]
    full: FirstFull
    checks: tuple[HostCheck, ...]
    kinds: Mapping[str, LockKind]
    unknown: tuple[str, ...] = ()
    seldom: tuple[str, ...] = ()


@dataclass(frozen=True)
class ScaleForecast:
    """Every candidate's, the base first; `crossings` are where the others overtake the base or fall
    behind it: their name, cores, and whether they are ahead from there on.
    """

    candidates: tuple[CandidateForecast, ...]
    crossings: tuple[tuple[str, float, bool], ...] = ()


def forecast_scaling(run: ScaleRun) -> ScaleForecast:
    """Return the forecast of a run that has plays of each candidate with every number of users."""
    found = tuple(_forecast_side(run, side) for side in run.run.candidates)
    crossings = [(it.side.name, *at) for it in found[1:] for at in find_crossings(found[0], it)]
    return ScaleForecast(found, tuple(crossings))


@dataclass(frozen=True)
class Draw:
    """One choice of what is not known: restarts, between few and many users, the line's time and
    its ways, a wake-up's time.
    """

    restarts: tuple[int, ...]
    level: float
    line_ns: float
    ways: float
    wakeup_ns: float


@dataclass
class _Needs:
    """What the restarts of a candidate say an operation needs, each a number of every restart."""

    server_ns: list[list[float]]
    client_ns: list[float]
    rest_ns: list[float]
    syncs: list[float]
    locks: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    kinds: dict[str, LockKind] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    seldom: list[str] = field(default_factory=list)

    @cached_property
    def widening(self) -> float:
        """How many times as wide the spread of so few is as that of many."""
        count = len(self.rest_ns)
        if count < 2:
            return 1.0
        quantile = stats.t.ppf((1 + LEVEL) / 2, count - 1) / stats.norm.ppf((1 + LEVEL) / 2)
        return float(quantile * math.sqrt(count / (count - 1)))

    def estimate(self, values: Sequence[float], draw: Draw) -> float:
        """The mean of the drawn restarts."""
        plain = float(np.mean(values))
        drawn = float(np.mean([values[at] for at in draw.restarts]))
        if plain <= 0 or drawn <= 0:
            return drawn
        return plain * float(np.clip((drawn / plain) ** self.widening, 0.2, 5.0))

    def make_demand(self, draw: Draw, here: bool) -> Demand:
        """What an operation needs: on this host (`here`) client and server share the cores, and it
        is from one user alone; else the client is elsewhere.
        """
        by_users = [self.estimate(each, draw) for each in self.server_ns]
        least, most = min(by_users), max(by_users)
        client_ns, rest_ns = self.estimate(self.client_ns, draw), self.estimate(self.rest_ns, draw)
        syncs = self.estimate(self.syncs, draw)
        server_ns = by_users[0] if here else least + draw.level * (most - least)
        cpu_ns = server_ns + client_ns * here
        held_ns, acquired, transfers = {}, {}, {}
        for name, each in self.locks.items():
            times = self.estimate([acquisitions for acquisitions, _ in each], draw)
            if self.kinds[name] == "shared":
                transfers[name] = draw.ways * times
            else:
                held_ns[name] = self.estimate([held for _, held in each], draw)
                acquired[name] = times
        inside = sum(held_ns.values())
        asleep_ns = max(0.0, inside - cpu_ns)  # what is held beyond the CPU time is no work
        rest_ns = max(0.0, rest_ns - asleep_ns)
        is_synced = syncs > SYNCS_LEAST
        return Demand(
            cpu_ns=max(cpu_ns, inside),
            held_ns=held_ns,
            acquired=acquired,
            transfers=transfers,
            delay_ns=(0.0 if is_synced else rest_ns) + client_ns * (not here),
            syncs=syncs if is_synced else 0.0,
            sync_ns=rest_ns / syncs if is_synced else 0.0,
            granted=frozenset(name for name in held_ns if self.kinds[name] == "granted"),
        )


#: With fewer syncs of an operation, those are the engine's own, and no commit waits for them.
SYNCS_LEAST = 0.1


def _read_needs(run: ScaleRun, side: Candidate) -> _Needs:
    plays = [it for it in run.plays if it.candidate == side.name]
    restarts = sorted({it.restart for it in plays})
    plain = {(it.restart, it.users): it for it in plays if not it.watched}
    alone = [plain[at, 1] for at in restarts]
    needs = _Needs(
        server_ns=[[plain[at, users].server_cpu_ns for at in restarts] for users in run.users],
        client_ns=[it.client_cpu_ns for it in alone],
        rest_ns=[max(0.0, it.cycle_ns - it.cpu_ns) for it in alone],
        syncs=[it.syncs for it in alone],
    )
    _read_locks(needs, run, plays, restarts)
    return needs


def _read_locks(
    needs: _Needs, run: ScaleRun, plays: Sequence[ScalePlay], restarts: Sequence[int]
) -> None:
    """Acquisitions and the time held of an operation, of each restart."""
    few, many = run.users[0], run.users[-1]
    by_place = {(it.restart, it.users, it.watched): it for it in plays}
    names = dict.fromkeys((lock.kind, lock.name) for it in plays for lock in it.locks)
    demand = needs.make_demand(Draw(tuple(range(len(restarts))), 0.0, 0.0, 1.0, 0.0), here=True)
    for kind, name in names:
        found = []
        for at in restarts:
            watched = by_place.get((at, few, True)), by_place.get((at, many, True))
            longer = watched[0].cycle_ns / by_place[at, few, False].cycle_ns if watched[0] else 1.0
            if use := _read_lock((kind, name), watched, max(1.0, longer), demand):
                found.append(use)
        moved_ns = WAYS[1] * (run.line.ns if run.line else 0.0)
        most_ns = max((taken * moved_ns + (held_ns or 0.0) for taken, held_ns in found), default=0)
        if most_ns < SHARE_LEAST * demand.cpu_ns:
            continue
        if 2 * len(found) <= len(restarts):
            # once in a while a background thread keeps its lock for long: no operation's demand
            needs.seldom.append(name)
            continue
        both = {("shared", name), ("exclusive", name)} <= names.keys()
        label = f"{name}, {kind}" if both else name
        found += [found[-1]] * (len(restarts) - len(found))
        needs.locks[label] = [(acquired, held_ns or 0.0) for acquired, held_ns in found]
        needs.kinds[label] = kind
        if kind != "shared" and not any(held_ns for _, held_ns in found):
            needs.unknown.append(label)


def _read_lock(
    key: tuple[LockKind, str],
    watched: Sequence[ScalePlay | None],
    longer: float,
    demand: Demand,
) -> tuple[float, float | None] | None:
    """How often an operation takes a lock, and the ns that it holds it, with few and with many
    users watched: what is held is taken from few, whose operations are `longer` in all their parts
    for being watched; else from many; else it is inferred from what was waited. None where the lock
    was not met with many: each user may have one of its own.
    """
    both = [
        next((it for it in play.locks if (it.kind, it.name) == key), None) if play else None
        for play in watched
    ]
    known = [it for it in both if it is not None]
    if not known or (watched[1] is not None and both[1] is None):
        return None
    acquired = float(np.mean([it.acquisitions for it in known]))
    for use in known:
        if use.held_ns is not None:
            held_ns = use.acquisitions * use.held_ns
            return acquired, held_ns / longer if use is both[0] else held_ns
    most = watched[1]
    if key[0] == "shared" or most is None or most.users == 1:
        return acquired, None
    waited = [it.acquisitions * (it.waited_ns or 0.0) if it else 0.0 for it in both]
    cores = Cores(most.cores)
    return acquired, estimate_held_ns(waited[1] - waited[0], demand, cores, most.users, acquired)


def _list_draws(run: ScaleRun, count: int) -> tuple[Draw, list[Draw]]:
    """The middle, and draws about it."""
    rng = np.random.default_rng(run.run.seed)
    line = run.line
    low, middle, high = (line.low_ns, line.ns, line.high_ns) if line else (0.0, 0.0, 0.0)
    woken = run.wakeup
    wakeup_ns = (woken.low_ns, woken.ns, woken.high_ns) if woken else (0.0, 0.0, 0.0)
    whole = Draw(tuple(range(count)), 0.5, middle, sum(WAYS) / 2, wakeup_ns[1])
    draws = [
        Draw(
            tuple(int(it) for it in rng.integers(0, count, count)),
            float(rng.uniform()),
            float(rng.uniform(low, high)),
            float(rng.uniform(*WAYS)),
            float(rng.uniform(wakeup_ns[0], wakeup_ns[2])),
        )
        for _ in range(DRAWS)
    ]
    return whole, draws


def _forecast_side(run: ScaleRun, side: Candidate) -> CandidateForecast:
    needs = _read_needs(run, side)
    whole, draws = _list_draws(run, len(needs.rest_ns))
    demand = needs.make_demand(whole, here=False)
    demands = [(needs.make_demand(it, here=False), it) for it in draws]
    points = []
    for cores in CORES:
        users = choose_users(run, demand, cores)
        middle = solve(demand, make_cores(run.line, cores, whole), users)
        drawn = [solve(each, make_cores(run.line, cores, draw), users) for each, draw in demands]
        rates = _make_band(1e9 * middle.rate, [1e9 * it.rate for it in drawn])
        points.append(
            ForecastPoint(cores, users, rates, _make_band(middle.idle, [it.idle for it in drawn]))
        )
    return CandidateForecast(
        side=side,
        demand=demand,
        points=tuple(points),
        full=find_first_full(run, demand, whole),
        checks=tuple(_check_here(run, side, needs, whole, draws)),
        kinds=needs.kinds,
        unknown=tuple(needs.unknown),
        seldom=tuple(needs.seldom),
    )


def make_cores(line: LineTransfer | None, cores: int, draw: Draw) -> Cores:
    """So many cores, a line's way apart."""
    if line is None:
        return Cores(cores, wakeup_ns=draw.wakeup_ns)
    return Cores(cores, draw.line_ns, line.far_ns, line.near_cores, draw.wakeup_ns)


def choose_users(run: ScaleRun, demand: Demand, cores: int) -> int:
    """As many as were asked for, or as it takes."""
    if run.users_per_core:
        return max(1, round(run.users_per_core * cores))
    waited_ns = demand.delay_ns + demand.syncs * demand.sync_ns
    needed = USERS_FACTOR * cores * (1 + waited_ns / demand.cpu_ns)
    return min(USERS_MOST, math.ceil(needed))


def _make_band(middle: float, drawn: Sequence[float]) -> ForecastBand:
    tail = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(drawn, [tail, 100 - tail])
    return ForecastBand(middle, min(middle, float(low)), max(middle, float(high)))


def find_first_full(run: ScaleRun, demand: Demand, draw: Draw) -> FirstFull:
    """The first lock or line that is full, at the least number of cores."""

    def find(cores: int) -> Solution:
        machine = make_cores(run.line, cores, draw)
        return solve(demand, machine, choose_users(run, demand, cores))

    def is_full(solution: Solution) -> bool:
        return max(solution.used.values(), default=0.0) >= FULL

    most = CORES[-1]
    if not is_full(find(most)):
        return FirstFull()
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_full(find(middle)) else (middle, high)
    used = find(high).used
    name = max(used, key=lambda each: used[each])
    freed = replace(
        demand,
        held_ns={key: ns for key, ns in demand.held_ns.items() if key != name},
        transfers={key: times for key, times in demand.transfers.items() if key != name},
    )
    machine, users = make_cores(run.line, most, draw), choose_users(run, demand, most)
    gain = solve(freed, machine, users).rate / solve(demand, machine, users).rate
    return FirstFull(name, high, gain)


def _check_here(
    run: ScaleRun, side: Candidate, needs: _Needs, whole: Draw, draws: Sequence[Draw]
) -> list[HostCheck]:
    """From one user to each other number of them, on the cores that they were played on; this
    host's lines are not known where the run is for another machine.
    """
    found = []
    for users in run.users[1:]:
        plays = [
            it
            for it in run.plays
            if it.candidate == side.name and it.users == users and not it.watched
        ]
        rates = []
        for it in (whole, *draws):
            cores = make_cores(None if run.machine else run.line, plays[0].cores, it)
            rates.append(1e9 * solve(needs.make_demand(it, here=True), cores, users).rate)
        measured = float(np.mean([it.rate_per_s for it in plays]))
        found.append(HostCheck(users, _make_band(rates[0], rates[1:]), measured))
    return found


def find_crossings(base: CandidateForecast, other: CandidateForecast) -> list[tuple[float, bool]]:
    """The cores at which another overtakes the base or falls behind it, between numbers of cores
    whose bands both lie apart.
    """
    found, before = [], None
    for one, two in zip(base.points, other.points, strict=True):
        ratio = math.log(two.rate_per_s.middle / one.rate_per_s.middle)
        if before and before[1] * ratio < 0:
            share = abs(before[1]) / (abs(before[1]) + abs(ratio))
            found.append((before[0] * (one.cores / before[0]) ** share, ratio > 0))
        if one.rate_per_s.high < two.rate_per_s.low or two.rate_per_s.high < one.rate_per_s.low:
            before = one.cores, ratio
    return found
