"""`dyno report`: makes all that is derived from a run again; it needs no engine."""

from __future__ import annotations

import re
from typing import Any

import click

from dyno.cli import judged_run, options
from dyno.cli.options import RUN, Parsed, add_option
from dyno.cli.runs import find_place, open_command, unpack
from dyno.errors import UsageError

PROFILES = ("firefox", "collapsed", "pprof")


def parse_web_url(text: str) -> str:
    """An address that can stand in a link."""
    if (text and not re.fullmatch(r"https?://[!-~]+", text)) or set(text) & set('<>"`'):
        raise ValueError(f"'{text}' is no address such as https://ci.example/report.html")
    return text


@click.command("report")
@click.argument("run", type=RUN, metavar="RUN")
@add_option(
    "--profile",
    "Write each candidate's samples of CPU time, too: a file for profiler.firefox.com, "
    "collapsed stacks for flame graph tools, or a file for go tool pprof.",
    click.Choice(PROFILES),
    name="profile_format",
)
@add_option(
    "--report-url URL",
    "Where readers of a format find the report: Markdown links to it.",
    Parsed("url", parse_web_url),
    default="",
)
@add_option(
    "--by",
    "Judge the blocks of a comparison by the engine's CPU time of an operation, all of them, into "
    "report-cpu.html; what the run was judged by stays.",
    click.Choice(["cpu"]),
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
    dyno report last --by cpu
    dyno report last --format markdown=comment.txt --report-url https://ci.example/17/report.html
    """
    place = find_place(unpack(run))
    file = open_command(place.kind)
    if hasattr(file, "report_run"):
        return int(file.report_run(place.path, profile_format, words))
    if words["by"]:
        raise UsageError(
            f"{place.instrument.noun} is not judged by CPU time", hint="leave out --by cpu"
        )
    if profile_format:
        raise UsageError(f"{place.instrument.noun} has no samples of CPU time")
    asked = judged_run.read_asked_of_report(words)
    code = asked.choose_exit_code(file.tell_run(place.path, asked))
    return code if asked.strict else 0
