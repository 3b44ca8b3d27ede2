"""What `dyno explain` leaves of one statement on one server, and reads again (`--against`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from dyno.record.schema import SCHEMA
from dyno.record.waits import SessionState

#: The stages of a statement's path, in this order. `not attributed` is what is left of the bare
#: time; negative where the stages were told by runs that the telling made slower.
StageName = Literal[
    "connection",
    "parse",
    "optimise",
    "open tables",
    "lock wait",
    "execute",
    "storage engine",
    "log",
    "binary log",
    "reply",
    "not attributed",
]
REST: StageName = "not attributed"


@dataclass(frozen=True)
class StagePart:
    """What the server calls a part of a stage, with its time in each round, in µs."""

    name: str
    us: tuple[float, ...]


@dataclass(frozen=True)
class PathStage:
    """A stage's own time in each round, in µs: stages do not overlap. `source` says who told it,
    `facts` what else is known of it (`3 pages read`); no times: this server does not tell it.
    """

    name: StageName
    us: tuple[float, ...]
    source: str = ""
    parts: tuple[StagePart, ...] = ()
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlanNode:
    """A node of the plan that was executed, without its children: its time in each round, in µs,
    for all its loops together. `rows` came out of each loop; `pages` were asked of the cache.
    """

    depth: int
    name: str
    us: tuple[float, ...] = ()
    rows: float | None = None
    loops: float | None = None
    pages: float | None = None
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class NodeReading:
    """What one instrumented run told of a node; the numbers are as in `PlanNode`."""

    depth: int
    name: str
    us: float | None = None
    rows: float | None = None
    loops: float | None = None
    pages: float | None = None
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class InnerStatement:
    """A statement inside the functions and triggers that were called: how often it ran, its time of
    all runs together with what it called in turn, in µs, and rows that came out of it. `place` is
    the function and line; `nodes` are the plan of its longest run, where the server tells it.
    """

    sql: str
    runs: int
    us: float
    rows: float | None = None
    place: str = ""
    nodes: tuple[NodeReading, ...] = ()
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """One statement's path on one server.

    `bare_us` are runs without any instrument, as the client sees them, `instrumented_us` those that
    told the most, `clock_us` what reading the clock around each row of each node took, one of each
    a round; `connect_us` are new connections, which no statement pays for alone. `end_us` is the
    end of a transaction that writes, which waits for the log and is in no stage; `end_source` says
    what ended it. `first_us` is the first run of all. `sessions` says in which connection each
    round was played, each of its times the median of `repeats` runs. `shape` is the plan without
    its numbers. `inner` are the longest statements inside functions. `remarks` are what this server
    cannot tell, a sentence each; `unfinished` says why the statement was ended, and empty that it
    was not. `switches` are statements that would make the server tell the stages, the first half
    before and the second after: the whole server's, for its owner to play.
    """

    engine: str
    version: str
    server: str
    sql: str
    created_utc: str
    stages: tuple[PathStage, ...] = ()
    nodes: tuple[PlanNode, ...] = ()
    bare_us: tuple[float, ...] = ()
    instrumented_us: tuple[float, ...] = ()
    clock_us: tuple[float, ...] = ()
    connect_us: tuple[float, ...] = ()
    end_us: tuple[float, ...] = ()
    end_source: str = ""
    sessions: tuple[int, ...] = ()
    repeats: int = 1
    first_us: float = 0.0
    rows: int = 0
    changed: int = 0
    shape: str = ""
    inner: tuple[InnerStatement, ...] = ()
    facts: tuple[str, ...] = ()
    waits: tuple[SessionState, ...] = ()
    wait_samples: int = 0
    remarks: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    unfinished: str = ""
    rolled_back: bool = False
    dyno: str = ""
    schema: int = SCHEMA


@dataclass(frozen=True)
class PathRound:
    """What one round told: each way of running the statement once. Times in µs; `stages` without
    the rest, `parts` by stage and the server's own name. `calls` says in which question of the
    round a stage was timed, and the bare run (`bare`): waits are sampled by question.
    """

    bare_us: float
    stages: dict[StageName, float]
    instrumented_us: float | None = None
    clock_us: float | None = None
    end_us: float | None = None
    parts: dict[StageName, dict[str, float]] = field(default_factory=dict)
    nodes: tuple[NodeReading, ...] = ()
    rows: int = 0
    changed: int = 0
    facts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
