"""`dyno report`: makes all that is derived from a run again; it needs no engine."""

from __future__ import annotations

from pathlib import Path

import click

from dyno.cli import judged_run, options
from dyno.cli.options import RUN
from dyno.cli.runs import find_run


@click.command("report")
@click.argument("run", type=RUN, metavar="RUN")
@options.STRICT
@options.JSON
def command(run: str, *, strict: bool, json_file: Path | None) -> int:
    """Make a run's verdict.json, report.html and trials.csv again.

    RUN is its folder, its name, a unique beginning of the name, or `last`. It needs only the
    records, no engine. Exits with 0, or with --strict as `compare` does.
    """
    verdict = judged_run.tell_verdict(find_run(run), json_file)
    return judged_run.choose_exit_code(verdict, strict=True) if strict else 0
