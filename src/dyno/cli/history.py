"""`dyno history`: where, over many runs, a metric seems to have changed its level."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dyno.cli import nominations, screen
from dyno.cli.runs import runs_home
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.folder import Folder
    from dyno.history import LeftOut, Series

#: Of what is left out, so many are named.
NAMED = 5


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
def command(folders: tuple[Path, ...], alpha: float) -> None:
    """Look through the runs under FOLDERs for changes; each is nominated, none is convicted.

    Runs of one workload, with equal settings, controls, host and driver, make a series for each
    primary metric, in the order of their builds. Where its level changes, the builds before and
    after are named, with the command that compares them afresh: only that gives a verdict.
    Without a FOLDER, the folder of runs is read. Nothing is written.

    The exit code is 0, nominations or not: a nomination must not fail a build.
    """
    from dyno.history import gathered, in_series, nominated
    from dyno.stats.changes import points_least

    points, left_out = gathered(runs_under(folders or (runs_home(),)))
    every, least = in_series(points), points_least(alpha)
    tested = [each for each in every if len(each.points) >= least]
    if not tested:
        raise too_short(every, least)
    found = {id(each): nominated(each, alpha) for each in tested}
    screen.table(("series", "points", "time"), nominations.rows(tested, found), right=(1,))
    click.echo("\neach bar a build in a run, in the order of the builds; higher took longer\n")
    for each in tested:
        for nomination in found[id(each)]:
            nominations.tell(nomination, alpha)
    remark(len(every) - len(tested), least, left_out)
    conclude(sum(map(len, found.values())), len(tested), alpha)


def runs_under(folders: Sequence[Path]) -> list[Folder]:
    """Every run in or below `folders`; `UsageError` where there is none."""
    from dyno.folder import Folder

    found: dict[Path, Folder] = {}
    for folder in folders:
        if not folder.is_dir():
            hint = "name a folder with runs in it, or a run's own"
            raise UsageError(f"there is no folder {folder}", hint=hint)
        below = [file.parent for file in sorted(folder.rglob("run.json"))]
        if not below:
            raise UsageError(f"there is no run under {folder}", hint="`dyno compare` makes one")
        found |= {path.resolve(): Folder(path) for path in below}
    return list(found.values())


def too_short(every: Sequence[Series], least: int) -> UsageError:
    """Why there is nothing to look at, and what was in the way."""
    from dyno.report.words import plural

    longest = max((len(each.points) for each in every), default=0)
    cuts = [clause for each in every for clause in each.cut]
    cut = f"; series were cut where {cuts[-1]}" if cuts else ""
    return UsageError(
        f"no series is long enough: the longest has {plural(longest, 'point')}",
        hint=f"at least {least} are needed, each a build in a run, with equal workload, settings, "
        f"controls, host and driver{cut}",
    )


def remark(short: int, least: int, left_out: Sequence[LeftOut]) -> None:
    """What was not looked at."""
    if short:
        click.echo(f"not tested: {short} series of fewer than {least} points")
    for each in left_out[:NAMED]:
        click.echo(f"left out: {each.folder}: {each.why}")
    if len(left_out) > NAMED:
        click.echo(f"left out: and {len(left_out) - NAMED} more")


def conclude(nominated: int, tested: int, alpha: float) -> None:
    """What the nominations are worth."""
    from dyno.report.words import plural

    count = plural(nominated, "nomination")
    screen.paragraph(
        f"{count} in {tested} series; where nothing changed, {alpha:g} of the "
        "series get one all the same. A nomination is no verdict: only a fresh paired comparison "
        "convicts."
    )
