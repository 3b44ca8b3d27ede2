"""An experiment as a run that can be played: builds, descriptions, keys, host.

Also whether an interrupted run can go on: what is no longer as it was when it began.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import dyno
from dyno import driver, workloads
from dyno.builds import Build, Say, compute_sha256
from dyno.engines import Engine
from dyno.errors import UsageError
from dyno.host import checks as host
from dyno.host.checks import FLEETING
from dyno.record import (
    Candidate,
    Run,
    WorkloadPlan,
)
from dyno.runs.experiment import Experiment, Measuring, candidates
from dyno.runs.resolve.candidates import (
    check_request,
    list_candidate_facts,
    match_a_server,
    outline_candidate,
    resolve_candidates,
    resolve_control_values,
    resolve_factors,
    with_base_options,
)
from dyno.runs.resolve.design import (
    ResolvedCandidate,
    choose_cpu_sampling,
    choose_interleaving,
    make_design,
    recover_knobs,
    tell_refusals,
    tell_remarks,
    with_interleaving,
)
from dyno.runs.resolve.draft import Prepared, RunDraft
from dyno.runs.resolve.preconditions import settle_for_clients
from dyno.runs.resolve.workloads import CandidateRequest, resolve_workloads
from dyno.runs.run_folder import make_run_to_come

#: Facts of a host whose name says too little by itself.
CALLED = {"id": "this is another host: its id"}


def draft_run(experiment: Experiment, say: Say) -> RunDraft:
    """Fetches the builds, asks the scripts for their phases, and resolves every key.

    `UsageError` for a word that nobody knows, `HostError` where a build cannot be had.
    """
    recover_knobs(say)
    run_controls = resolve_control_values(experiment.measuring.controls)
    draft = _draft_words(experiment, run_controls)
    draft.requests = match_a_server(draft.requests, experiment.like, run_controls, say)
    found = resolve_candidates(draft.requests, run_controls, say)
    without = list(filter(None, (side.without_cpu for side, *_ in found)))
    if experiment.measuring.by == "cpu" and without:
        hint = "the time of an operation can be measured"
        raise UsageError("these cannot be judged by CPU time", cause=without[0], hint=hint)
    tell_refusals(found, run_controls, _find_data_folder(), say)
    tell_remarks(found, say)
    sides = tuple(candidate for candidate, _, _ in found)
    draft.engines, draft.builds = _pair_engines(sides, found)
    turns = choose_interleaving(experiment.measuring, found, draft.workloads, run_controls, say)
    draft.change(
        created_utc=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        seed=_choose_seed(experiment.measuring),
        candidates=sides,
        design=with_interleaving(draft.design, experiment.measuring, turns),
        host=describe_host(),
        driver_sha256=compute_sha256(driver.find_driver()),
        sources_sha256=compute_own_sha256(),
        cpu_sampling=choose_cpu_sampling(experiment.measuring, sides),
        survey=host.list_host_complaints(_find_data_folder()),
    )
    if experiment.client_hosts is not None:
        _reach_clients(draft, say)
    return draft


def _reach_clients(draft: RunDraft, say: Say) -> None:
    """Reaches the client hosts; what cannot be played from several is refused before."""
    from dyno.driver import clients

    hosts = clients.read_client_hosts(draft.experiment.client_hosts)
    settle_for_clients(draft, len(hosts))
    draft.clients = clients.reach_hosts(hosts, say)
    draft.change(client_hosts=draft.clients.hosts)


def _choose_seed(measuring: Measuring) -> int:
    return secrets.randbelow(1 << 31) if measuring.seed is None else measuring.seed


def outline_experiment(experiment: Experiment) -> Prepared:
    """An experiment as far as a plan needs it: words and phases, and nothing fetched or built."""
    run_controls = resolve_control_values(experiment.measuring.controls)
    draft = _draft_words(experiment, run_controls)
    checked = [check_request(request, run_controls) for request in draft.requests]
    draft.change(candidates=tuple(outline_candidate(each) for each in checked))
    draft.engines = {request.spec.name: engine for request, engine, _ in checked}
    return draft


def _draft_words(experiment: Experiment, run_controls: dict[str, str]) -> RunDraft:
    """What the words of an experiment and its scripts say, before any candidate is known."""
    factors, requests = resolve_factors(experiment)
    experiment = with_base_options(experiment, factors)
    workloads = resolve_workloads(experiment, requests)
    run = Run(
        name=experiment.name,
        created_utc="",
        question=experiment.question,
        command=experiment.command,
        seed=0,
        candidates=(),
        workloads=tuple(plan for plan, _ in workloads),
        design=make_design(experiment, requests[0].spec.name, run_controls),
        host={},
        published=experiment.published,
        dyno=dyno.__version__,
        factors=factors,
        series=experiment.series,
    )
    size_bytes = max(size for _, size in workloads)
    return RunDraft(run=run, size_bytes=size_bytes, experiment=experiment, requests=requests)


def reopen_run(run: Run, say: Say) -> Prepared:
    """A run from disk, with its engines and builds at hand again; `UsageError` where one of its
    sides was played elsewhere.
    """
    if run.design.old_answers:
        cause = f"{run.design.base} was played on another day or host"
        hint = f"start it again: {run.command}"
        raise UsageError("a rehearsal beside saved answers does not go on", cause=cause, hint=hint)
    recover_knobs(say)
    requests = [CandidateRequest(candidates.parse_candidate(side.spec)) for side in run.candidates]
    found = resolve_candidates(requests, run.design.controls, say)
    engines, builds = _pair_engines(run.candidates, found)
    prepared = Prepared(run=run, engines=engines, builds=builds)
    if run.client_hosts:
        from dyno.driver import clients

        prepared.clients = clients.reach_hosts(run.client_hosts, say)
    return prepared


def describe_host() -> dict[str, str]:
    """The facts of this host, with the file system that the data will lie on."""
    return host.read_host_facts(_find_data_folder())


def _find_data_folder() -> Path:
    """Where the engines' data will lie."""
    return make_run_to_come().find_homes()


def _pair_engines(
    candidates: Sequence[Candidate], resolved: Sequence[ResolvedCandidate]
) -> tuple[dict[str, Engine], dict[str, Build]]:
    pairs = list(zip(candidates, resolved, strict=True))
    engines = {candidate.name: engine for candidate, (_, engine, _) in pairs}
    builds = {candidate.name: build for candidate, (_, _, build) in pairs}
    return engines, builds


def list_changes_since(
    run: Run,
    prepared: Prepared,
    host_now: Mapping[str, str] | None = None,
    driver_sha256: str | None = None,
) -> list[str]:
    """What is no longer as it was when the run began, in words.

    `host_now` and `driver_sha256` are this host's facts and its driver's checksum where not given.
    """
    now = describe_host() if host_now is None else host_now
    driver_now = compute_sha256(driver.find_driver()) if driver_sha256 is None else driver_sha256
    found = [
        f"{CALLED.get(name, name)} was '{was}' and is '{now.get(name, '')}'"
        for name, was in run.host.items()
        if name not in FLEETING and was != now.get(name, "")
    ]
    if run.driver_sha256 != driver_now:
        found.append("dyno-driver is another one")
    if run.sources_sha256 not in ("", compute_own_sha256()):
        found.append(describe_other_dyno(run.dyno))
    for was, side in zip(run.candidates, prepared.run.candidates, strict=True):
        if list_candidate_facts(prepared.builds[side.name]).get("sha256") != was.build.get(
            "sha256"
        ):
            found.append(f"the program of {was.name} is another one")
    return found + [f"{w.script} was edited" for w in run.workloads if _is_edited(w)]


@cache
def describe_other_dyno(version: str) -> str:
    """In a clause, that a run was begun by another dyno, which called itself `version`."""
    how = f"it was {version}, this is {dyno.__version__}"
    if version == dyno.__version__:
        how = "its code has changed since, under the same version"
    return f"dyno itself is another one ({how})"


def compute_own_sha256() -> str:
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
    return workloads.compute_checksum(script, workload.options) != workload.script_sha256
