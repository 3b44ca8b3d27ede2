"""`dyno fleet-host`: the host's side of `dyno run --on`, which starts it; nobody types it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from dyno.compare.experiment import Experiment


@click.command("fleet-host", hidden=True)
def command() -> int:
    """Serve a caller over stdin and stdout until it is gone."""
    from dyno.compare.fleet.agent import serve_caller

    serve_caller(read_words)
    return 0


def read_words(experiment: Path, words: Sequence[str]) -> Experiment:
    """The experiment under the words of a command line, as `dyno run` reads them."""
    from dyno.cli import run
    from dyno.cli.setup_words import prepare_experiment

    context = run.command.make_context("run", [str(experiment), *words])
    params = dict(context.params)
    return prepare_experiment(run.read_experiment_file(params.pop("experiment"), params))
