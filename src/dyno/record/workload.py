"""A workload as resolved: its phases, their streams and stop rules, and what a verdict rests on.

The driver describes a script in these types too (`plan.Description`), and a run keeps them.
"""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from dyno.record.schema import Finite, Int64, Record, require

#: A phase that declares neither a time nor a guess (`prepare`) is ended after this.
UNKNOWN_S = 3600.0
#: No phase lasts longer.
LONGEST_S = 1e7


class Pace(Record):
    """When a stream's events are sent; `rate_per_s` is None in a closed loop, which sends the next
    event when the last one is answered; `recorded` is when a log's statements were sent.
    """

    kind: Literal["closed", "uniform", "poisson", "burst", "recorded"] = "closed"
    rate_per_s: Finite | None = None


class Stop(Record):
    """When a phase is over: after `duration_s` of measuring, when every stream has played
    `events`, or when `stream` has (the others stop with it).

    `events` 0 of a count: the first stream function to return false ends it. `within_s` of one: it
    ends then at the latest; 0: however long it takes.
    """

    kind: Literal["time", "count", "stream"]
    duration_s: Finite | None = None
    events: Int64 | None = None
    stream: str | None = None
    within_s: Finite | None = None


class Stream(Record):
    """Users of one kind within a phase: the same script function, pace and role."""

    name: str
    function: str
    connections: Int64
    pace: Pace
    role: Literal["reader", "writer"]
    unit: str
    units_per_event: Int64

    def __post_init__(self) -> None:
        require(self.connections > 0, "connections", "1 or more")

    @property
    def is_paced(self) -> bool:
        """Its rate was set and not measured."""
        return self.pace.kind != "closed"


class Primary(Record):
    """A pair of stream and metric that a verdict rests on; `margin_percent` None: the run's."""

    stream: str
    metric: str
    margin_percent: Finite | None = None


class Phase(Record):
    """One stretch of a trial, as the script declares it under its options.

    `warmup_s` is played before measuring begins and counted apart; `stationary` claims that the
    work per second stays the same; `settle` asks the engine to checkpoint and analyse before it;
    `expected_s` is the script's guess of its length, 0 where it makes none. Phases of one `group`
    are told together. `title` says in words what it does, for readers of a report; empty: its name.
    """

    name: str
    streams: tuple[Stream, ...]
    stop: Stop
    warmup_s: Finite = 0.0
    stationary: bool = False
    settle: bool = False
    primary: tuple[Primary, ...] = ()
    expected_s: Finite = 0.0
    group: str = ""
    title: str = ""

    def __post_init__(self) -> None:
        require(0 <= self.warmup_s < LONGEST_S, "warmup_s", "0 or more, and less than months")
        require(0 <= (self.stop.duration_s or 0) < LONGEST_S, "stop.duration_s", "of such a length")

    @property
    def measured_s(self) -> float:
        """Seconds for which it is measured, where its stop rule says so; else 0."""
        return self.stop.duration_s or 0.0

    @property
    def length_s(self) -> float:
        """Seconds that it should last, warm-up included: its stop rule's, or the script's guess."""
        return (self.measured_s or self.expected_s) + self.warmup_s

    @property
    def limit_s(self) -> float:
        """Seconds after which it is hung and not slow: a timed one must end near its time, a
        counted one may run on an engine twenty times slower than the script's author thought.
        """
        if self.stop.kind == "time":
            return 2 * self.length_s + 60
        return max(600.0, 20 * self.length_s) if self.length_s else UNKNOWN_S

    @property
    def connections(self) -> int:
        """Those of all its streams."""
        return sum(stream.connections for stream in self.streams)

    @property
    def paced(self) -> frozenset[str]:
        """The names of the paced streams."""
        return frozenset(stream.name for stream in self.streams if stream.is_paced)


class LedgerEntry(Record):
    """One number that must equal `equals` and a weighted sum of the script's counters.

    It is the answer to `sql`; without SQL the counters' sum alone must be `equals`, 0 where that is
    left out. With neither counters nor `equals` nothing is expected of the rows but that they are
    the same on all candidates of an engine. With `written` the rows are keys and values, each the
    one that was written last (`dyno.written`); `?` in the SQL stands for the keys. `unchecked` says
    why nothing of this name is checked.
    """

    name: str
    sql: str = ""
    counters: dict[str, Int64] = {}
    equals: Int64 | None = None
    written: str = ""
    unchecked: str = ""


class Variant(Record):
    """A workload as a cell plays it: the options that are the cell's own, and what they make of
    its phases and of its ledger.
    """

    options: dict[str, str]
    phases: tuple[Phase, ...]
    ledger: tuple[LedgerEntry, ...]
    size_bytes: Int64 = 0


class WorkloadPlan(Record):
    """A workload as resolved: its options, and its phases and primaries under them.

    `script` is the Lua file and `script_sha256` its checksum, which a resume compares; `commands`
    are those of the script that a trial plays; `sweep` is the option, with its value, that tells it
    from its like in a sweep; `size_bytes` is the data set's size as the script guesses it, 0 where
    it does not. `variants` are there where a factor is an option of the workload.
    """

    name: str
    script: str
    script_sha256: str
    options: dict[str, str]
    phases: tuple[Phase, ...]
    ledger: tuple[LedgerEntry, ...]
    commands: tuple[str, ...] = ("prepare", "run")
    sweep: dict[str, str] = {}
    size_bytes: Int64 = 0
    variants: tuple[Variant, ...] = ()

    @property
    def phase_names(self) -> frozenset[str]:
        """The names of the phases that are measured; `prepare` and `cleanup` are none."""
        return frozenset(phase.name for phase in self.phases)

    @property
    def most_connections(self) -> int:
        """Those of the phase that has the most; the driver's own without any."""
        return max((phase.connections for phase in self.phases), default=1)

    def with_options(self, options: dict[str, str]) -> WorkloadPlan:
        """The workload with a cell's own options, as it is played; itself without any."""
        if not options:
            return self
        own = next(each for each in self.variants if each.options == options)
        plain = replace(self, options=self.options | options, variants=())
        return replace(plain, phases=own.phases, ledger=own.ledger, size_bytes=own.size_bytes)
