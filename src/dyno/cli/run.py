"""`dyno run`: plays an experiment file to its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli import judged_run, options
from dyno.cli.options import EXPERIMENT, HeadedCommand, add_option
from dyno.cli.runs import open_command
from dyno.cli.workload_words import gather_settings, prepare_experiment
from dyno.errors import UsageError, build_unknown_error

if TYPE_CHECKING:
    from dyno.runs.experiment import Experiment, Workload


@click.command("run", cls=HeadedCommand)
@click.argument("experiment", type=EXPERIMENT, metavar="EXPERIMENT")
@add_option("--gate", "Exit as `compare` does: 0, 1, 2 or 3.")
@options.TIME
@options.THREADS
@options.SET
@options.CLIENT_HOSTS
@options.BLOCKS
@options.CONTROL
@options.LIMIT
@options.BUDGET
@options.QUICK
@options.STRICT
@options.VERBOSE
@options.JSON
@options.FORMAT
@options.INCONCLUSIVE
@add_option(
    "--on CLUSTER",
    "Play shares on the nodes of a Ray cluster: ray://HOST:PORT, or ray:auto on a node.",
)
@add_option(
    "--shares N",
    "With --on: how many shares are dealt.  [default: 2 for each node, whole workloads]",
    click.IntRange(1, 10_000),
)
def command(experiment: str, *, gate: bool, **words: Any) -> int:
    """Play an experiment: a TOML file, or a name as `dyno show experiments` lists them.

    --set replaces the file's value for each of its workloads that has the option: a larger scale,
    more seconds. An option that the file sweeps takes one value or several: --set threads=1,16.

    With --on, nodes of a Ray cluster play the experiment in shares (`dyno shard`), and their
    records are judged here.

    Exits with 0 when the run is complete, whatever its verdict. With --gate the verdict is the exit
    code; with --strict a doubtful one exits with 4.
    """
    where = words.pop("on")
    if words["shares"] and not where:
        raise UsageError("--shares is for a cluster", hint="--on ray://HOST:PORT, or `dyno shard`")
    made = read_experiment_file(experiment, words)
    if where:
        from dyno.cli.fleet import run_on_cluster

        made.require_blocks("--on")
        return run_on_cluster(made, Path(experiment), where, words, gate=gate)
    player, asked = find_player(made.instrument), judged_run.read_asked(words)
    verdict = player.play_experiment(prepare_experiment(made), asked)
    return asked.choose_exit_code(verdict) if gate or asked.strict else 0


def find_player(instrument: str) -> Any:
    """Return the file of `cli` that plays such experiments; `UsageError` if there is none."""
    from dyno.runs.run_folder import load_instruments

    known = {name: open_command(name) for name in load_instruments()}
    players = {name: file for name, file in known.items() if hasattr(file, "play_experiment")}
    if instrument not in players:
        raise build_unknown_error("instrument of an experiment", instrument, players)
    return players[instrument]


def read_experiment_file(experiment: str, words: Mapping[str, Any]) -> Experiment:
    """The experiment of a file or of that name, as the command's words change it."""
    from dyno.runs import experiment as experiments

    read = experiments.read_experiment(Path(experiment))
    measuring, blocks = read.measuring, words["blocks"]
    if words["quick"]:
        measuring = replace(measuring, quick=True, blocks=blocks)
    elif blocks is not None:
        measuring = replace(measuring, blocks=blocks, fixed=False)
    held = measuring.controls | dict(words["controls"])
    limits = measuring.limits | dict(words["limits"])
    hosts = words.get("client_hosts")
    return replace(
        read,
        workloads=override_options(read.workloads, gather_settings(words)),
        measuring=replace(measuring, controls=held, limits=limits),
        command=judged_run.quote_command(),
        client_hosts=read.client_hosts if hosts is None else hosts,
    )


def override_options(
    workloads: tuple[Workload, ...], settings: dict[str, str]
) -> tuple[Workload, ...]:
    """The file's workloads with these options, each with those that its script knows; a swept one
    has values apart by commas, in the place of the file's. `UsageError` for several values where
    nothing is swept over them, or none.
    """
    from dyno.runs.experiment.comparison import format_options

    names = [it.name for it in workloads]
    for option, text in format_options(settings).items():
        takers = _list_takers(workloads, option)
        others = tuple(it for it in workloads if it not in takers)
        values = _parse_sweep(option, text) if any(option in it.sweep for it in takers) else [text]
        plain = [it.name for it in takers if option not in it.sweep]
        if len(values) > 1 and plain:
            raise UsageError(
                f"--set {option}={text}: only some workloads sweep it, {plain[0]} takes one value",
                hint="one value for all, or a copy of the file",
            )
        changed = [*others, *_with_values(takers, option, values)]
        workloads = tuple(sorted(changed, key=lambda it: names.index(it.name)))
    return workloads


def _list_takers(workloads: tuple[Workload, ...], option: str) -> tuple[Workload, ...]:
    """Those whose script knows the option; all where none does, so that it is refused, and where
    one script is all there is.
    """
    from dyno.runs.resolve.workloads import list_option_names

    if len({it.name for it in workloads}) < 2:
        return workloads
    return tuple(it for it in workloads if option in list_option_names(it)) or workloads


def _parse_sweep(option: str, text: str) -> list[str]:
    values = [it.strip() for it in text.split(",")]
    if not all(values) or len(set(values)) < len(values):
        raise UsageError(
            f"--set {option}={text}: the values of a sweep must differ", hint=f"--set {option}=1,16"
        )
    return values


def _with_values(
    workloads: tuple[Workload, ...], option: str, values: list[str]
) -> Iterator[Workload]:
    """Each workload with the option: one that sweeps it once for each value."""
    told: list[Workload] = []
    for workload in workloads:
        for value in values:
            plain = replace(workload, options=workload.options | {option: value})
            swept = replace(plain, sweep={option: value})
            if option not in workload.sweep:
                yield plain
            elif swept not in told:
                told.append(swept)
                yield swept
