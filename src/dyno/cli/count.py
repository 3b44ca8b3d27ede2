"""`dyno count`: instructions per operation of two or more candidates, and a verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli import judged_run, options
from dyno.cli.options import ENGINE, PERCENT, add_option
from dyno.cli.runs import find_runs_home
from dyno.cli.terminal import screen
from dyno.cli.workload_words import SQL, choose_workload, prepare_experiment
from dyno.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dyno.cli.judged_run import RunOptions
    from dyno.record import Verdict
    from dyno.record.count import Count
    from dyno.runs.experiment import Experiment


@click.command("count")
@click.argument("candidates", nargs=-1, required=True, type=ENGINE, metavar="BASE CANDIDATE...")
@options.add_workload()
@SQL
@options.SET
@options.CONTROL
@add_option(
    "--margin PERCENT",
    "The change of instructions that matters.",
    PERCENT,
    default=0.5,
    show_default="0.5%",
)
@options.EVENTS
@add_option(
    "--before N",
    "How many are played before those, to fill caches; their count is subtracted.",
    click.IntRange(1),
    default=1_000,
)
@add_option(
    "--repeat N",
    "How often each candidate is restarted and counted, for each input.  [default: 2, of "
    "several inputs 1]",
    click.IntRange(1),
    name="repeats",
)
@add_option(
    "--inputs N",
    "Draw requests by so many seeds: the interval is then over inputs, not over restarts.",
    click.IntRange(1, 100),
    default=1,
)
@add_option("--stacks", "Show the calls that lead to what changed, as a tree.")
@add_option("--phase NAME", "The workload's phase.  [default: its first]", default="")
@add_option("--seed", "Draws the requests.", int, default=1)
@options.SERIES
@options.VERBOSE
@options.NO_CLIENT_HOSTS
@options.JSON
@options.FORMAT
def command(**words: Any) -> int:
    """Count instructions per operation: is CANDIDATE heavier than BASE?

    The same seeded operations of one user run under valgrind's callgrind, which Dyno fetches where
    the system has none. A count is the same on any machine and under any load. It sees no caches,
    no waits, no system calls and no parallelism: heavier is not slower.

    \b
    dyno count sqlite@3.46.0 sqlite@3.54.1 -w oltp_point_select
    dyno count mysql@5.6.14 mysql@8.0.33 -w insert --phase l.i1 --events 2000
    """
    experiment, asked = _make_experiment(words), judged_run.read_asked(words)
    return asked.choose_exit_code(play_experiment(experiment, asked))


#: The options of `dyno bisect` that ask for counts.
FOLLOWED = (
    add_option("--count", "Follow instructions instead of time.", name="is_counted"),
    options.EVENTS,
)


def read_followed(words: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a count's own words among those of `dyno bisect`; None if none is asked for."""
    before, phase = max(1, words["events"] // 10), words["phase"]
    own = {"events": words["events"], "before": before} | ({"phase": phase} if phase else {})
    return own if words["is_counted"] else None


def play_experiment(experiment: Experiment, asked: RunOptions) -> Verdict:
    """Count an experiment, and tell it."""
    folder, _ = play_quietly(experiment, asked)
    return tell_run(folder, asked)


def play_quietly(experiment: Experiment, asked: RunOptions) -> tuple[Path, Verdict]:
    """Count an experiment, and judge it; return its folder, too."""
    from dyno.instruments.instructions.candidate import CountPlan
    from dyno.instruments.instructions.run import count_run
    from dyno.judge.analysis.counts import judge_counts
    from dyno.report.result import COMPARED
    from dyno.runs.resolve.experiment import draft_run

    judged_run.check_formats(asked, "a count", COMPARED - {"comparisons of times"})
    experiment.require_plain("a count", ("margin_percent", "seed", "controls", "aa"))
    judged_run.refuse_repeats(asked, "a count")
    plan = experiment.read_own(CountPlan)
    if margin := experiment.measuring.margin_percent:
        plan = replace(plan, margin_percent=margin)
    (workload,) = experiment.workloads
    alone = replace(workload, options={"threads": "1"} | workload.options)
    measuring = replace(experiment.measuring, seed=experiment.measuring.seed or 1)
    made = replace(experiment, workloads=(alone,), measuring=measuring)
    judged_run.sweep()
    draft = draft_run(made, judged_run.print_progress)
    folder, count = count_run(draft, plan, find_runs_home(), judged_run.print_progress)
    return folder, judge_counts(count)


def read_count(folder: Path) -> Count:
    from dyno.record.count import Count
    from dyno.runs.run_folder import COUNT_RECORD, read_json

    return read_json(Count, folder / COUNT_RECORD)


def _make_experiment(words: dict[str, Any]) -> Experiment:
    from dyno.runs.experiment import Measuring, check_unlike, compare_candidates

    if len(words["candidates"]) < 2:
        hint = "name the base first, then what is compared with it"
        raise UsageError("a comparison needs two candidates", hint=hint)
    for each in words["candidates"]:
        if "://" in each:
            hint = "name a build, which is started under valgrind"
            raise UsageError(f"{each} runs already, and cannot be counted", hint=hint)
    workload, marked = choose_workload(words)
    chosen = dict(words["settings"]) | marked
    if words["margin"] <= 0:
        raise UsageError(f"--margin must be above 0 (got {words['margin']:g})")
    measuring = Measuring(words["margin"], seed=words["seed"], controls=dict(words["controls"]))
    command = judged_run.quote_command()
    made = compare_candidates(words["candidates"], workload, chosen, measuring, command)
    check_unlike(made.candidates)
    own = {name: words[name] for name in ("events", "before", "inputs", "stacks", "phase")}
    own["repeats"] = words["repeats"] or (1 if words["inputs"] > 1 else 2)
    return prepare_experiment(
        replace(made, instrument="count", own=own, series=words["series"] or "")
    )


def tell_run(folder: Path, asked: RunOptions) -> Verdict:
    """Make the page of a count, and print it.

    `--json`: as that of a comparison (`report/export.py`), with `overall` in the words of a count;
    a row has its `changes`, `layers` and `tree`, too (`record/count.py`, `CountComparison`).
    """
    from dyno.judge.analysis.counts import compare_counts
    from dyno.judge.analysis.effect_words import describe_word
    from dyno.record.decode import encode
    from dyno.report.counts import build_count_result, build_first_screen
    from dyno.report.export import to_json_result

    count = read_count(folder)
    rows = compare_counts(count)
    result = build_count_result(count, rows)

    def tell() -> dict[str, Any]:
        told = to_json_result(result.verdict, asked.losses)
        told["overall"] = describe_word(count.metric, result.verdict.overall)
        for one, row in zip(told["comparisons"], rows, strict=True):
            one |= {name: encode(getattr(row, name)) for name in ("changes", "layers", "tree")}
        return told

    shown = result.document if asked.verbose else build_first_screen(count, rows)
    return judged_run.tell_result(folder, result, asked, shown, tell)


def show_run(folder: Path) -> None:
    """Print all of a count, its functions too."""
    from dyno.judge.analysis.counts import compare_counts
    from dyno.report.counts import build_count, build_functions

    count = read_count(folder)
    screen.print_line(count.command)
    screen.draw_document(build_count(count, compare_counts(count)))
    screen.draw_document(build_functions(count))
