"""`dyno resume`: goes on with a run that was interrupted."""

from __future__ import annotations

from typing import Any

import click

from dyno.cli import judged_run, options
from dyno.cli.options import RUN, add_option
from dyno.cli.runs import find_folder_with, find_run
from dyno.cli.terminal import screen
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
    from dyno.instruments.capacity.folder import CAPACITY_RECORD
    from dyno.instruments.time.run import resume_run
    from dyno.record.disk import DISK_RECORD
    from dyno.runs.run_folder import COUNTS, FLEET_RECORD

    if measured := find_folder_with(DISK_RECORD, run):
        from dyno.cli.disk import resume_disks

        return resume_disks(measured, words)
    if words["writable"]:
        raise UsageError("--write-device is for runs of `dyno disk` only")
    if folder := find_folder_with(CAPACITY_RECORD, run):
        from dyno.cli.capacity import resume_capacity

        return resume_capacity(folder, words)
    if folder := find_folder_with(FLEET_RECORD, run):
        from dyno.cli.fleet import resume_fleet

        return resume_fleet(folder, words)
    made = find_run(run)
    record = made.read_run()
    if record.gathered:
        raise UsageError(f"{made.path.name} was gathered", hint="resume the shares on their hosts")
    judged_run.sweep()
    if (made.path / COUNTS).is_dir() and len(made.read_counts()) < len(record.workloads):
        told = "its counts of instructions did not end, and are not made again"
        screen.print_line(f"note: {told}", err=True)
    asked = judged_run.read_asked(words)
    with judged_run.show_progress(made, None, asked.verbose) as watch:
        resume_run(made, watch, judged_run.print_progress)
    if record.share:
        from dyno.cli.shard import tell_share

        tell_share(made)
        return 0
    return asked.choose_exit_code(judged_run.tell_verdict(made, asked))
