"""How many connections keep a server busy: the part of a comparison's pilot that finds it.

One start of the base, on one load of its data, is played briefly with more and more connections,
until the server leaves next to nothing of its cores idle: then its own work is what an answer waits
for, and not the host's way to it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from dyno import driver, scratch
from dyno.builds import Build, Say
from dyno.engines import Engine, Server, Snapshots, StartConditions
from dyno.errors import DynoError, InternalError
from dyno.experiment import Experiment, Workload
from dyno.forecast.disk_space import temporary_folder
from dyno.plan import Plan, Script
from dyno.play.attached_tables import LoadedTables
from dyno.play.controls import ControlStack, hold_controls
from dyno.play.echo import EchoEngine
from dyno.play.engine_session import EngineSession, explain_death
from dyno.play.job import Tools, TrialJob, TrialNotes
from dyno.play.loads import PREPARE, choose_load, ready_load
from dyno.play.phases import PhaseLoop
from dyno.play.trial import trial_seed
from dyno.probes import Measure, Probe, ProbeTarget
from dyno.probes._proc import process_family
from dyno.record import (
    IDLE_PERCENT,
    Candidate,
    Phase,
    PhaseRecord,
    PinningCondition,
    Saturation,
    TriedLoad,
    WorkloadPlan,
)
from dyno.resolve.experiment import Prepared
from dyno.resolve.workloads import phases_under
from dyno.run_folder import RunFolder

#: Connections tried, until the server is saturated.
CONNECTIONS = (1, 2, 4, 8, 16, 32, 64)
THREADS = "threads"
#: What is played at each number: long enough to tell a per cent from 10 ms ticks.
TRIED = {"time": "0.8", "warmup_time": "0.2"}
#: A script that plays longer than that in spite of it, at each number, keeps its own connections.
LONGEST_S = 3.0


@dataclass(frozen=True)
class PilotScene:
    """What a pilot is played with; a test hands in its own `tools`."""

    say: Say
    tools: Tools = field(default_factory=Tools)


def saturate(experiment: Experiment, prepared: Prepared, scene: PilotScene) -> list[Saturation]:
    """What was found of each workload whose script heeds `threads` that nobody has set."""
    run = prepared.run
    if any(side.embedded for side in run.candidates):
        return []
    found = []
    for chosen, workload in zip(experiment.workloads, run.workloads, strict=True):
        named = THREADS in workload.options or any(THREADS in v.options for v in workload.variants)
        one, two = (phases_under(chosen, {THREADS: count}) for count in ("1", "2"))
        if not named and one != two:
            found.append(_try_connections(prepared, chosen, workload, scene))
    return found


def _try_connections(
    prepared: Prepared, chosen: Workload, workload: WorkloadPlan, scene: PilotScene
) -> Saturation:
    base = next(c for c in prepared.run.candidates if c.name == prepared.run.design.base)
    if why := _not_told(prepared, phases_under(chosen, TRIED), base):
        return Saturation(workload.name, base.name, 0, why=why)
    scene.say(f"finding how many connections keep {base.name} busy on {workload.name}")
    try:
        with pilot_folder() as place, ExitStack() as stack:
            job = pilot_job(prepared, workload, base, place, scene.tools)
            tried = tuple(_tried(prepared, job, stack))
    except InternalError:
        raise
    except DynoError as failed:
        return Saturation(workload.name, base.name, 0, why=f"it failed: {failed.message}")
    return Saturation(workload.name, base.name, fewest_connections(tried), tried)


def _not_told(prepared: Prepared, phases: Sequence[Phase], base: Candidate) -> str:
    """Why no number can be found by these phases; empty where one can."""
    if prepared.builds[base.name].attached:
        return "the server runs already, and what it leaves idle is not known"
    if any(phase.paced for phase in phases):
        return "the rate is given, not found"
    if any(phase.stop.kind != "time" for phase in phases):
        return "it is played by count, not by time"
    if sum(phase.length_s for phase in phases) > LONGEST_S:
        return "its phases cannot be shortened"
    return ""


def fewest_connections(tried: Sequence[TriedLoad]) -> int:
    """The fewest connections that saturate a server; where none does (it waits for a disk, for
    locks, for a slower client), the fewest that come within `IDLE_PERCENT` of the least idle.
    """
    enough = max(IDLE_PERCENT, min(each.idle_percent for each in tried) + IDLE_PERCENT)
    if any(each.idle_percent <= IDLE_PERCENT for each in tried):
        enough = IDLE_PERCENT
    return next(each.connections for each in tried if each.idle_percent <= enough)


def _tried(prepared: Prepared, job: TrialJob, stack: ExitStack) -> Iterator[TriedLoad]:
    """The server under more and more connections, on one load of the data, until it is saturated.

    A load that is slow is made once and kept for the first block, as in a trial.
    """
    notes = TrialNotes()
    job.home.mkdir(mode=0o700)
    held = hold_controls(job, notes, stack)
    is_loaded = PREPARE not in job.workload.commands or _take_load(prepared, job, notes, held)
    under = StartConditions(held.prefix, held.environment)
    server = job.engine.start(job.build, job.home, job.candidate.settings, under)
    try:
        with explain_death(server):
            if not is_loaded:
                _drive(job, server, (PREPARE,), {}, held)
            for connections in CONNECTIONS:
                options = TRIED | {THREADS: str(connections)}
                records = _drive(job, server, ("run",), options, held)
                idle = idle_percent(records, held.pinning)
                tried = TriedLoad(connections, idle, foreign_percent(records))
                yield tried
                if tried.idle_percent <= IDLE_PERCENT:
                    break
    finally:
        job.engine.stop(server)


def _take_load(prepared: Prepared, job: TrialJob, notes: TrialNotes, held: ControlStack) -> bool:
    """Leaves the first kept load in the home, where loads are kept; else leaves it empty."""
    choice = choose_load(prepared.run, job.workload, [], 0, prepared.size_bytes)
    if choice is None or not isinstance(job.engine, Snapshots):
        return False
    session = EngineSession(job, notes, lambda _: None, held, LoadedTables(job))
    return ready_load(job, choice, session.play) is not None


def _drive(
    job: TrialJob,
    server: Server,
    commands: tuple[str, ...],
    options: dict[str, str],
    held: ControlStack,
) -> list[PhaseRecord]:
    """What the driver measured of some commands on a started server."""
    script = Script(job.workload.script, job.workload.options | options)
    plan = Plan(server.session, script, job.seed, commands, held.cpus, 0.0)
    records: list[PhaseRecord] = []
    probes: dict[str, Probe] = {**job.tools.probes, "waiting": _Waiting()}
    watching = replace(job.tools, probes=probes)
    with job.tools.drive(plan, driver.Launch(job.log)) as process:
        declared, job = {p.name: p for p in job.workload.phases}, replace(job, tools=watching)
        PhaseLoop(job, server, declared, lambda _: None, records).listen(process)
    return records


class _Waiting:
    """Run-queue wait of a server's threads: others' work on its cores is no idleness of its own."""

    summary = "time in which a thread of the server stood ready and waited for a core"
    is_condition = True
    measures: tuple[Measure, ...] = (Measure("server_wait_ns", "ns", "lower", per_operation=False),)

    def sample(self, watched: ProbeTarget) -> dict[str, float]:
        """The sum over all threads, from proc_pid_schedstat(5); nothing where there is none."""
        waits = [
            _wait_ns(file)
            for pid in process_family(watched.server_pid)
            for file in Path(f"/proc/{pid}/task").glob("*/schedstat")
        ]
        return {"server_wait_ns": sum(waits)} if waits else {}


def _wait_ns(schedstat: Path) -> float:
    """A thread's second number; 0 of one that ended meanwhile."""
    with suppress(OSError, IndexError):
        return float(schedstat.read_text().split()[1])
    return 0.0


def idle_percent(records: Sequence[PhaseRecord], pinning: PinningCondition | None) -> float:
    """What part of its cores a server left idle; where it shares them with the driver, what both
    left. At least 0: samples and phases do not end at once.

    Time in which others worked there while the server would have is not idle. What others took of
    all cores is taken to be spread evenly over them.
    """
    driver_cores, cores = (pinning.driver, pinning.engine) if pinning else ((), ())
    every = len(os.sched_getaffinity(0))
    count, sums = len(cores) or every, _sums(records)
    spent_ns = sums["server_cpu_us"] * 1e3
    if not cores or set(cores) & set(driver_cores):
        spent_ns += sum(p.usage.user_ns + p.usage.system_ns for p in records)
    foreign_ns = max(0.0, sums["busy_ns"] - sums["own_ns"]) * count / every
    spent_ns += min(foreign_ns, sums["server_wait_ns"])
    time_ns = count * sum(p.ended_ns - p.started_ns for p in records)
    return max(0.0, 100 * (1 - spent_ns / time_ns)) if time_ns else 100.0


def foreign_percent(records: Sequence[PhaseRecord]) -> float:
    """What others took of all cores' time, as in `analysis/host_noise.py`."""
    sums = _sums(records)
    total = sums["steal_ns"] + sums["busy_ns"] + sums["idle_ns"]
    return 100 * max(0.0, sums["busy_ns"] - sums["own_ns"]) / total if total else 0.0


def _sums(records: Sequence[PhaseRecord]) -> dict[str, float]:
    """What each reading gained over the records; 0 for one that is not there."""
    sums: dict[str, float] = defaultdict(float)
    for record in records:
        for reading in record.readings:
            sums[reading.name] += reading.value
    return sums


@contextmanager
def pilot_folder() -> Iterator[RunFolder]:
    """A temporary folder as a run has it, whose homes a server's user can reach."""
    with scratch.folder("play", temporary_folder()) as path:
        folder = RunFolder(path)
        (path / "logs").mkdir()
        folder.make_homes()
        try:
            with scratch.hold(folder.homes()):
                yield folder
        finally:
            folder.clear_homes()


def pilot_job(
    prepared: Prepared, workload: WorkloadPlan, side: Candidate, place: RunFolder, tools: Tools
) -> TrialJob:
    """A job in a temporary folder; of the echo, engine and build are filled in by the caller."""
    run = prepared.run
    engine: Engine = prepared.engines.get(side.name, EchoEngine())
    build = prepared.builds.get(side.name, Build("echo", "", "", Path()))
    return TrialJob(
        number=0,
        block=-1,
        attempt=1,
        order=0,
        seed=trial_seed(run.seed, workload.name, -1),
        workload=workload.under(side.options),
        candidate=side,
        engine=engine,
        build=build,
        controls=run.design.controls | side.controls,
        home=place.homes() / "pilot",
        log=place.log(0),
        loaded=place.loaded(0),
        run_seed=run.seed,
        progress_s=0.0,
        tools=tools,
    )
