"""A pilot's trial: one start of the base on one load of its data, played briefly, before any block.

It is looked at for what must be known before the first block (how many connections, how long the
slices), and never for who is faster.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from dyno.builds import Build, Say
from dyno.engines import Engine, Server, Snapshots
from dyno.errors import TrialFailed
from dyno.host.probes import Probe
from dyno.host.processes import list_process_family, sum_cpu_ns
from dyno.instruments.time.controls import hold_controls, merge_environments
from dyno.instruments.time.cpu_samples import PhaseSampler
from dyno.instruments.time.echo import EchoEngine
from dyno.instruments.time.engine_session import EngineSession, SessionPart
from dyno.instruments.time.job import Tools, TrialJob, TrialNotes
from dyno.instruments.time.leftovers import LoadedTables
from dyno.instruments.time.loads import PREPARE, choose_load, prepare_load
from dyno.instruments.time.run import make_temporary_run
from dyno.instruments.time.trial import compute_trial_seed
from dyno.record import Candidate, Phase, PhaseRecord, PinningCondition, WorkloadPlan
from dyno.runs.resolve.draft import Prepared, RunDraft
from dyno.runs.run_folder import RunFolder

#: What is played each time: long enough to tell a per cent from 10 ms ticks.
BRIEF = {"time": "0.8", "warmup_time": "0.2"}
#: The command whose phases are played.
RUN = "run"
#: A script that plays longer than that in spite of it is not tried.
LONGEST_S = 3.0
#: How long a server is watched while nobody asks it.
RESTING_S = 1.0


@dataclass(frozen=True)
class PilotContext:
    """What a pilot is played with; a test hands in its own `tools`."""

    say: Say
    tools: Tools = field(default_factory=Tools)


def explain_not_brief(
    draft: RunDraft, phases: Sequence[Phase], base: Candidate, shortened: bool = False
) -> str:
    """Why nothing can be found by playing these phases briefly; empty where something can.
    `shortened`: the script says itself by which options (`dyno.brief`).
    """
    if draft.builds[base.name].attached:
        return "the server runs already, and what it leaves idle is not known"
    if not shortened and any(phase.paced for phase in phases):
        return "the rate is given, not found"
    if not shortened and any(phase.stop.kind != "time" for phase in phases):
        return "it is played by count, not by time"
    if sum(phase.length_s for phase in phases) > LONGEST_S:
        return "its phases cannot be shortened"
    return ""


@dataclass(frozen=True)
class BriefPlay:
    """What was measured under some options, where driver and engine were, and what percentage of
    one core the server took after the first of them, while nobody asked it.
    """

    records: tuple[PhaseRecord, ...]
    pinning: PinningCondition | None
    resting_percent: float


@dataclass
class OpenEngine:
    """A started engine with a workload's data, which is played on as often as it is asked for."""

    session: EngineSession
    server: Server
    _resting_percent: float | None = None

    def play_briefly(self, options: Mapping[str, str]) -> BriefPlay:
        """The workload under options beside its own."""
        part = SessionPart((RUN,), self.session.job.seed, {**BRIEF, **options})
        self.session.play(self.server, part)
        if self._resting_percent is None:
            self._resting_percent = _measure_resting_percent(self.server)
        pinning = self.session.controls.pinning
        return BriefPlay(tuple(part.phases), pinning, self._resting_percent)


@contextmanager
def open_engine(
    draft: Prepared,
    workload: WorkloadPlan,
    side: Candidate,
    tools: Tools,
    probes: Mapping[str, Probe] = MappingProxyType({}),
    sampler: PhaseSampler | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[OpenEngine]:
    """A candidate on one load of its data, watched by `probes` and `sampler`, too; its process has
    `environment`. A load that is slow is made once and kept for the first block, as in a trial.
    """
    with make_temporary_run() as place, ExitStack() as stack:
        job = make_pilot_job(draft, workload, side, place, tools)
        watching = replace(job.tools, probes={**job.tools.probes, **probes})
        job = replace(job, tools=watching, sampler=sampler)
        job.home.mkdir(mode=0o700)
        notes = TrialNotes()
        held = hold_controls(job, notes, stack)
        own = merge_environments(held.environment, environment)
        held = replace(held, environment=own)
        session = EngineSession(job, notes, lambda _: None, held, LoadedTables(job))
        is_loaded = PREPARE not in job.workload.commands or _take_load(draft, session)
        with session.run_engine() as server:
            if not is_loaded:
                session.play(server, SessionPart((PREPARE,), job.seed))
            yield OpenEngine(session, server)


def _measure_resting_percent(server: Server) -> float:
    """What a server takes of one core by itself; nothing where it is no process of its own."""
    if server.pid is None:
        return 0.0
    began_s = time.monotonic()
    try:
        before_ns = sum_cpu_ns(list_process_family(server.pid))
        time.sleep(RESTING_S)
        spent_ns = sum_cpu_ns(list_process_family(server.pid)) - before_ns
    except PermissionError as refused:
        raise TrialFailed("a server's CPU time at rest cannot be read") from refused
    return max(0.0, spent_ns / (time.monotonic() - began_s) / 1e7)


def _take_load(draft: Prepared, session: EngineSession) -> bool:
    """Leaves the first kept load in the home, where loads are kept; else leaves it empty."""
    job = session.job
    choice = choose_load(draft.design.loads, job.workload, [], 0, draft.size_bytes)
    if choice is None or not isinstance(job.engine, Snapshots):
        return False
    return prepare_load(session, choice) is not None


def make_pilot_job(
    draft: Prepared, workload: WorkloadPlan, side: Candidate, place: RunFolder, tools: Tools
) -> TrialJob:
    """A job in a temporary folder; of the echo, engine and build are filled in by the caller."""
    engine: Engine = draft.engines.get(side.name, EchoEngine())
    build = draft.builds.get(side.name, Build("echo", "", "", Path()))
    return TrialJob(
        number=0,
        block=-1,
        attempt=1,
        order=0,
        seed=compute_trial_seed(draft.run.seed, workload.name, -1),
        workload=workload.with_options(side.options),
        candidate=side,
        engine=engine,
        build=build,
        controls=draft.design.controls | side.controls,
        home=place.find_homes() / "pilot",
        log=place.log(0),
        loaded=place.find_loaded_list(0),
        run_seed=draft.run.seed,
        progress_s=0.0,
        tools=tools,
        clients=draft.clients,
    )
