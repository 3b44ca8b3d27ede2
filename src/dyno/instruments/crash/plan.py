"""What is asked of a run of kills, its engines, its folder, and the way back to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import dyno
from dyno import driver
from dyno.builds import Build, Say
from dyno.engines import Engine, Server, ShowsWrites, StartConditions, find_engine
from dyno.errors import UsageError
from dyno.host.checks import FLEETING, read_host_facts
from dyno.instruments.crash.ledger import WORKLOADS
from dyno.plugins import list_modules
from dyno.record import Candidate
from dyno.record.crash import CRASH_RECORD, CrashRun, CrashSide
from dyno.runs.experiment.candidates import Spec, make_names_unique, parse_candidate
from dyno.runs.experiment.comparison import check_unlike
from dyno.runs.resolve.candidates import resolve_candidates, resolve_control_values
from dyno.runs.resolve.workloads import CandidateRequest
from dyno.runs.run_folder import make_run_folder, read_json, write_json


@dataclass(frozen=True)
class CrashPlan:
    """What is asked for, word by word."""

    words: Sequence[str]
    workload: str
    times: int = 20
    clients: int = 4
    within_s: float = 2.0
    torn: bool = False
    silent: bool = False
    seed: int = 1
    margin_percent: float = 10.0
    command: str = ""


@dataclass(frozen=True)
class CrashedEngine:
    """An engine of a run, with its program, and the settings that it is started with."""

    engine: Engine
    build: Build
    settings: dict[str, str]
    no_data: tuple[str, ...]
    data: str

    def start(self, home: Path, environment: Mapping[str, str] = {}) -> Server:
        under = StartConditions(environment=dict(environment))
        return self.engine.start(self.build, home, self.settings, under)


def plan_crash_run(plan: CrashPlan, say: Say) -> tuple[CrashRun, list[CrashedEngine]]:
    """The record before its first kill, and its engines; `UsageError` for what cannot be played."""
    if plan.workload not in WORKLOADS:
        cause = "it plays a ledger of its own, so that each commit is known"
        hint = f"-w {' or -w '.join(WORKLOADS)}"
        raise UsageError(f"a crash cannot play '{plan.workload}'", cause=cause, hint=hint)
    specs = make_names_unique([parse_candidate(word) for word in plan.words])
    check_unlike(specs)
    for spec in specs:  # nothing is fetched yet
        _check_spec(spec)
    requests = [CandidateRequest(spec) for spec in specs]
    found = resolve_candidates(requests, resolve_control_values({}), say)
    (base, first), *more = [_make_side(plan, *each) for each in found]
    run = CrashRun(
        name=" vs ".join(spec.name for spec in specs),
        created_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        command=plan.command,
        seed=plan.seed,
        workload=plan.workload,
        candidate=base.candidate,
        times=plan.times,
        clients=base.clients,
        within_s=plan.within_s,
        torn=plan.torn,
        silent=plan.silent,
        seen_with=base.seen_with,
        others=tuple(side for side, _ in more),
        margin_percent=plan.margin_percent,
        host=read_host_facts(Path.cwd()),
        dyno=dyno.__version__,
    )
    return run, [first, *(engine for _, engine in more)]


def _check_spec(spec: Spec) -> None:
    """Raise `UsageError` for what cannot be killed."""
    if spec.is_url:
        hint = "name a build: `dyno engines list`"
        raise UsageError("a server that runs already is not killed", hint=hint)
    if not isinstance(find_engine(spec.engine, driver.ask), ShowsWrites):
        able = [
            name
            for name in list_modules("dyno.engines")
            if isinstance(find_engine(name, driver.ask), ShowsWrites)
        ]
        cause = "its writes are not known to come by the layer under its files"
        hint = f"engines that can be killed: {', '.join(able)}"
        raise UsageError(f"dyno crash takes no {spec.engine}", cause=cause, hint=hint)


def _make_side(
    plan: CrashPlan, candidate: Candidate, engine: Engine, build: Build
) -> tuple[CrashSide, CrashedEngine]:
    assert isinstance(engine, ShowsWrites)
    if candidate.controls:
        name = next(iter(candidate.controls))
        raise UsageError(f"a crash holds no control (got {name})", hint="leave it out")
    for name, value in engine.seen_with.items():
        if candidate.settings.get(name, value).lower() != value.lower():
            cause = "the layer under its files would not see its writes"
            raise UsageError(f"{name} must be {value} in a crash", cause=cause)
    clients, seen_with = 1 if engine.embedded else plan.clients, dict(engine.seen_with)
    settings = {**candidate.settings, **seen_with}
    crashed = CrashedEngine(engine, build, settings, engine.no_data, engine.data)
    return CrashSide(candidate, clients, seen_with=seen_with), crashed


def make_crash_folder(runs: Path, run: CrashRun) -> Path:
    """A new folder for the run, with the record of no kill yet."""
    path = make_run_folder(runs, run.created_utc, f"crash-{run.name}")
    write_json(path / CRASH_RECORD, run)
    return path


def reopen_crash_run(folder: Path, say: Say) -> tuple[CrashRun, list[CrashedEngine]]:
    """A run from disk that is to go on; `UsageError` where host or program changed."""
    run = read_json(CrashRun, folder / CRASH_RECORD)
    plan = CrashPlan([side.candidate.spec for side in run.sides], run.workload)
    now, engines = plan_crash_run(plan, say)
    pairs = {name: (was, now.host.get(name, "")) for name, was in run.host.items()}
    pairs = {name: both for name, both in pairs.items() if name not in FLEETING}
    for before, after in zip(run.sides, now.sides, strict=True):
        was, found = (it.candidate.build.get("sha256", "") for it in (before, after))
        pairs[f"the program of {before.candidate.name}"] = was, found
    for name, (was, found) in pairs.items():
        if was != found:
            hint = "start a new run; dyno report shows what this one has"
            cause = f"{name} was '{was}' and is '{found}'"
            raise UsageError("the run cannot be resumed", cause=cause, hint=hint)
    return run, engines
