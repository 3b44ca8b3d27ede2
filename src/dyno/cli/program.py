"""`dyno program`: programs that print a number, one by itself or several compared."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli import judged_run, options
from dyno.cli.judged_run import tell_run as tell_run
from dyno.cli.options import PERCENT, add_option
from dyno.cli.runs import find_runs_home, refuse_device
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.record.program import ProgramRun


@click.command("program")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@add_option(
    "--blocks N",
    "Play N blocks.  [default: 5; of several files 6, and up to 24 until it is decided]",
    click.IntRange(1),
)
@add_option(
    "--margin PERCENT", "The slowdown that matters.", PERCENT, default=2.0, show_default="2%"
)
@add_option("--aa", "Play one FILE against itself: an A/A comparison.", name="is_aa")
@add_option("--seed", "Draws orders, and is each start's {seed}.", int, default=1)
@options.SERIES
@options.STRICT
@options.JSON
@options.FORMAT
def command(**words: Any) -> int:
    """Compare programs that print a number: is a later FILE slower than the first?

    FILE is a TOML file with the program's `command` and `rate`, a regular expression that finds its
    number: db_bench, memtier, fio, redis-benchmark, a script. NAME= before it names it,
    ?VARIABLE=VALUE behind it sets a variable of the file.

    \b
    dyno program old.toml new.toml
    dyno program 'old=bench.toml?program=/opt/a/db_bench' 'new=bench.toml?program=/opt/b/db_bench'
    dyno program bench.toml --aa
    """
    from dyno.instruments.program.play import ProgramPlan, make_program_folder, plan_program_run
    from dyno.report.result import COMPARED, MEASURED

    judged_run.sweep()
    if words["margin"] <= 0:
        raise UsageError(f"--margin must be above 0 (got {words['margin']:g})")
    plan = ProgramPlan(
        words["files"],
        words["blocks"],
        words["margin"],
        words["seed"],
        words["is_aa"],
        judged_run.quote_command(),
        words["series"] or "",
    )
    run = plan_program_run(plan)
    holdings = COMPARED if len(run.sides) > 1 else MEASURED
    judged_run.check_formats(judged_run.read_asked(words), "a run of programs", holdings)
    return _play_and_tell(run, make_program_folder(find_runs_home(), run), words)


def _play_and_tell(run: ProgramRun, folder: Path, words: Mapping[str, Any]) -> int:
    from dyno.cli.terminal.live import tell_what_stays
    from dyno.instruments.program.play import play_programs

    with tell_what_stays(folder):
        play_programs(run, folder, judged_run.print_progress)
    asked = judged_run.read_asked(words)
    return asked.choose_exit_code(tell_run(folder, asked))


def resume_run(folder: Path, words: Mapping[str, Any]) -> int:
    """Goes on with a run that was stopped; one that is over is told again."""
    from dyno.instruments.program.play import reopen_program_run

    refuse_device(words)
    judged_run.sweep()
    return _play_and_tell(reopen_program_run(folder), folder, words)
