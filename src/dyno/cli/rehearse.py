"""`dyno rehearse`: an upgrade rehearsed with a copy of the data and a server's log."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from dyno.cli import judged_run, options
from dyno.cli.headings import HeadedCommand
from dyno.cli.options import ENGINE
from dyno.cli.replay_words import LOG_OPTIONS, choose_log
from dyno.errors import UsageError

#: Timed blocks, all judged at once: fewer show nothing of one class among many.
BLOCKS = 8


@click.command("rehearse", cls=HeadedCommand)
@click.argument("candidates", nargs=-1, required=True, type=ENGINE, metavar="OLD NEW")
@LOG_OPTIONS["log"]
@LOG_OPTIONS["data"]
@LOG_OPTIONS["speed"]
@LOG_OPTIONS["log_prefix"]
@options.SET
@options.ACCEPT
@click.option(
    "--no-time", "untimed", is_flag=True, help="Compare errors, answers and plans, and no time."
)
@click.option(
    "--hide-literals",
    is_flag=True,
    help="Show classes without an example, rows, or values in errors and plans.",
)
@click.option(
    "--blocks", type=int, metavar="N", help=f"Timed blocks, judged at once.  [default: {BLOCKS}]"
)
@options.BUDGET
@options.VERBOSE
@options.JSON
@options.FORMAT
def command(**words: Any) -> int:
    """Rehearse an upgrade: what fails on NEW, answers differently, changes its plan, gets slower?

    The statements of a server's log are played in their order on fresh copies of the data, on OLD
    and on NEW, writes too; then again in blocks for the time. Your servers are not touched.

    Exits with 1 if anything fails, differs (but for what --accept names) or is slower, with 2 if
    too many executions could not be judged, else with 0.

    \b
    dyno rehearse postgres@13 postgres@18 --log postgresql.log --data dump.sql
    dyno rehearse mysql@8.0.33 mysql@9.7 --log general.log --data dump.sql --no-time
    """
    from dyno.compare import experiment as experiments

    _check_words(words)
    measuring = experiments.Measuring(
        blocks=words["blocks"] or BLOCKS,
        fixed=True,
        sequential=True,
        accepted=words["accepted"] or {},
        rehearses=True,
        untimed=words["untimed"],
        hides_literals=words["hide_literals"],
    )
    fixed = {"writes": True, "in_place": False, "repeat": None, "statement_limit": None}
    chosen = choose_log(words | fixed)
    assert chosen, "a log is named"
    options, command = chosen[1] | dict(words["settings"]), judged_run.quote_command()
    made = experiments.compare_candidates(
        words["candidates"], chosen[0], options, measuring, command
    )
    old, new = (side.name for side in made.candidates)
    made = replace(made, question=f"What would an upgrade from {old} to {new} change?")
    asked = judged_run.read_asked(words)
    return asked.choose_exit_code(judged_run.play_and_judge(made, asked))


def _check_words(words: dict[str, Any]) -> None:
    """`UsageError` where a log, its copy, or one of the two sides is missing, or is no build."""
    from dyno.compare.experiment.candidates import parse_candidate

    sides = words["candidates"]
    if len(sides) != 2:
        hint = "rehearse one upgrade at a time: dyno rehearse OLD NEW"
        raise UsageError(f"a rehearsal has two sides (got {len(sides)})", hint=hint)
    for each in map(parse_candidate, sides):
        if each.is_url:
            raise UsageError(
                "a server that runs already is not rehearsed on",
                cause="statements that write are played, and each side needs a fresh copy",
                hint="name a build, ENGINE@VERSION; --data FILE makes the copy",
            )
    if not words["log"]:
        raise UsageError("a rehearsal needs a log", hint="--log FILE, a server's log of statements")
    if not words["data"]:
        raise UsageError("a rehearsal needs a copy of the data", hint="--data FILE, a dump of OLD")
    if words["untimed"] and (words["blocks"] or words["budget"]):
        word = "--blocks" if words["blocks"] else "--budget"
        raise UsageError(f"{word} and --no-time cannot be combined", hint=f"leave out {word}")
