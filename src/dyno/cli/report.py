"""`dyno report`: makes all that is derived from a run again; it needs no engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli import judged_run, options
from dyno.cli.judged_run import RunOptions
from dyno.cli.options import RUN, add_option
from dyno.cli.runs import find_place, unpack
from dyno.cli.terminal import screen
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.record import Verdict
    from dyno.runs.run_folder import RunFolder

PROFILES = ("firefox", "collapsed", "pprof")


@click.command("report")
@click.argument("run", type=RUN, metavar="RUN")
@add_option(
    "--profile",
    "Write each candidate's samples of CPU time, too: a file for profiler.firefox.com, "
    "collapsed stacks for flame graph tools, or a file for go tool pprof.",
    click.Choice(PROFILES),
    name="profile_format",
)
@options.STRICT
@options.VERBOSE
@options.JSON
@options.FORMAT
def command(run: str, *, profile_format: str | None, **words: Any) -> int:
    """Make a run's verdict.json, report.html and trials.csv again, or the report.html of a count or
    a run of disks.

    RUN is its folder, its name, a unique beginning of the name, `last` (`dyno show runs`), or a
    file of `dyno pack`, which is unpacked among the runs. It needs only the records, no engine.
    With a --format that has no file, that format is all that is printed. Exits with 0, or with
    --strict as `compare` does.

    \b
    dyno report last --format markdown >>"$GITHUB_STEP_SUMMARY"
    dyno report last --format junit=results.xml --format github
    """
    asked = judged_run.read_asked(words)
    from dyno.runs.run_folder import RunFolder

    place = find_place(unpack(run))
    if profile_format and place.kind in ("count", "disk"):
        is_count = place.kind == "count"
        hint = "KCachegrind reads callgrind's files in its folder" if is_count else ""
        what = "a count" if is_count else "a run of disks"
        raise UsageError(f"{what} has no samples of CPU time", hint=hint)
    if place.kind == "capacity":
        from dyno.cli.capacity import report_capacity

        return report_capacity(place.path, words)
    if place.kind == "count":
        return report_count(place.path, asked)
    if place.kind == "disk":
        return report_disks(place.path, asked)
    folder = RunFolder(place.path)
    if any(not wanted.file for wanted in asked.formats):
        verdict = judged_run.write_verdict(folder, asked)
    else:
        verdict = judged_run.tell_verdict(folder, asked)
    if profile_format:
        _write_profiles(folder, verdict, profile_format)
    return asked.choose_exit_code(verdict) if asked.strict else 0


def report_count(folder: Path, asked: RunOptions) -> int:
    from dyno.cli.count import tell_count
    from dyno.record.count import Count
    from dyno.runs.run_folder import COUNT_RECORD, read_json

    if asked.formats:
        raise UsageError("a count has no --format", hint="--json FILE writes its rows")
    tell_count(folder, read_json(Count, folder / COUNT_RECORD), asked.json_file, asked.verbose)
    return 0


def report_disks(folder: Path, asked: RunOptions) -> int:
    from dyno.cli.disk import choose_exit_code, refuse_formats, tell_disks
    from dyno.record.disk import DISK_RECORD, DiskRun
    from dyno.runs.run_folder import read_json

    refuse_formats({"formats": asked.formats})
    run = read_json(DiskRun, folder / DISK_RECORD)
    verdict = tell_disks(folder, run, asked.json_file)
    return choose_exit_code(verdict, strict=True) if asked.strict else 0


def _write_profiles(folder: RunFolder, verdict: Verdict, profile_format: str) -> None:
    from dyno.report import Book
    from dyno.report.profiles import find_encoder, write_profiles

    run, trials, profiles = folder.read_run(), folder.read_trials(), folder.read_profiles()
    book = Book(folder.path, run, trials, verdict, profiles)
    for path in write_profiles(book, find_encoder(profile_format)):
        screen.print_line(f"profile: {path}")
