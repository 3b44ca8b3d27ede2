"""A trial's job, what it is to do, and its notes, what it has found out so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from dyno import driver
from dyno.builds import Build
from dyno.driver.lockstep import ServerWords
from dyno.driver.plan import Description, Plan, Session
from dyno.engines import Ask, Engine, PlaysLogs, ReadsSql, Server
from dyno.host.controls import Control, load_controls
from dyno.host.probes import Probe, load_probes
from dyno.instruments.time.contents import Replies, ask_contents
from dyno.instruments.time.cpu_samples import PhaseSampler, Samples, start_sampler
from dyno.instruments.time.interleaving import TrialSlot
from dyno.instruments.time.known_statements import KnownStatements, KnownText
from dyno.instruments.time.log_contents import LogReplies
from dyno.instruments.time.log_times import build_phase
from dyno.record import (
    Candidate,
    DataCondition,
    DriverCondition,
    Evidence,
    FolderUpgrade,
    LoadCondition,
    PhaseRecord,
    PinningCondition,
    StorageCondition,
    WorkloadPlan,
)
from dyno.record.integrity import Check, IntegrityCheck
from dyno.runs.resolve.design import SLOW_LOAD_S

if TYPE_CHECKING:
    from dyno.driver.clients import ClientFleet

#: What a question may take while users' connections are open: one of them may hold a lock.
BRIEF_S = 5.0


def ask_briefly(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
    """As `driver.ask`, within `BRIEF_S`."""
    return driver.ask(session, statements, BRIEF_S)


class DrivenProcess(Protocol):
    """A driver that plays a plan, and our side of the handshake (`driver.DriverProcess`)."""

    @property
    def pid(self) -> int:
        """The process, or that of the engine that lives in it."""

    def read_event(self, limit: driver.Limit) -> driver.Event:
        """What it says next."""

    def go(self, start_ns: int | None = None) -> None:
        """Lets it go on, with an interleaved phase at a time of CLOCK_MONOTONIC."""

    def interrupt(self) -> None:
        """Asks it to end with what it has."""


@runtime_checkable
class DrivenTogether(Protocol):
    """Several drivers that play as one: who watches this host has to know all that are on it."""

    @property
    def pids(self) -> tuple[int, ...]:
        """Their processes here, or what leads to them."""


@dataclass(frozen=True)
class Tools:
    """What trials are played with: the driver, the probes, the controls and the CPU sampler.

    `drive` starts a driver with a plan. `ask_briefly` gives up soon. A test hands in its own,
    and nobody patches a module.
    """

    drive: Callable[[Plan, driver.DriverLaunch], AbstractContextManager[DrivenProcess]] = (
        driver.DriverProcess
    )
    describe: Callable[[Plan], Description] = driver.describe
    ask: Ask = driver.ask
    ask_briefly: Ask = ask_briefly
    probes: Mapping[str, Probe] = field(default_factory=load_probes)
    controls: Mapping[str, Control] = field(default_factory=load_controls)
    make_sampler: Callable[[], Samples] = start_sampler


@dataclass(frozen=True)
class LoadChoice:
    """Which load a trial begins with: number `number` (from 0) of `of`; `of` 0: kept where it took
    longer than `slow_s`.
    """

    number: int
    of: int
    slow_s: float = SLOW_LOAD_S


class AskedContents(Protocol):
    """What a side is asked on loaded data in the place of phases."""

    def ask(self, server: Server, engine: ReadsSql) -> tuple[PhaseRecord, ...]:
        """Asks it, and answers the phases that were timed; `TrialFailed` where the engine dies of
        it.
        """


@dataclass(frozen=True)
class AskedTexts:
    """Statements that are asked one by one, and where the answers go."""

    texts: Sequence[KnownText]
    replies: Replies

    def ask(self, server: Server, engine: ReadsSql) -> tuple[PhaseRecord, ...]:
        """Asks all of them (`ask_contents`)."""
        ask_contents(server.session, engine.tables_sql, self.texts, self.replies)
        return ()


@dataclass(frozen=True)
class AskedLog:
    """A log that is played in its order, and where the answers go; `is_timed`: its times count, and
    its answers were compared before.
    """

    replies: LogReplies
    is_timed: bool = False

    def ask(self, server: Server, engine: ReadsSql) -> tuple[PhaseRecord, ...]:
        """Plays it."""
        words = engine.in_order if isinstance(engine, PlaysLogs) else ServerWords()
        if not self.is_timed:
            self.replies.ask(server.session, words, engine.tables_sql)
            return ()
        self.replies.ask(server.session, words, "")
        phase = build_phase(self.replies)
        self.replies.answers.unlink()
        return (phase,)


@dataclass(frozen=True)
class TrialJob:
    """All that a trial needs to know: who, what, when, and where to leave its data and log.

    `controls` maps every control to its value for this candidate; `loaded` is the file that
    lists what lies in a server that goes on running (`leftovers`); `load` is the turn among the
    loads that are kept, None where the trial loads its data anew; `run_seed` seeds those, and the
    driver of `driver_sha256` makes their rows;
    `progress_s` is how often the driver says how a phase goes; `seat` is its place among the trials
    of its block, where they are interleaved; `sampler` samples the engine's CPU time beside its
    phases (None: nobody does); `statements` are those that the run has sent so far; `clients` are
    the hosts that play it together (None: this one). `asked` is what is asked in the place of the
    phases (None: they are played); with `explains` plans are read before that. `samples_waits`: the
    server's sessions are asked what they wait for. `check` says how thoroughly the data are looked
    at in the end. `upgraded` is the base's job whose data folder is upgraded, and begun with (None:
    the data are loaded).
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
    check: Check = "quick"
    driver_sha256: str = ""
    progress_s: float = 1.0
    seat: TrialSlot | None = None
    sampler: PhaseSampler | None = None
    statements: KnownStatements = field(default_factory=KnownStatements, repr=False)
    tools: Tools = field(default_factory=Tools, repr=False)
    clients: ClientFleet | None = field(default=None, repr=False)
    asked: AskedContents | None = field(default=None, repr=False)
    explains: bool = False
    samples_waits: bool = True
    upgraded: TrialJob | None = field(default=None, repr=False)


@dataclass
class TrialNotes:
    """What a trial has found out so far; a failed one keeps it. `controls` maps each to facts by
    name, which it may add to until the end.
    """

    phases: list[PhaseRecord] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    controls: dict[str, dict[str, str]] = field(default_factory=dict)
    pinning: PinningCondition | None = None
    driver: DriverCondition | None = None
    load: LoadCondition | None = None
    storage: StorageCondition | None = None
    data: DataCondition | None = None
    evidence: tuple[Evidence, ...] = ()
    plans: dict[str, str] = field(default_factory=dict)
    plans_before: dict[str, str] = field(default_factory=dict)
    unexplained: dict[str, str] = field(default_factory=dict)
    generic_plans: dict[str, str] = field(default_factory=dict)
    integrity: tuple[IntegrityCheck, ...] = ()
    upgrade: FolderUpgrade | None = None
    size_bytes: int = 0
    left_behind: list[str] = field(default_factory=list)
