"""`dyno resume`: goes on with a run where it was torn."""

from __future__ import annotations

from pathlib import Path

import click

from dyno.cli import options, playing
from dyno.cli.arguments import RUN
from dyno.cli.runs import run_folder


@click.command("resume")
@click.argument("run", type=RUN, metavar="RUN")
@options.JSON
def command(run: str, json_file: Path | None) -> int:
    """Go on with a run that was interrupted.

    RUN is its folder, its name, a unique beginning of the name, or `last`. The torn block is
    played again whole; a changed host, program or script refuses. Exits as `compare` does.
    """
    from dyno import conduct

    made = run_folder(run)
    made.run()
    playing.watched(lambda watch: conduct.resume(made, watch, playing.said), made, None)
    return playing.EXITS[playing.tell(made, json_file).overall]
