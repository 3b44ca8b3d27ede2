"""What `dyno explain` leaves of one statement on one server, and reads again (`--against`)."""

from __future__ import annotations

from typing import Literal

from dyno.record.schema import SCHEMA, Finite, Int64, Record
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


class StagePart(Record):
    """What the server calls a part of a stage, with its time in each round, in µs."""

    name: str
    us: tuple[Finite, ...]


class PathStage(Record):
    """A stage's own time in each round, in µs: stages do not overlap. `source` says who told it,
    `facts` what else is known of it (`3 pages read`); no times: this server does not tell it.
    """

    name: StageName
    us: tuple[Finite, ...]
    source: str = ""
    parts: tuple[StagePart, ...] = ()
    facts: tuple[str, ...] = ()


class PlanNode(Record):
    """A node of the plan that was executed, without its children: its time in each round, in µs,
    for all its loops together. `rows` came out of each loop; `pages` were asked of the cache.
    """

    depth: Int64
    name: str
    us: tuple[Finite, ...] = ()
    rows: Finite | None = None
    loops: Finite | None = None
    pages: Finite | None = None
    facts: tuple[str, ...] = ()


class NodeReading(Record):
    """What one instrumented run told of a node; the numbers are as in `PlanNode`."""

    depth: Int64
    name: str
    us: Finite | None = None
    rows: Finite | None = None
    loops: Finite | None = None
    pages: Finite | None = None
    facts: tuple[str, ...] = ()


class InnerStatement(Record):
    """A statement inside the functions and triggers that were called: how often it ran, its time of
    all runs together with what it called in turn, in µs, and rows that came out of it. `place` is
    the function and line; `nodes` are the plan of its longest run, where the server tells it.
    """

    sql: str
    runs: Int64
    us: Finite
    rows: Finite | None = None
    place: str = ""
    nodes: tuple[NodeReading, ...] = ()
    facts: tuple[str, ...] = ()


class Explanation(Record):
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
    bare_us: tuple[Finite, ...] = ()
    instrumented_us: tuple[Finite, ...] = ()
    clock_us: tuple[Finite, ...] = ()
    connect_us: tuple[Finite, ...] = ()
    end_us: tuple[Finite, ...] = ()
    end_source: str = ""
    sessions: tuple[Int64, ...] = ()
    repeats: Int64 = 1
    first_us: Finite = 0.0
    rows: Int64 = 0
    changed: Int64 = 0
    shape: str = ""
    inner: tuple[InnerStatement, ...] = ()
    facts: tuple[str, ...] = ()
    waits: tuple[SessionState, ...] = ()
    wait_samples: Int64 = 0
    remarks: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    unfinished: str = ""
    rolled_back: bool = False
    dyno: str = ""
    schema: Int64 = SCHEMA


class PathRound(Record):
    """What one round told: each way of running the statement once. Times in µs; `stages` without
    the rest, `parts` by stage and the server's own name. `calls` says in which question of the
    round a stage was timed, and the bare run (`bare`): waits are sampled by question.
    """

    bare_us: Finite
    stages: dict[StageName, Finite]
    instrumented_us: Finite | None = None
    clock_us: Finite | None = None
    end_us: Finite | None = None
    parts: dict[StageName, dict[str, Finite]] = {}
    nodes: tuple[NodeReading, ...] = ()
    rows: Int64 = 0
    changed: Int64 = 0
    facts: dict[str, tuple[str, ...]] = {}
    calls: dict[str, Int64] = {}
