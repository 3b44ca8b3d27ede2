"""`dyno run --on` and the resumption of such a run: hosts checked, shares played and judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyno.cli import exits, judged_run
from dyno.cli.runs import find_runs_home
from dyno.cli.terminal import screen
from dyno.errors import DynoError, UsageError

if TYPE_CHECKING:
    from dyno.compare.experiment import Experiment
    from dyno.compare.fleet import Backend
    from dyno.compare.fleet.checks import HostState
    from dyno.compare.fleet.folder import FleetFolder, FleetPlan
    from dyno.compare.run_folder import RunFolder

#: What `dyno run` offers and a fleet does not.
REFUSED = {
    "budget": "--budget fits blocks to a time on this host; name --blocks",
    "inconclusive": "--inconclusive is for a run on this host",
}
#: Options whose values go to the hosts, as they are typed.
FORWARDED = {
    "settings": "--set",
    "controls": "--control",
    "limits": "--limit",
    "blocks": "--blocks",
    "time": "--time",
    "threads": "--threads",
}


def run_on_fleet(
    experiment: Experiment, file: Path, where: str, words: Mapping[str, Any], *, gate: bool
) -> int:
    """Plays the experiment of `dyno run`, which `file` holds, on the hosts of `where`."""
    from dyno.cli.short_words import gather_settings
    from dyno.compare.fleet.backends import open_backend
    from dyno.compare.fleet.checks import forget_run
    from dyno.compare.fleet.experiment_files import list_experiment_files
    from dyno.compare.fleet.folder import create_fleet, make_plan
    from dyno.compare.fleet.schedule import choose_shares, describe_split
    from dyno.compare.resolve.design import choose_interim_analyses
    from dyno.host.checks import read_host_group

    refuse_local_words(words)
    refuse_attached(experiment)
    asked = judged_run.read_asked(words)
    files = list_experiment_files(file, gather_settings(words))
    backend = open_backend(where)
    try:
        blocks = choose_interim_analyses(experiment.measuring)[-1]
        hosts, cells = len(backend.list_hosts()), len(experiment.workloads)
        shares = words["shares"] or choose_shares(hosts, cells, blocks)
        if note := describe_split(shares, cells, hosts):
            screen.print_line(f"note: {note}", err=True)
        forwarded = list_forwarded_words(words)
        on, typed = resolve_fleet(where), judged_run.quote_command()
        plan = make_plan((experiment.name, on, typed, read_host_group()), forwarded, files, shares)
        with survey(backend, plan, files) as states:
            try:
                refuse_faults(states)
            except UsageError:
                forget_run(states, tell_host)
                raise
            folder = create_fleet(plan, files, find_runs_home())
            with folder.hold_alone():
                play_shares(folder, plan, states)
    finally:
        leave_fleet(backend)
    verdict = judged_run.tell_verdict(gather_records(folder, plan), asked)
    return asked.choose_exit_code(verdict) if gate or asked.strict else 0


def leave_fleet(backend: Backend) -> None:
    """Closes the way to the hosts."""
    if not backend.close():
        exits.skip_cleanup()


def refuse_local_words(words: Mapping[str, Any]) -> None:
    """`UsageError` for what only a run on this host has."""
    for name, sentence in REFUSED.items():
        if words.get(name):
            raise UsageError(f"{sentence.split()[0]} and --on exclude each other", cause=sentence)


def refuse_attached(experiment: Experiment) -> None:
    """`UsageError` for a server that runs already: all hosts would play on it at once."""
    for side in experiment.candidates:
        if side.is_url:
            cause = "every host would play on it at once, and measure the others"
            hint = "name a build that each host starts, or play it from one host"
            raise UsageError(f"{side.name} is a server that runs already", cause=cause, hint=hint)


def resolve_fleet(where: str) -> str:
    """The fleet as it is found again from another folder."""
    scheme, _, rest = where.partition(":")
    return f"ssh:{Path(rest).resolve()}" if scheme == "ssh" else where


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


@contextmanager
def survey(
    backend: Backend, plan: FleetPlan, files: Mapping[str, Path]
) -> Iterator[list[HostState]]:
    """Every host as it was found, its link open meanwhile."""
    from dyno.compare.fleet.checks import close_links, survey_fleet

    hosts = backend.list_hosts()
    judged_run.print_progress(f"asking {count_things(len(hosts), 'host')}")
    states = survey_fleet(backend, hosts, plan, files, tell_host)
    try:
        yield states
    finally:
        close_links(states)


def count_things(number: int, noun: str) -> str:
    """`1 host`, `2 hosts`."""
    return f"{number} {noun if number == 1 else screen.form_plural(noun)}"


def tell_host(name: str, clause: str) -> None:
    """What a host says of its preparation, on stderr."""
    screen.print_line(f"{name}: {clause}", err=True)


def refuse_faults(states: Sequence[HostState]) -> None:
    """`UsageError`, and a table of all hosts, where one cannot play."""
    faulty = [state for state in states if state.faults]
    if not faulty:
        for state in states:
            tell_host(state.host.name, describe_host(state))
        return
    rows = [
        (state.host.name, describe_host(state), "; ".join(state.faults) or "ready")
        for state in states
    ]
    screen.print_table(("host", "has", "can it play?"), rows)
    raise UsageError(
        f"{len(faulty)} of {count_things(len(states), 'host')} cannot play",
        cause="; ".join(f"{state.host.name}: {state.faults[0]}" for state in faulty),
        hint="nothing was played; mend them, or leave them out",
    )


def describe_host(state: HostState) -> str:
    """`8 cores, 12 GB free, disk 40 GB free, not calibrated`."""
    facts = state.facts
    if facts is None:
        return "-"
    memory, disk = (
        screen.format_bytes(mb * 2**20) for mb in (facts.memory_available_mb, facts.disk_free_mb)
    )
    calibrated = "calibrated" if facts.calibrated else "not calibrated"
    return f"{facts.cores} cores, {memory} memory free, {disk} disk free, {calibrated}"


def play_shares(folder: FleetFolder, plan: FleetPlan, states: Sequence[HostState]) -> None:
    """Plays what is left; whatever stops it, what has come back stays and can go on."""
    from dyno.cli.terminal.fleet import watch_hosts
    from dyno.compare.fleet.checks import forget_run
    from dyno.compare.fleet.run import FleetPlayer

    name = folder.path.name
    shares, hosts = count_things(plan.shares, "share"), count_things(len(states), "host")
    screen.print_line(f"{shares} on {hosts}; records come to {folder.path}")
    try:
        with watch_hosts(plan.shares, [state.host.name for state in states]) as tell:
            player = FleetPlayer(folder, plan, states, tell)
            player.play()
            forget_run(states, tell_host)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"what has come back stays in {folder.path}; `dyno resume {name}` goes on"
        ) from None
    except DynoError as error:
        stays = f"what has come back stays in {folder.path}; `dyno resume {name}` goes on"
        error.hint = f"{error.hint}; {stays}" if error.hint else stays
        raise


def gather_records(folder: FleetFolder, plan: FleetPlan) -> RunFolder:
    """The records of all shares as one run, in the fleet's own folder."""
    from dyno import scratch
    from dyno.cli.gather import tell_short_shares
    from dyno.compare.run_folder import RunFolder
    from dyno.compare.shards.found_shares import check_alike, find_shares
    from dyno.compare.shards.gathering import check_complete, write_gathered

    if not folder.is_gathered():
        with scratch.make_folder("gather") as home:
            found = find_shares(folder.list_records(plan), home, judged_run.print_progress)
            check_alike(found)
            state = check_complete(found, partial=False)
            tell_short_shares(found)
            write_gathered(state, folder.find_gathered(), plan.command)
        folder.move_gathered()
    folder.clear_shares()
    return RunFolder(folder.path)


def resume_fleet(path: Path, words: Mapping[str, Any]) -> int:
    """Goes on with a fleet's run; one that is over is judged again."""
    from dyno.compare.fleet.backends import open_backend
    from dyno.compare.fleet.folder import FleetFolder

    folder = FleetFolder(path)
    plan, asked = folder.read_plan(), judged_run.read_asked(words)
    if not folder.is_gathered() and not folder.is_whole(plan):
        refuse_changes(plan)
        backend = open_backend(plan.on)
        files = {each.path: folder.find_files() / each.path for each in plan.files}
        try:
            with folder.hold_alone(), survey(backend, plan, files) as states:
                play_shares(folder, plan, leave_out_unreached(states))
        finally:
            leave_fleet(backend)
    verdict = judged_run.tell_verdict(gather_records(folder, plan), asked)
    return asked.choose_exit_code(verdict)


def refuse_changes(plan: FleetPlan) -> None:
    """`UsageError` where this is not the dyno that began the run."""
    from dyno.compare.resolve.experiment import compute_own_sha256, describe_other_dyno

    if plan.sources_sha256 != compute_own_sha256():
        cause = describe_other_dyno(plan.dyno)
        raise UsageError("the run cannot be resumed", cause=cause, hint="start a new run")


def leave_out_unreached(states: Sequence[HostState]) -> list[HostState]:
    """The hosts that go on with a run: those that cannot be reached are told and left out, and
    their shares are played elsewhere. `UsageError` where another one cannot play, or none is left.
    """
    reached = [state for state in states if state.facts]
    if not reached:
        refuse_faults(states)
    for state in states:
        if state.facts is None:
            tell_host(state.host.name, f"is left out: {state.faults[0]}")
    refuse_faults(reached)
    return reached
