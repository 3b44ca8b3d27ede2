"""`dyno gather`: one run of the shares that several hosts played, and its verdict."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli import judged_run, options
from dyno.cli.options import add_option
from dyno.cli.runs import find_runs_home
from dyno.cli.terminal import screen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dyno.compare.shards.found_shares import FoundShare

#: The worst exit code of several runs, the worst first.
WORST_FIRST = (3, 1, 4, 2, 0)


@click.command("gather")
@click.argument(
    "places", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR..."
)
@add_option(
    "--out DIR",
    "The gathered run's folder; of several experiments, one below it for each.  [default: a "
    "new one among the runs]",
    click.Path(path_type=Path),
)
@add_option("--partial", "Judge what there is where shares are missing or not complete.")
@add_option(
    "--inconclusive",
    "Exit of an inconclusive experiment: 0 or 1.  [default: 2]",
    click.Choice(["pass", "fail"]),
)
@options.STRICT
@options.VERBOSE
@options.JSON
@options.FORMAT
def command(places: tuple[Path, ...], *, out: Path | None, partial: bool, **words: Any) -> int:
    """Gather the shares of experiments that `dyno shard` played, and judge each experiment.

    DIR is a share's folder, its pack (`dyno pack`), or a folder in which such lie. All shares must
    have been played by the same Dyno, with the same experiment and builds. Base and candidate are
    compared within each host only. Exits as `compare` does, with the worst of several experiments.

    \b
    dyno gather shard-1 shard-2 shard-3 shard-4
    dyno gather artifacts --out nightly --format markdown
    """
    from dyno import scratch
    from dyno.compare.shards.found_shares import find_shares
    from dyno.compare.shards.gathering import group_by_experiment

    asked = judged_run.read_asked(words)
    with scratch.make_folder("gather") as home:
        found = find_shares(places, home, judged_run.print_progress)
        groups = list(group_by_experiment(found))
        folders = [
            _gather(own, out / own[0].run.name if out and len(groups) > 1 else out, partial)
            for own in groups
        ]
    codes = [asked.choose_exit_code(judged_run.tell_verdict(each, asked)) for each in folders]
    return next(code for code in WORST_FIRST if code in codes)


def _gather(found: Sequence[FoundShare], out: Path | None, partial: bool) -> Any:
    from dyno.compare.shards.found_shares import check_alike, drop_copies
    from dyno.compare.shards.gathering import check_complete, write_gathered
    from dyno.compare.shards.hosts import describe_hosts

    own = drop_copies(found, judged_run.print_progress)
    check_alike(own)
    state = check_complete(own, partial=partial)
    for clause in describe_hosts(own):
        screen.print_line(f"note: {clause}", err=True)
    tell_short_shares(own)
    folder = write_gathered(state, out or _make_path(own[0]), judged_run.quote_command())
    gathered = folder.read_run().gathered
    if gathered and gathered.torn:
        torn = "a torn trial is" if gathered.torn == 1 else f"{gathered.torn} torn trials are"
        screen.print_line(f"note: {torn} left out", err=True)
    return folder


def tell_short_shares(found: Sequence[FoundShare]) -> None:
    """Names on stderr the shares that were played to their end with fewer blocks than were dealt,
    since noise or failures took the others.
    """
    from dyno.judge.analysis.judge import describe_short
    from dyno.judge.analysis.run_view import RunView

    for each in found:
        if short := describe_short(RunView(each.run, each.trials)):
            share = f"share {each.share.index} of {each.share.of}"
            screen.print_line(f"note: {share} has {short}", err=True)


def _make_path(first: FoundShare) -> Path:
    name = re.sub(r"[^A-Za-z0-9._@-]+", "-", first.run.name).strip("-")[:60]
    return find_runs_home() / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{name}"
