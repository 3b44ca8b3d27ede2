"""`dyno differ`: statements by chance on two builds, and what they answer otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli import judged_run, options
from dyno.cli.judged_run import tell_run as tell_run
from dyno.cli.options import DURATION, ENGINE, add_option
from dyno.cli.runs import find_runs_home, refuse_device

if TYPE_CHECKING:
    from dyno.record.differ import DifferRun


@click.command("differ")
@click.argument("sides", nargs=-1, required=True, type=ENGINE, metavar="A [B]")
@add_option("--for TIME", "How long to search.", DURATION, name="for_s", default="10m")
@add_option("--seed N", "Draws the statements: the same seed, the same statements.", int, default=1)
@add_option("--scripts N", "Stop after N scripts.", click.IntRange(1))
@add_option("--finds N", "Stop after N differences that nothing explains.", click.IntRange(1))
@add_option("--aa", "Play one build against itself: nothing may differ.", name="is_aa")
@options.JSON
@options.FORMAT
def command(**words: Any) -> int:
    """Search for statements that two builds answer differently.

    Schemas, rows and statements are drawn by chance and played on both. Each difference is reduced
    to the smallest script that shows it; those that release notes explain are told apart. `dyno
    engines list` names builds.

    Exits with 1 if anything differs that nothing explains, with 2 if too little could be judged,
    else with 0.

    \b
    dyno differ sqlite@3.24.0 sqlite@3.54.1
    dyno differ postgres@13 postgres@18 --for 1h --seed 7
    dyno differ mysql@8.0.33 mariadb@11.8
    dyno differ sqlite@3.54.1 --aa
    """
    from dyno.instruments.differ.play import DifferPlan, start_differ_run
    from dyno.report.result import MEASURED

    judged_run.sweep()
    plan = DifferPlan(
        words["sides"],
        words["for_s"],
        words["seed"],
        words["scripts"] or 0,
        words["finds"] or 0,
        words["is_aa"],
        judged_run.quote_command(),
    )
    judged_run.check_formats(judged_run.read_asked(words), "a search for differences", MEASURED)
    run, folder = start_differ_run(plan, find_runs_home(), judged_run.print_progress)
    return _play_and_tell(run, folder, words)


def _play_and_tell(run: DifferRun, folder: Path, words: Mapping[str, Any]) -> int:
    from dyno.cli.terminal.live import tell_what_stays
    from dyno.instruments.differ.play import play_differ_run
    from dyno.report.differ import choose_differ_exit

    with tell_what_stays(folder):
        run = play_differ_run(run, folder, judged_run.print_progress)
    tell_run(folder, judged_run.read_asked(words))
    return choose_differ_exit(run)


def resume_run(folder: Path, words: Mapping[str, Any]) -> int:
    """Goes on with a search that was stopped; one that is over is told again."""
    from dyno.instruments.differ.play import reopen_differ_run

    refuse_device(words)
    judged_run.sweep()
    return _play_and_tell(reopen_differ_run(folder), folder, words)
