"""What `dyno scale` leaves behind (`scaling.json`): what an operation of each candidate needs, at
several numbers of users, and how long a cache line takes from one core to another.
"""

from __future__ import annotations

from typing import Literal

from dyno.record.run import Run
from dyno.record.schema import SCHEMA, Finite, Int64, Record, require
from dyno.record.trial import Metric

#: The record of such a run in its folder.
SCALING_RECORD = "scaling.json"

#: `exclusive`: one holder at a time, and free for whoever runs when it is released; `granted`: the
#: same, but handed to who waits for it, who must wake up first; `shared`: any number of holders,
#: but each acquisition writes the lock's own cache line, as a counter's increment does.
LockKind = Literal["exclusive", "granted", "shared"]


class LockUse(Record):
    """What an operation does with one lock, or with all locks of a class that are one in effect.

    `acquisitions` are those of an operation. `held_ns` and `waited_ns` are of an acquisition, the
    mean over all of them, those that waited not at all too; None where that is not known.
    """

    name: str
    kind: LockKind
    acquisitions: Finite
    held_ns: Finite | None = None
    waited_ns: Finite | None = None

    def __post_init__(self) -> None:
        require(self.name, "name", "a word")
        numbers = (self.acquisitions, self.held_ns or 0.0, self.waited_ns or 0.0)
        require(min(numbers) >= 0, "acquisitions, held_ns and waited_ns", "0 or more")


class ScalePlay(Record):
    """One play: `users` of a candidate at full speed on `cores`, which server and client share, in
    restart `restart`.

    CPU times, `layers` of the engine's, `switches` (of context) and `syncs` are of an operation,
    `operations` all that were played, those of the warm-up too; `rate_per_s` is without these.
    `others_percent` is what others had of all CPU time, by the name of the noise limit on it.
    `locks` is what the engine told of its locks where it was `watched`, which costs it CPU time,
    and `unread` why it told nothing.
    """

    number: Int64
    restart: Int64
    candidate: str
    users: Int64
    cores: Int64
    operations: Int64
    duration_s: Finite
    rate_per_s: Finite
    server_cpu_ns: Finite
    client_cpu_ns: Finite
    layers: dict[str, Finite] = {}
    switches: Finite = 0.0
    syncs: Finite = 0.0
    others_percent: dict[str, Finite] = {}
    watched: bool = False
    locks: tuple[LockUse, ...] = ()
    unread: str = ""

    def __post_init__(self) -> None:
        counts = (self.users, self.cores, self.operations)
        require(min(counts) > 0, "users, cores and operations", "above 0")
        require(self.duration_s > 0 and self.rate_per_s > 0, "duration_s and rate_per_s", "above 0")
        require(self.server_cpu_ns >= 0 and self.client_cpu_ns >= 0, "CPU times", "0 or more")

    @property
    def cycle_ns(self) -> float:
        """From the begin of a user's operation to that of its next."""
        return 1e9 * self.users / self.rate_per_s

    @property
    def cpu_ns(self) -> float:
        """Of an operation, server and client together."""
        return self.server_cpu_ns + self.client_cpu_ns


class LineTransfer(Record):
    """How long a cache line takes from one core to another, one way: the median over `pairs` of
    cores with its 95 % interval. `source` says who measured. On a machine of several sockets that
    is among `near_cores`, and it takes `far_ns` between two sockets.
    """

    ns: Finite
    low_ns: Finite
    high_ns: Finite
    pairs: Int64
    source: str = "measured here"
    far_ns: Finite | None = None
    near_cores: Int64 | None = None

    def __post_init__(self) -> None:
        holds = 0 < self.low_ns <= self.ns <= self.high_ns
        require(holds, "low_ns, ns and high_ns", "above 0, in this order")


class WakeUp(Record):
    """How long a sleeping thread takes to run on another core once it is woken: the mean, with its
    95 % interval.
    """

    ns: Finite
    low_ns: Finite
    high_ns: Finite

    def __post_init__(self) -> None:
        holds = 0 < self.low_ns <= self.ns <= self.high_ns
        require(holds, "low_ns, ns and high_ns", "above 0, in this order")


class ScaleRun(Record):
    """A run of `dyno scale`: each of `restarts` plays every one of `users` for `time_s` with each
    candidate of `run`, and its locks are watched with the fewest and the most of them. A forecast
    has `users_per_core` (None: as many as it takes); `machine` is what it is for, where it is not
    this host, and `line` how long a cache line takes there. `wakeup` is this host's in any case.
    """

    run: Run
    users: tuple[Int64, ...]
    restarts: Int64
    time_s: Finite
    plays: tuple[ScalePlay, ...] = ()
    line: LineTransfer | None = None
    machine: str = ""
    users_per_core: Finite | None = None
    wakeup: WakeUp | None = None
    schema: Int64 = SCHEMA

    def __post_init__(self) -> None:
        users = self.users
        require(users and min(users) == users[0] == 1, "users", "1 first, and above 0")
        require(self.restarts > 0 and self.time_s > 0, "restarts and time_s", "above 0")
        numbers = [play.number for play in self.plays]
        require(numbers == [*range(1, len(numbers) + 1)], "plays", "numbered from 1 on")
        require(len(self.run.workloads) == 1, "run.workloads", "one")
        names = {side.name for side in self.run.candidates}
        known = all(play.candidate in names for play in self.plays)
        require(known, "plays.candidate", "one of the run's")

    @property
    def played(self) -> int:
        """Restarts of a candidate that are over."""
        return len({(play.candidate, play.restart) for play in self.plays})

    @property
    def wanted(self) -> int:
        """Restarts of all candidates."""
        return self.restarts * len(self.run.candidates)

    @property
    def metric(self) -> Metric:
        """What is forecast."""
        (workload,) = self.run.workloads
        (phase,) = workload.phases
        unit = phase.streams[0].unit
        return Metric(workload.name, phase.name, "", "rate_per_s", f"{unit}/s", "higher")
