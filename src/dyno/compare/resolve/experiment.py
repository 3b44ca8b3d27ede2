"""An experiment as a run that can be played: builds, descriptions, keys, host.

Also whether an interrupted run can go on: what is no longer as it was when it began.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import dyno
from dyno import driver, workloads
from dyno.builds import Build, Say, sha256
from dyno.compare.experiment import Experiment, Measuring, candidates
from dyno.compare.resolve.candidates import (
    candidate_facts,
    check_request,
    control_values,
    outline_candidate,
    resolve_candidates,
    resolve_factors,
    with_base_options,
)
from dyno.compare.resolve.controls import (
    ResolvedCandidate,
    recover_knobs,
    tell_refusals,
    tell_remarks,
)
from dyno.compare.resolve.design import choose_turns, make_design, with_turns
from dyno.compare.resolve.likeness import like_a_server
from dyno.compare.resolve.workloads import CandidateRequest, resolve_workloads
from dyno.compare.run_folder import run_to_come
from dyno.engines import Attaches, Engine, LimitsConnections
from dyno.errors import UsageError
from dyno.host import checks as host
from dyno.host.checks import FLEETING
from dyno.record import (
    Calibration,
    Candidate,
    Design,
    Factor,
    Observation,
    Pilot,
    Run,
    WorkloadPlan,
)


@dataclass(frozen=True)
class MemoryAtOnce:
    """What `engines` of a block need together, of what this host has, and how much of that they may
    take.
    """

    engines: int
    needed_bytes: int
    available_bytes: int
    most_bytes: int

    @property
    def fits(self) -> bool:
        """Is there room for all?"""
        return self.needed_bytes <= self.most_bytes

    @property
    def too_much(self) -> str:
        """Why there is none."""
        need, have = (f"{each / 1e9:.1f} GB" for each in (self.needed_bytes, self.available_bytes))
        return f"{self.engines} engines up at once need about {need}, and {have} are available"


@dataclass(frozen=True)
class Prepared:
    """A run with everything in hand to play it; `engines` and `builds` by candidate's name.

    `size_bytes` is the largest data set's, by the scripts' own guess (0: unknown); `progress_s` is
    how often the driver says how a phase goes; `memory` is known where trials take turns.
    """

    run: Run
    engines: dict[str, Engine]
    builds: dict[str, Build]
    size_bytes: int = 0
    progress_s: float = 1.0
    memory: MemoryAtOnce | None = None

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Those of the run."""
        return self.run.candidates

    @property
    def workloads(self) -> tuple[WorkloadPlan, ...]:
        """Those of the run."""
        return self.run.workloads

    @property
    def design(self) -> Design:
        """That of the run."""
        return self.run.design


@dataclass
class RunDraft:
    """A run while it is prepared: pilot, memory and budget write what they choose into its fields,
    and `freeze` makes the records, once.

    `experiment` is what was asked for, with the options of the base's cell, and `requests` are its
    candidates; `workloads` are those of `experiment`, place by place. The other fields are as in
    `Run` and `Prepared`.
    """

    experiment: Experiment
    requests: Sequence[CandidateRequest]
    workloads: tuple[WorkloadPlan, ...]
    design: Design
    candidates: tuple[Candidate, ...] = ()
    size_bytes: int = 0
    engines: dict[str, Engine] = field(default_factory=dict)
    builds: dict[str, Build] = field(default_factory=dict)
    factors: tuple[Factor, ...] = ()
    created_utc: str = ""
    seed: int = 0
    host: dict[str, str] = field(default_factory=dict)
    survey: tuple[Observation, ...] | None = None
    driver_sha256: str = ""
    sources_sha256: str = ""
    calibration: Calibration | None = None
    pilot: Pilot | None = None
    memory: MemoryAtOnce | None = None

    def freeze(self) -> Prepared:
        """The run with everything in hand to play it."""
        run = Run(
            name=self.experiment.name,
            created_utc=self.created_utc,
            question=self.experiment.question,
            command=self.experiment.command,
            seed=self.seed,
            candidates=self.candidates,
            workloads=self.workloads,
            design=self.design,
            host=self.host,
            published=self.experiment.published,
            dyno=dyno.__version__,
            driver_sha256=self.driver_sha256,
            factors=self.factors,
            survey=self.survey,
            calibration=self.calibration,
            pilot=self.pilot,
            sources_sha256=self.sources_sha256,
        )
        return Prepared(run, self.engines, self.builds, self.size_bytes, memory=self.memory)


def resolve_experiment(experiment: Experiment, say: Say) -> Prepared:
    """The experiment as it was asked for, with nothing chosen by a pilot (`draft_run`)."""
    return draft_run(experiment, say).freeze()


def draft_run(experiment: Experiment, say: Say) -> RunDraft:
    """Fetches the builds, asks the scripts for their phases, and resolves every key.

    `UsageError` for a word that nobody knows, `HostError` where a build cannot be had.
    """
    recover_knobs(say)
    run_controls = control_values(experiment.measuring.controls)
    draft = _draft_words(experiment, run_controls)
    draft.requests = like_a_server(draft.requests, experiment.like, run_controls, say)
    found = resolve_candidates(draft.requests, run_controls, say)
    draft.host = host_here()
    tell_refusals(found, run_controls, _data_folder(), say)
    tell_remarks(found, say)
    draft.candidates = tuple(candidate for candidate, _, _ in found)
    draft.engines, draft.builds = _pair_engines(draft.candidates, found)
    turns = choose_turns(experiment.measuring, found, draft.workloads, run_controls, say)
    draft.design = with_turns(draft.design, experiment.measuring, turns)
    draft.created_utc = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    draft.seed = _seed(experiment.measuring)
    draft.driver_sha256 = sha256(driver.driver_program())
    draft.sources_sha256 = own_sources_sha256()
    draft.survey = host.host_complaints(_data_folder())
    check_empty(draft)
    check_connections(draft)
    return draft


def _seed(measuring: Measuring) -> int:
    return secrets.randbelow(1 << 31) if measuring.seed is None else measuring.seed


def outline_experiment(experiment: Experiment) -> Prepared:
    """An experiment as far as a plan needs it: words and phases, and nothing fetched or built."""
    run_controls = control_values(experiment.measuring.controls)
    draft = _draft_words(experiment, run_controls)
    checked = [check_request(request, run_controls) for request in draft.requests]
    draft.candidates = tuple(outline_candidate(each) for each in checked)
    draft.engines = {request.spec.name: engine for request, engine, _ in checked}
    return draft.freeze()


def _draft_words(experiment: Experiment, run_controls: dict[str, str]) -> RunDraft:
    """What the words of an experiment and its scripts say, before any candidate is known."""
    factors, requests = resolve_factors(experiment)
    experiment = with_base_options(experiment, factors)
    workloads = resolve_workloads(experiment, requests)
    return RunDraft(
        experiment=experiment,
        requests=requests,
        workloads=tuple(plan for plan, _ in workloads),
        design=make_design(experiment, requests[0].spec.name, run_controls),
        size_bytes=max(size for _, size in workloads),
        factors=factors,
    )


def reopen_run(run: Run, say: Say) -> Prepared:
    """A run from disk, with its engines and builds at hand again."""
    recover_knobs(say)
    requests = [CandidateRequest(candidates.parse_candidate(side.spec)) for side in run.candidates]
    found = resolve_candidates(requests, run.design.controls, say)
    return Prepared(run, *_pair_engines(run.candidates, found))


def check_empty(prepared: Prepared | RunDraft) -> None:
    """`UsageError` where a script of it would load beside tables of somebody's."""
    found = ((prepared.engines[name], build) for name, build in prepared.builds.items())
    check_no_tables(found, prepared.workloads)


#: No server lets in fewer by default, so none is asked.
ALWAYS_LET_IN = 90


def check_connections(prepared: Prepared | RunDraft) -> None:
    """`UsageError` where a workload wants more connections than a server lets in."""
    wanted, workload = max((plan.most_connections, plan.name) for plan in prepared.workloads)
    for side in prepared.candidates if wanted > ALWAYS_LET_IN else ():
        engine, build = prepared.engines[side.name], prepared.builds[side.name]
        if isinstance(engine, LimitsConnections):
            most = engine.most_connections(build, side.settings)
            if wanted > most:
                cause = f"{side.name} lets in {most:,} (max_connections)"
                hint = "raise that setting (…?max_connections=N), or play fewer at once"
                raise UsageError(f"{workload} opens {wanted:,} connections", cause=cause, hint=hint)


def check_no_tables(
    sides: Iterable[tuple[Engine, Build]], workloads: Sequence[WorkloadPlan]
) -> None:
    """`UsageError` where a script would load data beside tables that are somebody's.

    After each trial the script's `cleanup` drops its tables, and a script may well load into, and
    drop, what was there before. One that loads nothing drops nothing either.
    """
    loading = [plan.name for plan in workloads if "prepare" in plan.commands]
    for engine, build in sides if loading else ():
        if not build.attached or not isinstance(engine, Attaches):
            continue
        if tables := engine.tables(build):
            cause = f"{loading[0]} loads its own tables and drops them, and {tables[0]} is there"
            hint = "name a database made for this; drop what a torn run left in it"
            raise UsageError(f"the database at {build.name} is not empty", cause=cause, hint=hint)


def host_here() -> dict[str, str]:
    """The facts of this host, with the file system that the data will lie on."""
    return host.host_facts(_data_folder())


def _data_folder() -> Path:
    """Where the engines' data will lie."""
    return run_to_come().homes()


def _pair_engines(
    candidates: Sequence[Candidate], resolved: Sequence[ResolvedCandidate]
) -> tuple[dict[str, Engine], dict[str, Build]]:
    pairs = list(zip(candidates, resolved, strict=True))
    engines = {candidate.name: engine for candidate, (_, engine, _) in pairs}
    builds = {candidate.name: build for candidate, (_, _, build) in pairs}
    return engines, builds


def changes_since(
    run: Run,
    prepared: Prepared,
    host_now: Mapping[str, str] | None = None,
    driver_sha256: str | None = None,
) -> list[str]:
    """What is no longer as it was when the run began, in words.

    `host_now` and `driver_sha256` are this host's facts and its driver's checksum where not given.
    """
    now = host_here() if host_now is None else host_now
    driver_now = sha256(driver.driver_program()) if driver_sha256 is None else driver_sha256
    found = [
        f"{name} was '{was}' and is '{now.get(name, '')}'"
        for name, was in run.host.items()
        if name not in FLEETING and was != now.get(name, "")
    ]
    if run.driver_sha256 != driver_now:
        found.append("dyno-driver is another one")
    if run.sources_sha256 not in ("", own_sources_sha256()):
        found.append(f"dyno itself is another one (it was {run.dyno}, this is {dyno.__version__})")
    for was, side in zip(run.candidates, prepared.run.candidates, strict=True):
        if candidate_facts(prepared.builds[side.name]).get("sha256") != was.build.get("sha256"):
            found.append(f"the program of {was.name} is another one")
    return found + [f"{w.script} was edited" for w in run.workloads if _is_edited(w)]


@cache
def own_sources_sha256() -> str:
    """A checksum of every Python file of this Dyno, with its name: what plays and judges a run."""
    package = Path(dyno.__file__).parent
    whole = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        text = file.read_bytes()
        whole.update(f"{file.relative_to(package)} {len(text)}\0".encode() + text)
    return whole.hexdigest()


def _is_edited(workload: WorkloadPlan) -> bool:
    script = Path(workload.script)
    if not script.is_file():
        return True
    return workloads.checksum(script, workload.options) != workload.script_sha256
