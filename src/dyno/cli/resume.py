"""`dyno resume`: goes on with a run that was interrupted."""

from __future__ import annotations

from typing import Any

import click

from dyno.cli import options
from dyno.cli.options import RUN, add_option
from dyno.cli.runs import find_folder_with, find_place, open_command, refuse_device
from dyno.errors import UsageError


@click.command("resume")
@click.argument("run", type=RUN, metavar="RUN")
@add_option(
    "--write-device DEVICE ...",
    "Of a run of disks that writes to a device: its name, typed again.",
    name="writable",
)
@options.STRICT
@options.VERBOSE
@options.JSON
@options.FORMAT
def command(run: str, **words: Any) -> int:
    """Continue an interrupted run.

    RUN is its folder, its name, a unique beginning of the name, or `last` (`dyno show runs`). The
    interrupted block is played again. Refused if host, program or script changed. Exits as
    `compare` does; of a share (`dyno shard`) with 0 once that is complete.
    """
    from dyno.cli.fleet import resume_fleet
    from dyno.runs.run_folder import FLEET_RECORD, load_instruments

    if folder := find_folder_with(FLEET_RECORD, run):
        refuse_device(words)
        return resume_fleet(folder, words)
    place = find_place(run)
    instrument = open_command(place.kind)
    if not hasattr(instrument, "resume_run"):
        noun = load_instruments()[place.kind].noun
        raise UsageError(f"{run} is {noun}, which cannot go on", hint="play it again")
    return int(instrument.resume_run(place.path, words))
