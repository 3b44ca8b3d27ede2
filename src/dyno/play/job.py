"""What a trial is told to do, and what it has found out so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from dyno.builds import Build
from dyno.engines import Engine
from dyno.record import Candidate, Evidence, PhaseRecord, WorkloadPlan


@dataclass(frozen=True)
class LoadChoice:
    """Which load a trial begins with: number `number` (from 0) of `of`; `of` 0: kept if slow."""

    number: int
    of: int


@dataclass(frozen=True)
class TrialJob:
    """All that a trial needs to know: who, what, when, and where to leave its data and log.

    `controls` maps every control to its value for this candidate; `loaded` is the file that
    lists what lies in a server that goes on running (`leftovers`); `load` is the turn among the
    loads that are kept, None where the trial loads its data anew; `run_seed` seeds those;
    `progress_s` is how often the driver says how a phase goes.
    """

    number: int
    block: int
    attempt: int
    order: int
    seed: int
    workload: WorkloadPlan
    candidate: Candidate
    engine: Engine
    build: Build
    controls: dict[str, str]
    home: Path
    log: Path
    loaded: Path
    load: LoadChoice | None = None
    run_seed: int = 0
    progress_s: float = 1.0


@dataclass
class TrialNotes:
    """What a trial has found out so far; a failed one keeps it."""

    phases: list[PhaseRecord] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    conditions: dict[str, dict[str, str]] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    size_bytes: int = 0
