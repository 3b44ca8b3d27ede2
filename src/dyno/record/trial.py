"""One trial: what the driver, the probes and the controls left of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from dyno.record.metric import Better
from dyno.record.schema import SCHEMA
from dyno.record.tally import Tally, Usage


@dataclass(frozen=True)
class Reading:
    """A probe's number over one phase, with its identity.

    `value` is what the phase added to a counter, or a gauge's value at its end. `per_operation`
    says that the number is a cost to be divided by the phase's operations.
    """

    probe: str
    name: str
    unit: str
    better: Better
    value: float
    per_operation: bool


@dataclass(frozen=True)
class PhaseRecord:
    """What one phase of one trial measured; times are CLOCK_MONOTONIC."""

    phase: str
    started_ns: int
    measured_ns: int
    ended_ns: int
    interrupted: bool
    usage: Usage
    streams: tuple[Tally, ...]
    readings: tuple[Reading, ...] = ()

    @property
    def duration_s(self) -> float:
        """Seconds measured: from the end of the warm-up to the last answer."""
        return (self.ended_ns - self.measured_ns) / 1e9


@dataclass(frozen=True)
class Evidence:
    """What the ledger saw: a statement's number beside the driver's own.

    Of a statement without counters nothing is `expected`: its rows are `found` as their number and
    `digest`, to be held against those of other candidates.
    """

    name: str
    sql: str
    expected: int
    found: str
    digest: str = ""


Status = Literal["ok", "failed", "interrupted"]
#: The candidate name of the trials that play the script on `null`, to know the driver's floor.
FLOOR = "(floor)"


@dataclass(frozen=True)
class Trial:
    """One restart of one candidate under one workload.

    `number` names its file; `attempt` counts the times that its block was begun; `conditions` is
    what each control found and set; `settings` are the engine's, as read back; `failure` is the
    sentence of a failed trial; `options` are the workload's that belong to its cell alone.
    """

    number: int
    workload: str
    block: int
    candidate: str
    attempt: int
    order: int
    started_utc: str
    status: Status
    phases: tuple[PhaseRecord, ...] = ()
    counters: dict[str, int] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    conditions: dict[str, dict[str, str]] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    size_bytes: int = 0
    failure: str = ""
    log: str = ""
    options: dict[str, str] = field(default_factory=dict)
    schema: int = SCHEMA
