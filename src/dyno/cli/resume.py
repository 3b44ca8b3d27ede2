"""`dyno resume`: goes on with a run that was interrupted."""

from __future__ import annotations

from pathlib import Path

import click

from dyno.cli import judged_run, options
from dyno.cli.options import RUN
from dyno.cli.runs import find_run


@click.command("resume")
@click.argument("run", type=RUN, metavar="RUN")
@options.STRICT
@options.JSON
def command(run: str, *, strict: bool, json_file: Path | None) -> int:
    """Continue an interrupted run.

    RUN is its folder, its name, a unique beginning of the name, or `last`. The interrupted block is
    played again. Refused if host, program or script changed. Exits as `compare` does.
    """
    from dyno.compare.play.run import resume_run

    made = find_run(run)
    made.read_run()
    judged_run.sweep()
    with judged_run.show_progress(made, None) as watch:
        resume_run(made, watch, judged_run.print_progress)
    return judged_run.choose_exit_code(judged_run.tell_verdict(made, json_file), strict=strict)
