"""`dyno run`: plays an experiment file to its end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli import judged_run, options
from dyno.cli.options import EXPERIMENT
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.experiment import Measuring, Workload


@click.command("run")
@click.argument("experiment", type=EXPERIMENT, metavar="EXPERIMENT")
@click.option("--gate", is_flag=True, help="Exit as `compare` does: 0, 1, 2 or 3.")
@options.SET
@options.BLOCKS
@options.CONTROL
@options.LIMIT
@options.BUDGET
@options.QUICK
@options.JSON
def command(experiment: str, *, gate: bool, **words: Any) -> int:
    """Play an experiment: a TOML file, or a name as `dyno show experiments` lists them.

    What --set names is set for all of its workloads, in the place of the file's own value: a larger
    scale, more seconds.

    Ends with 0 once the run is complete, whatever its verdict; with --gate the verdict is the
    exit code.
    """
    from dyno import experiment as experiments

    read = experiments.read_experiment(Path(experiment))
    measuring = override_measuring(read.measuring, words["blocks"], words["quick"])
    held = measuring.controls | dict(words["controls"])
    limits = measuring.limits | dict(words["limits"])
    made = replace(
        read,
        workloads=override_options(read.workloads, dict(words["settings"])),
        measuring=replace(measuring, controls=held, limits=limits),
        command=judged_run.typed_command(),
    )
    verdict = judged_run.play_and_judge(
        made, judged_run.RunWishes(words["budget"], words["json_file"])
    )
    return judged_run.EXITS[verdict.overall] if gate else 0


def override_options(
    workloads: tuple[Workload, ...], settings: dict[str, str]
) -> tuple[Workload, ...]:
    """The file's workloads with these options; `UsageError` for one in whose values they differ."""
    from dyno.experiment.comparison import options_as_text

    given = options_as_text(settings)
    for workload in workloads:
        if swept := given.keys() & workload.sweep.keys():
            name = min(swept)
            raise UsageError(
                f"--set {name}: the experiment plays several values of it",
                hint=f"change the sweep of {name} in a copy of the file",
            )
    return tuple(replace(it, options=it.options | given) for it in workloads)


def override_measuring(measuring: Measuring, blocks: int | None, quick: bool) -> Measuring:
    """The file's way of measuring, where the command line does not say otherwise."""
    if quick:
        return replace(measuring, quick=True, blocks=blocks)
    return measuring if blocks is None else replace(measuring, blocks=blocks, fixed=False)
