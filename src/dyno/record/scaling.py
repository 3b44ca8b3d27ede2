"""What `dyno scale` leaves behind (`scaling.json`): what an operation of each candidate needs, at
several numbers of users, and how long a cache line takes from one core to another.
"""

from __future__ import annotations

from typing import Literal

from dyno.record.run import Candidate
from dyno.record.schema import SCHEMA, Finite, Int64, Record, require
from dyno.record.trial import Metric

#: The record of such a run in its folder.
SCALING_RECORD = "scaling.json"

#: `exclusive`: one holder at a time; `shared`: any number of them, but each acquisition writes the
#: lock's own cache line, as a counter's increment does.
LockKind = Literal["exclusive", "shared"]


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
    `locks` is what the engine tells of its locks, `unread` why it tells nothing.
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
    locks: tuple[LockUse, ...] = ()
    unread: str = ""

    def __post_init__(self) -> None:
        counts = (self.users, self.cores, self.operations)
        require(min(counts) > 0, "users, cores and operations", "above 0")
        require(self.duration_s > 0 and self.rate_per_s > 0, "duration_s and rate_per_s", "above 0")
        require(self.server_cpu_ns >= 0 and self.client_cpu_ns >= 0, "CPU times", "0 or more")


class LineTransfer(Record):
    """How long a cache line takes from one core to another, one way: the median over `pairs` of
    cores with its 95 % interval; None where the host has one core. `source` says who measured.
    """

    ns: Finite
    low_ns: Finite
    high_ns: Finite
    pairs: Int64
    source: str = "measured here"

    def __post_init__(self) -> None:
        holds = 0 < self.low_ns <= self.ns <= self.high_ns
        require(holds, "low_ns, ns and high_ns", "above 0, in this order")


class ScaleRun(Record):
    """A run of `dyno scale`: each of its `restarts` plays every one of `users`, for `time_s`, with
    each candidate, whose restarts take turns; the first is the base. `machine` is what the forecast
    is for, where it is not this host.
    """

    name: str
    created_utc: str
    command: str
    seed: Int64
    workload: str
    phase: str
    unit: str
    options: dict[str, str]
    candidates: tuple[Candidate, ...]
    users: tuple[Int64, ...]
    restarts: Int64
    time_s: Finite
    plays: tuple[ScalePlay, ...] = ()
    line: LineTransfer | None = None
    machine: str = ""
    users_per_core: Finite | None = None
    controls: dict[str, str] = {}
    host: dict[str, str] = {}
    dyno: str = ""
    schema: Int64 = SCHEMA

    def __post_init__(self) -> None:
        require(self.candidates, "candidates", "one or more")
        require(self.users and min(self.users) > 0, "users", "one or more, above 0")
        require(self.restarts > 0 and self.time_s > 0, "restarts and time_s", "above 0")
        numbers = [play.number for play in self.plays]
        require(numbers == [*range(1, len(numbers) + 1)], "plays", "numbered from 1 on")
        most = self.restarts * len(self.users) * len(self.candidates)
        require(len(numbers) <= most, "plays", "at most so many as asked for")

    @property
    def is_complete(self) -> bool:
        """Has all been played?"""
        return len(self.plays) == self.restarts * len(self.users) * len(self.candidates)

    @property
    def metric(self) -> Metric:
        """What is forecast."""
        return Metric(self.workload, self.phase, "", "rate_per_s", f"{self.unit}/s", "higher")
