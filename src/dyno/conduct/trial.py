"""One trial: a fresh home, a fresh engine, the driver under the controls, the ledger, the stop."""

from __future__ import annotations

import hashlib
import random
import shutil
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from dyno import driver
from dyno.builds import Build
from dyno.conduct import death
from dyno.conduct.listener import Listener
from dyno.conduct.watch import Watch
from dyno.controls import Held, controls
from dyno.engines import Engine, Server, Under
from dyno.errors import DynoError
from dyno.plan import Plan, Script
from dyno.record import Candidate, Evidence, PhaseRecord, Status, Trial, WorkloadPlan


@dataclass(frozen=True)
class Job:
    """All that a trial needs to know: who, what, when, and where to leave its data and log.

    `controls` maps every control to its value for this candidate.
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


@dataclass
class _Notes:
    """What a trial has found out so far; a failed one keeps it."""

    phases: list[PhaseRecord] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    conditions: dict[str, dict[str, str]] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    size_bytes: int = 0


def play(job: Job, watch: Watch) -> tuple[Trial, BaseException | None]:
    """Plays `job`, and answers the trial with what stopped it, if anything did.

    Whatever happens, nothing of it is left: no process, no data. Only faults of our own escape.
    """
    began, notes = datetime.now(UTC), _Notes()
    status: Status = "ok"
    error: BaseException | None = None
    try:
        _play(job, notes, watch)
    except DynoError as failed:
        status, error = "failed", failed
    except KeyboardInterrupt as stopped:
        status, error = "interrupted", stopped
    finally:
        shutil.rmtree(job.home, ignore_errors=True)
    return _trial(job, notes, began, status, error), error


def _trial(
    job: Job, notes: _Notes, began: datetime, status: Status, error: BaseException | None
) -> Trial:
    return Trial(
        number=job.number,
        workload=job.workload.name,
        block=job.block,
        candidate=job.candidate.name,
        attempt=job.attempt,
        order=job.order,
        started_utc=began.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        status=status,
        phases=tuple(notes.phases),
        counters=notes.counters,
        settings=notes.settings,
        conditions=notes.conditions,
        evidence=notes.evidence,
        size_bytes=notes.size_bytes,
        failure=str(error) if status == "failed" else "",
        log=_log(job.log),
    )


def _log(log: Path) -> str:
    """The log's place within the run's folder; one without a word in it is removed."""
    with suppress(FileNotFoundError):
        if log.stat().st_size:
            return f"{log.parent.name}/{log.name}"
        log.unlink()
    return ""


def _play(job: Job, notes: _Notes, watch: Watch) -> None:
    job.home.mkdir(parents=True, mode=0o700)
    with ExitStack() as stack:
        held = _hold(job, notes, stack)
        under = Under(held.prefix, held.environment)
        server = job.engine.start(job.build, job.home, job.candidate.settings, under)
        stack.callback(_stop, job, server)
        script = Script(job.workload.script, job.workload.options)
        plan = Plan(server.session, script, job.seed, job.workload.commands, held.cpus)
        with death.explained(server):
            with driver.Process(plan, _launch(job, held, notes)) as process:
                _listener(job, notes, watch, server).listen(process)
            notes.evidence = _evidence(plan, notes.counters)
            notes.settings = job.engine.settings(server)
    notes.size_bytes = sum(f.lstat().st_size for f in job.home.rglob("*") if f.is_file())


def _listener(job: Job, notes: _Notes, watch: Watch, server: Server) -> Listener:
    declared = {phase["name"]: phase for phase in job.workload.phases}
    return Listener(job.engine, server, declared, job.home, watch, notes.phases, notes.counters)


def _stop(job: Job, server: Server) -> None:
    """Stops the engine; its own last words join the trial's log, since its home goes."""
    try:
        job.engine.stop(server)
    finally:
        if said := death.tail(server.log):
            with job.log.open("a") as log:
                log.write(said)


def _hold(job: Job, notes: _Notes, stack: ExitStack) -> Held:
    """Holds every control until the stack is left; their answers, joined."""
    dice = random.Random(f"{job.seed}/{job.candidate.name}/{job.attempt}")
    prefix: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    cpus: tuple[int, ...] = ()
    for name, control in controls().items():
        value = job.controls[name]
        hold = control.hold(value, embedded=job.candidate.embedded, dice=dice)
        held = stack.enter_context(hold)
        notes.conditions[name] = {"value": value} | held.found
        prefix, cpus = (*prefix, *held.prefix), (*cpus, *held.cpus)
        environment |= held.environment
    return Held({}, prefix, environment, cpus)


def _launch(job: Job, held: Held, notes: _Notes) -> driver.Launch:
    """How the driver is started. Prefix and environment are meant for the engine's process,
    which is the driver's where the engine is embedded.
    """
    engine = held if job.candidate.embedded else Held({})
    notes.conditions["driver"] = {
        "environment": " ".join(f"{k}={v}" for k, v in driver.environment().items()),
        "prefix": " ".join(engine.prefix),
        "cpus": ",".join(str(cpu) for cpu in held.cpus),
        "seed": str(job.seed),
    }
    environment = engine.environment | {"TMPDIR": str(job.home)}
    return driver.Launch(job.log, engine.prefix, environment)


def _evidence(plan: Plan, counters: dict[str, int]) -> tuple[Evidence, ...]:
    """What the engine says it holds beside what the script says it put there.

    The script is asked for its ledger anew, since the SQL may depend on the engine. Nothing is
    asked of `null`, which holds nothing.
    """
    if plan.session["kind"] == "null":
        return ()
    ledger = driver.describe(plan).ledger
    answers = driver.ask(plan.session, [entry.sql for entry in ledger]) if ledger else []
    return tuple(
        Evidence(entry.name, entry.sql, _expected(entry.counters, counters), _cell(rows))
        for entry, rows in zip(ledger, answers, strict=True)
    )


def _expected(factors: dict[str, int], counters: dict[str, int]) -> int:
    return sum(factor * counters.get(name, 0) for name, factor in factors.items())


def _cell(rows: list[list[str | None]]) -> str:
    return str(rows[0][0]) if rows and rows[0] else ""


def seed(run_seed: int, workload: str, block: int) -> int:
    """The seed of a block's trials: all candidates of a block are sent the same requests."""
    digest = hashlib.sha256(f"{run_seed}/{workload}/{block}".encode()).digest()
    return int.from_bytes(digest[:4])
