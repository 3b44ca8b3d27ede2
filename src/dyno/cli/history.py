"""`dyno history`: where, over many runs, a metric seems to have changed its level."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dyno.cli import gate, nominations
from dyno.cli.options import OutputFile
from dyno.cli.runs import runs_home, runs_under
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.record import History


@dataclass(frozen=True)
class Asked:
    """What the user asked for beside the history itself."""

    json_file: Path | None
    html_file: Path | None
    gate: bool
    since: datetime | None


@click.command("history")
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path), metavar="[FOLDER]...")
@click.option(
    "--alpha",
    type=click.FloatRange(0.002, 0.2),
    default=0.01,
    show_default=True,
    metavar="SHARE",
    help="Of series in which nothing changed, the share that may get a nomination.",
)
@click.option(
    "--html",
    "html_file",
    type=OutputFile(dir_okay=False, writable=True),
    metavar="FILE",
    help="Write a page with a chart of each series.",
)
@click.option(
    "--json",
    "json_file",
    type=OutputFile(dir_okay=False, writable=True),
    metavar="FILE",
    help="Write series, points and nominations as JSON (docs/reference/record.md, `History`).",
)
@click.option("--gate", is_flag=True, help="Set the exit code by the slowdowns that stand.")
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
    help="Hold against the gate only changes to builds that a run since this day (UTC) played.",
)
def command(folders: tuple[Path, ...], alpha: float, **words: object) -> int:
    """Look through the runs under FOLDERs for changes; each is nominated, none is convicted.

    Runs of one workload, with equal settings, controls, host and driver, make a series for each
    primary metric, in the order of their builds. Where its level changes, the builds before and
    after are named, with the command that compares them afresh: only that gives a verdict, and
    once it was played among the runs that are read, the verdict stands beside the nomination.
    Without a FOLDER, the folder of runs is read.

    The exit code is 0, nominations or not. With --gate it is the worst over the slowdowns which
    the newest level still shows: 1 where a fresh comparison convicted one, 2 where one is nominated
    and no comparison has decided, 0 where there is none or all were acquitted; 64 where no series
    is long enough to tell.
    """
    from dyno.history import history

    asked = checked(Asked(**words))  # type: ignore[arg-type]
    found = history(runs_under(folders or (runs_home(),)), alpha)
    if not found.tested:
        raise too_short(found)
    nominations.show(found)
    write(found, asked)
    return gate.code(found, asked.since) if asked.gate else 0


def checked(asked: Asked) -> Asked:
    """`asked`, if it makes sense together."""
    if asked.since and not asked.gate:
        raise UsageError("--since says what the gate looks at", hint="add --gate")
    files = [file.resolve() for file in (asked.json_file, asked.html_file) if file]
    if len(set(files)) < len(files):
        raise UsageError(f"--json and --html both name {asked.json_file}", hint="name two files")
    return asked


def too_short(found: History) -> UsageError:
    """Why there is nothing to look at, and what was in the way."""
    from dyno.report.words import plural

    longest = max((len(each.points) for each in found.series), default=0)
    cuts = [clause for each in found.series for clause in each.cut]
    cut = f"; series were cut where {cuts[-1]}" if cuts else ""
    return UsageError(
        f"no series is long enough: the longest has {plural(longest, 'point')}",
        hint=f"at least {found.points_least} are needed, each a build in a run, with equal "
        f"workload, settings, controls, host and driver{cut}",
    )


def write(found: History, asked: Asked) -> None:
    """The files that were asked for, each whole or not at all."""
    from dyno.report import files

    if asked.json_file:
        text = json.dumps(asdict(found), indent=1, allow_nan=False)
        files.put(asked.json_file, text + "\n")
    if asked.html_file:
        from dyno.report import history

        files.put(asked.html_file, history.html(found))
        click.echo(f"\npage: {asked.html_file}")
