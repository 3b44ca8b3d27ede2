"""A profile of a server in use: where its CPU time went, what its sessions were at, which
statements took the time. One file, written by `dyno profile`.

The samples are told apart by slices of some seconds: those are what an interval is over.
"""

from __future__ import annotations

from typing import Literal

from dyno.record.profile import CpuProfile, CpuSlice
from dyno.record.schema import SCHEMA, Finite, Int64, Record, require, require_word
from dyno.record.waits import SessionState

#: Where the statements' times come from: the server's own counts, or how often its sessions were
#: met with them. Empty: nowhere.
StatementSource = Literal["pg_stat_statements", "performance_schema", "sampled sessions", ""]


class CpuTimes(Record):
    """Where the CPU time of the server's processes went. `charged_ns` is what the kernel charged
    them meanwhile; None where a process ended, or cannot be read.
    """

    profile: CpuProfile
    slices: tuple[CpuSlice, ...]
    charged_ns: Int64 | None = None

    def __post_init__(self) -> None:
        most = len(self.profile.functions)
        places = (place for each in self.slices for place, _ in each.functions)
        require(all(0 <= it < most for it in places), "slices.functions", "those of the profile")

    @property
    def sample_ns(self) -> float:
        """The CPU time that a sample stands for: its share of what was charged, else the period."""
        profile = self.profile
        if self.charged_ns and profile.samples:
            return self.charged_ns / profile.samples
        return float(profile.period_ns)


class WaitSlice(Record):
    """What sessions were met at in a stretch of time, in `samples` looks at all of them."""

    elapsed_ns: Int64
    samples: Int64
    states: tuple[SessionState, ...]

    def __post_init__(self) -> None:
        require(self.elapsed_ns > 0, "elapsed_ns", "above 0")
        least = 1 if self.states else 0
        require(self.samples >= least, "samples", "above 0 where sessions were met")


class StatementTime(Record):
    """A statement without its values, and what all its executions took.

    `key` is the server's own name of it, the same in each profile of that server. `slices_ns` are
    the times that it took in each of `ServerProfile.statement_slices_ns`; `calls` and `rows` None
    where it was met by sampling. `plan` is what EXPLAIN said, `unplanned` why there is none.
    """

    key: str
    database: str
    text: str
    time_ns: Int64
    slices_ns: tuple[Int64, ...]
    calls: Int64 | None = None
    rows: Int64 | None = None
    slices_calls: tuple[Int64, ...] = ()
    plan: str = ""
    unplanned: str = ""


class ServerProfile(Record):
    """All that was seen. `name` is the server's address without its password, or its process;
    `engine` names the table of layers, `pids` the processes whose children were sampled, too.

    `ended` says why it is shorter than was asked for, `missing` what there is none of and why.
    `cost_percent` is what was told before it began, in percent of the machine's cores.
    """

    name: str
    engine: str
    version: str
    began_utc: str
    asked_s: Finite
    elapsed_s: Finite
    slice_s: Finite
    cores: Int64
    cost_percent: Finite
    pids: tuple[Int64, ...] = ()
    cpu: CpuTimes | None = None
    waits: tuple[WaitSlice, ...] = ()
    statements: tuple[StatementTime, ...] = ()
    statement_source: StatementSource = ""
    statement_slices_ns: tuple[Int64, ...] = ()
    ended: str = ""
    missing: tuple[str, ...] = ()
    schema: Int64 = SCHEMA

    def __post_init__(self) -> None:
        require_word(self.engine, "engine")
        require(self.slice_s > 0, "slice_s", "above 0")
        require(self.elapsed_s > 0, "elapsed_s", "above 0")
        require(self.cores > 0, "cores", "1 or more")
        require(
            all(each > 0 for each in self.statement_slices_ns), "statement_slices_ns", "above 0"
        )
        whole = {len(self.statement_slices_ns)}
        sizes = {len(each.slices_ns) for each in self.statements}
        require(sizes <= whole, "statements.slices_ns", "one for each of statement_slices_ns")
        sizes = {len(each.slices_calls) for each in self.statements if each.slices_calls}
        require(sizes <= whole, "statements.slices_calls", "one for each of statement_slices_ns")
