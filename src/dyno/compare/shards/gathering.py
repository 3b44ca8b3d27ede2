"""One run of the shares of an experiment: checked, renumbered, and written as a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from dyno import private_files, scratch
from dyno.compare.shards.found_shares import FoundShare
from dyno.compare.shards.hosts import name_hosts
from dyno.errors import HostError, UsageError, find_fullest
from dyno.judge.analysis.judge import analyse_now
from dyno.record import (
    Calibration,
    GatheredRun,
    Interleaving,
    Observation,
    Run,
    Slice,
    Trial,
    compute_host_score,
)
from dyno.record.profile import StackProfile
from dyno.runs.run_folder import RunFolder, write_json


@dataclass(frozen=True)
class ShareState:
    """What there is of an experiment: its shares by index, those that are missing, those that are
    not complete.
    """

    found: Sequence[FoundShare]
    missing: tuple[int, ...]
    incomplete: tuple[int, ...]


def check_complete(found: Sequence[FoundShare], *, partial: bool) -> ShareState:
    """`UsageError` where a share lacks, or is not complete, and that is not allowed."""
    dealt = found[0].share.dealt.values()
    due = {at + 1 for own in dealt for at, blocks in enumerate(own) if blocks}
    missing = tuple(sorted(due - {each.share.index for each in found}))
    incomplete = tuple(
        each.share.index for each in found if not analyse_now(each.run, each.trials, audits={}).over
    )
    if partial or not (missing or incomplete):
        return ShareState(found, missing, incomplete)
    of, name = found[0].share.of, found[0].run.name
    if incomplete:
        own = next(each for each in found if each.share.index == incomplete[0])
        hint = f"--partial judges what there is; or dyno resume {own.path}, on its host"
        raise UsageError(f"share {incomplete[0]} of {of} of {name} is not complete", hint=hint)
    told = ", ".join(map(str, missing))
    raise UsageError(
        f"share {told} of {of} of {name} is missing"
        if len(missing) == 1
        else f"shares {told} of {of} of {name} are missing",
        hint="name their folders, too; --partial judges what there is",
    )


def make_run(state: ShareState, command: str, torn: int) -> Run:
    """The record of the run that the shares make together."""
    runs = [each.run for each in state.found]
    first, hosts = runs[0], [each.host for each in runs]
    plans = {plan.name: plan for run in runs for plan in run.workloads}
    common = {
        name: value
        for name, value in hosts[0].items()
        if all(facts.get(name) == value for facts in hosts)
    }
    return replace(
        first,
        created_utc=min(run.created_utc for run in runs),
        command=command,
        workloads=tuple(plans[name] for name in state.found[0].share.dealt if name in plans),
        design=replace(first.design, interleaving=_join_slices(runs)),
        host=common,
        survey=choose_worst_survey([run.survey for run in runs]),
        calibration=choose_worst_calibration([run.calibration for run in runs]),
        pilot=None,
        share=None,
        gathered=GatheredRun(
            shares=tuple(replace(run, candidates=(), workloads=()) for run in runs),
            missing=state.missing,
            incomplete=state.incomplete,
            torn=torn,
        ),
    )


def _join_slices(runs: Sequence[Run]) -> Interleaving | None:
    """How trials were interleaved, with the slices of each cell as the first share of it chose
    them; those of the others stand in their own runs.
    """
    found = [run.design.interleaving for run in runs if run.design.interleaving]
    if not found:
        return None
    slices: dict[str, Slice] = {}
    for each in reversed(found):
        slices |= each.slices
    return replace(found[0], slices=slices)


def choose_worst_survey(
    surveys: Sequence[tuple[Observation, ...] | None],
) -> tuple[Observation, ...] | None:
    """That of the host with the lowest score; None where a host was not looked at."""
    known = [each for each in surveys if each is not None]
    return min(known, key=compute_host_score) if len(known) == len(surveys) else None


def choose_worst_calibration(found: Sequence[Calibration | None]) -> Calibration | None:
    """That which speaks least for its host: stale, or with the highest bound of false alarms. None
    where a host was never calibrated.
    """
    known = [each for each in found if each is not None]
    return max(known, key=_rank_errors) if len(known) == len(found) else None


def _rank_errors(known: Calibration) -> tuple[bool, float]:
    alarms = (score.high_percent for score in known.scores if not score.effect_percent)
    return bool(known.stale), max(alarms, default=100.0)


def is_torn(trial: Trial, trials: Sequence[Trial], sides: int) -> bool:
    """Was its attempt at a block interrupted? Then it tells nothing that the next does not."""
    if trial.status != "ok" or trial.is_client_baseline:
        return trial.status == "interrupted"
    own = [
        it
        for it in trials
        if (it.workload, it.block, it.attempt) == (trial.workload, trial.block, trial.attempt)
    ]
    return len(own) < sides and not any(it.status == "failed" for it in own)


def write_gathered(state: ShareState, path: Path, command: str) -> RunFolder:
    """Writes the run of these shares at `path`, which appears whole or not at all."""
    if path.exists() and (path.is_file() or any(path.iterdir())):
        raise UsageError(f"{path} already exists", hint="name another --out")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with scratch.make_staging("gather", path.parent) as staging:
            _write_shares(state, staging / "run", command)
            if path.is_dir():
                path.rmdir()
            (staging / "run").rename(path)
    except OSError as error:
        cause = f"{error.strerror}{find_fullest(error, path.parent)}"
        raise HostError(f"cannot write {path}", cause=cause, hint="name another --out") from error
    return RunFolder(path)


def _write_shares(state: ShareState, folder: Path, command: str) -> None:
    """Writes what `write_gathered` does, into a new folder."""
    for each in (folder, folder / "trials", folder / "logs"):
        private_files.make_folder(each)
    target, number, torn = RunFolder(folder), 0, 0
    names = name_hosts(state.found)
    for share in state.found:
        sides = len(share.run.candidates)
        for trial in share.trials:
            if is_torn(trial, share.trials, sides):
                torn += 1
                continue
            number += 1
            index = share.share.index
            kept = replace(trial, number=number, share=index, host=names[index])
            target.write_trial(_with_log(kept, share.folder.log(trial.number), target))
    for profile in choose_profiles(state.found, names):
        target.write_profile(profile)
    write_json(folder / "run.json", make_run(state, command, torn))


def choose_profiles(
    found: Sequence[FoundShare], hosts: Mapping[int, str]
) -> Iterator[StackProfile]:
    """The profiles with callers of each workload, of the first share that has one of every
    candidate: base and candidate are of one host. `hosts` are named by the shares' indexes.
    """
    taken: set[str] = set()
    number = 0
    for each in found:
        sides = {side.name for side in each.run.candidates}
        by_workload: dict[str, list[StackProfile]] = {}
        for profile in each.folder.read_profiles():
            by_workload.setdefault(profile.workload, []).append(profile)
        for workload, own in by_workload.items():
            if workload not in taken and sides <= {profile.candidate for profile in own}:
                taken.add(workload)
                for profile in own:
                    number += 1
                    yield replace(profile, number=number, host=hosts[each.share.index])


def _with_log(trial: Trial, log: Path, target: RunFolder) -> Trial:
    """The trial with its log, where there is one, beside it."""
    if not log.is_file():
        return replace(trial, log="")
    own = target.log(trial.number)
    private_files.write_bytes_whole(own, log.read_bytes())
    return replace(trial, log=f"logs/{own.name}")


def group_by_experiment(found: Sequence[FoundShare]) -> Iterator[list[FoundShare]]:
    """The shares of each experiment."""
    groups: dict[str, list[FoundShare]] = {}
    for each in found:
        groups.setdefault(each.share.experiment_sha256, []).append(each)
    yield from groups.values()
