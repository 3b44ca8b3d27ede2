"""`dyno count`: instructions per operation of two or more candidates, and a verdict."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli import judged_run, options
from dyno.cli.options import ENGINE, PERCENT
from dyno.cli.runs import find_runs_home
from dyno.cli.terminal import screen
from dyno.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dyno.compare.count.candidate import CountPlan
    from dyno.compare.experiment import Experiment
    from dyno.record.count import Count, CountComparison, FunctionChange

#: Exit codes, as those of `compare`.
EXITS = {"not heavier": 0, "lighter": 0, "heavier": 1, "inconclusive": 2}
#: Rows of the table of functions on a terminal; the page has more.
SHOWN = 10


@click.command("count")
@click.argument("candidates", nargs=-1, required=True, type=ENGINE, metavar="BASE CANDIDATE...")
@options.add_workload(required=True)
@options.SET
@options.CONTROL
@click.option(
    "--margin",
    type=PERCENT,
    default=0.5,
    show_default="0.5%",
    metavar="PERCENT",
    help="The change of instructions that matters.",
)
@click.option(
    "--events",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    metavar="N",
    help="How many events are counted.",
)
@click.option(
    "--before",
    type=click.IntRange(1),
    default=1_000,
    show_default=True,
    metavar="N",
    help="How many are played before those, to fill caches; their count is subtracted.",
)
@click.option(
    "--repeat",
    "repeats",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    metavar="N",
    help="How often each candidate is restarted and counted.",
)
@click.option(
    "--phase", default="", metavar="NAME", help="The workload's phase.  [default: its first]"
)
@click.option("--seed", type=int, default=1, show_default=True, help="Draws the requests.")
@options.JSON
def command(**words: Any) -> int:
    """Count instructions per operation: is CANDIDATE heavier than BASE?

    The same seeded operations of one user run under valgrind's callgrind, which Dyno fetches where
    the system has none. A count is the same on any machine and under any load. It sees no caches,
    no waits, no system calls and no parallelism: heavier is not slower.

    \b
    dyno count sqlite@3.46.0 sqlite@3.54.1 -w oltp_point_select
    dyno count mysql@5.6.14 mysql@8.0.33 -w insert --phase l.i1 --events 2000
    """
    from dyno.compare.count.run import count_run
    from dyno.compare.resolve.experiment import draft_run
    from dyno.judge.counts import compare_counts, judge_overall

    judged_run.sweep()
    draft = draft_run(_make_experiment(words), judged_run.print_progress)
    folder, count = count_run(draft, _make_plan(words), find_runs_home(), judged_run.print_progress)
    rows = compare_counts(count)
    _write_files(folder, count, rows, words["json_file"])
    _print_count(folder, count, rows)
    return EXITS[judge_overall(rows)]


def _make_experiment(words: dict[str, Any]) -> Experiment:
    from dyno.compare.experiment import Measuring, compare_candidates

    if len(words["candidates"]) < 2:
        hint = "name the base first, then what is compared with it"
        raise UsageError("a comparison needs two candidates", hint=hint)
    chosen = {"threads": "1"} | dict(words["settings"])
    measuring = Measuring(seed=words["seed"], controls=dict(words["controls"]))
    command = judged_run.quote_command()
    return compare_candidates(words["candidates"], words["workload"], chosen, measuring, command)


def _make_plan(words: dict[str, Any]) -> CountPlan:
    from dyno.compare.count.candidate import CountPlan

    names = ("events", "before", "repeats", "phase")
    chosen = {name: words[name] for name in names}
    if words["margin"] <= 0:
        raise UsageError(f"--margin must be above 0 (got {words['margin']:g})")
    return CountPlan(**chosen, margin_percent=words["margin"])


def _write_files(
    folder: Path, count: Count, rows: Sequence[CountComparison], json_file: Path | None
) -> None:
    from dyno.report.html.counts import render_count
    from dyno.report.html.page import replace_file, write_user_file

    replace_file(folder / "report.html", render_count(count, rows))
    if json_file:
        write_user_file(json_file, json.dumps([asdict(row) for row in rows], indent=1) + "\n")


def _print_count(folder: Path, count: Count, rows: Sequence[CountComparison]) -> None:
    from dyno.report.text import counts as text

    for row in rows:
        screen.print_gap()
        screen.print_paragraph(f"{text.describe_comparison(count, row)} {text.describe_cause(row)}")
        heads = ("layer", row.base, row.candidate, "change")
        layers = [(each.layer, *_format_cells(each)) for each in row.layers]
        screen.print_table(heads, layers, right=(1, 2, 3))
        screen.print_gap()
        heads_of_functions = ("function", "layer", row.base, row.candidate, "change")
        screen.print_table(
            heads_of_functions, map(_make_function_row, row.changes[:SHOWN]), right=(2, 3, 4)
        )
    screen.print_gap()
    for sentence in text.describe_spread(count.counts):
        screen.print_line(sentence)
    for each in count.counts:
        if sentence := text.describe_others(count, each):
            screen.print_line(sentence)
    screen.print_paragraph(text.BLIND)
    screen.print_line(f"report: {folder / 'report.html'}")


def _make_function_row(each: FunctionChange) -> tuple[str, ...]:
    return each.name, each.layer, *_format_cells(each)


def _format_cells(each: FunctionChange) -> tuple[str, str, str]:
    return f"{each.before:,.1f}", f"{each.after:,.1f}", f"{each.change:+,.1f}"
