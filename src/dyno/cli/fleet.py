"""`dyno run --on ray://…` and the resumption of such a run: shares played by Ray, judged here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyno.cli import judged_run
from dyno.cli.runs import find_runs_home
from dyno.cli.terminal import screen
from dyno.errors import DynoError, UsageError

if TYPE_CHECKING:
    from dyno.compare.fleet import FleetPlan
    from dyno.runs.experiment import Experiment
    from dyno.runs.run_folder import RunFolder

#: What `dyno run` offers and a cluster does not.
REFUSED = {
    "budget": "--budget fits blocks to a time on this host; name --blocks",
    "inconclusive": "--inconclusive is for a run on this host",
}
#: Options whose values go to the nodes, as they are typed.
FORWARDED = {
    "settings": "--set",
    "controls": "--control",
    "limits": "--limit",
    "blocks": "--blocks",
    "time": "--time",
    "threads": "--threads",
}


def run_on_cluster(
    experiment: Experiment, file: Path, where: str, words: Mapping[str, Any], *, gate: bool
) -> int:
    """Plays the experiment of `dyno run`, which `file` holds, on the cluster of `where`."""
    from dyno.cli.workload_words import gather_settings
    from dyno.compare import fleet
    from dyno.host.checks import read_host_group
    from dyno.runs.resolve.design import choose_interim_analyses

    refuse_words(experiment, where, words)
    asked, group = judged_run.read_asked(words), read_host_group()
    files = fleet.list_experiment_files(file, gather_settings(words))
    blocks, cells = choose_interim_analyses(experiment.measuring)[-1], len(experiment.workloads)
    with fleet.join_cluster(where, files, group) as ray:
        nodes = fleet.count_nodes(ray)
        shares = fleet.choose_shares(words["shares"], nodes, cells, blocks)
        if note := fleet.describe_split(shares, cells, nodes):
            screen.print_line(f"note: {note}", err=True)
        plan = fleet.FleetPlan(
            name=experiment.name,
            on=where,
            command=experiment.command,
            experiment=next(iter(files)),
            words=tuple(list_forwarded_words(words)),
            shares=shares,
            group=group,
        )
        path = fleet.create_fleet(plan, files, find_runs_home())
        play_missing(ray, path, plan)
    verdict = judged_run.tell_verdict(gather_records(path, plan), asked)
    return asked.choose_exit_code(verdict) if gate or asked.strict else 0


def refuse_words(experiment: Experiment, where: str, words: Mapping[str, Any]) -> None:
    """`UsageError` for another transport than Ray's, for what only a run on this host has, and for
    a server that runs already.
    """
    if not (where.startswith("ray:") and where.removeprefix("ray:").strip("/")):
        cause = "ray://HOST:PORT is the only cluster that Dyno itself plays on"
        hint = "by ssh, Slurm, Ansible or GNU parallel: `dyno shard` on each host, then "
        hint += "`dyno gather` (docs/guides/fleet.md)"
        raise UsageError(f"--on {where} names no Ray cluster", cause=cause, hint=hint)
    for name, sentence in REFUSED.items():
        if words.get(name):
            raise UsageError(f"{sentence.split()[0]} and --on exclude each other", cause=sentence)
    for side in experiment.candidates:
        if side.is_url:
            cause = "every host would play on it at once, and measure the others"
            hint = "name a build that each host starts, or play it from one host"
            raise UsageError(f"{side.name} is a server that runs already", cause=cause, hint=hint)


def list_forwarded_words(words: Mapping[str, Any]) -> list[str]:
    """The command line's words that change the experiment, as `dyno shard` takes them."""
    found = ["--quick"] if words["quick"] else []
    for name, option in FORWARDED.items():
        value = words[name]
        pairs = value if isinstance(value, tuple) else () if value is None else (value,)
        for each in pairs:
            text = f"{each[0]}={each[1]}" if isinstance(each, tuple) else f"{each:g}"
            found += [option, text]
    return found


def play_missing(ray: Any, path: Path, plan: FleetPlan) -> None:
    """Plays the shares that are missing; whatever stops it, those that are back stay."""
    from dyno.compare.fleet import list_missing, play_shares
    from dyno.runs.run_folder import RunFolder

    stays = f"the shares that are back stay in {path}; `dyno resume {path.name}` goes on"
    missing = len(list_missing(path, plan))
    screen.print_line(f"{missing} of {plan.shares} shares to play; they come to {path}")
    try:
        with RunFolder(path).hold_alone():
            play_shares(ray, path, plan, judged_run.print_progress)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(stays) from None
    except DynoError as error:
        error.hint = f"{error.hint}; {stays}" if error.hint else stays
        raise


def gather_records(path: Path, plan: FleetPlan) -> RunFolder:
    """The shares as one run, in the same folder; once they are, their own folders go: whoever looks
    for runs would find each trial twice.
    """
    from dyno import private_files, scratch
    from dyno.cli.gather import tell_short_shares
    from dyno.compare.fleet import SHARES
    from dyno.compare.shards.found_shares import check_alike, find_shares
    from dyno.compare.shards.gathering import check_complete, write_gathered
    from dyno.runs.run_folder import RunFolder

    folder = RunFolder(path)
    if not (path / "run.json").is_file():
        found = find_shares([path / SHARES], path, judged_run.print_progress)
        check_alike(found)
        state = check_complete(found, partial=False)
        tell_short_shares(found)
        with scratch.make_staging("gather", path) as staging:
            made = write_gathered(state, staging / "made", plan.command).path
            for file in sorted(made.iterdir(), key=lambda it: it.name == "run.json"):
                if file.is_dir():
                    private_files.remove_all(path / file.name)  # what a kill left
                file.rename(path / file.name)
    private_files.remove_folder(path / SHARES)
    return folder


def resume_fleet(path: Path, words: Mapping[str, Any]) -> int:
    """Goes on with the shares that are missing; a run that has all is judged again."""
    from dyno.compare import fleet
    from dyno.runs.resolve.experiment import compute_own_sha256, describe_other_dyno

    plan, asked = fleet.read_plan(path), judged_run.read_asked(words)
    if not (path / "run.json").is_file() and fleet.list_missing(path, plan):
        if plan.sources_sha256 != compute_own_sha256():
            cause = describe_other_dyno(plan.dyno)
            raise UsageError("the run cannot be resumed", cause=cause, hint="start a new run")
        with fleet.join_cluster(plan.on, fleet.find_files(path), plan.group) as ray:
            fleet.count_nodes(ray)
            play_missing(ray, path, plan)
    verdict = judged_run.tell_verdict(gather_records(path, plan), asked)
    return asked.choose_exit_code(verdict)
