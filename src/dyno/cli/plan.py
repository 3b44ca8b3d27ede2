"""`dyno plan`: what a time buys, or what it costs to find a slowdown; plays nothing."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dyno.cli.exits import write_json_file
from dyno.cli.options import DURATION, EXPERIMENT, PERCENT, RUN, OutputFile, add_option
from dyno.cli.runs import find_run, find_runs_home, list_run_names
from dyno.cli.terminal import screen
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.runs.forecast.earlier_run import EarlierRun
    from dyno.runs.forecast.planner import DetectionForecast, PhaseLength, Planner, RunPlan


@click.command("plan")
@click.argument("experiment", type=EXPERIMENT, metavar="EXPERIMENT|RUN")
@add_option("--budget TIME", "The time available, e.g. 30m.", DURATION)
@add_option("--detect PERCENT", "The slowdown to find.", PERCENT)
@add_option(
    "--from RUN",
    "Take spread and cost from this run.  [default: the last one of this experiment]",
    RUN,
    name="source",
)
@add_option(
    "--json FILE",
    "Write the plan as JSON.",
    OutputFile(dir_okay=False, writable=True),
    name="json_file",
)
def command(
    experiment: str,
    budget: float | None,
    detect: float | None,
    source: str | None,
    json_file: Path | None,
) -> None:
    """Plan an experiment or the repetition of a run: blocks, duration, detectable slowdown.

    `dyno show experiments` and `dyno show runs` list what may be planned.

    Nothing is played, fetched or built. Spread and costs are those of that run, or of an earlier
    run of the experiment; without one, spreads of 1, 2 and 5 % are assumed.

    \b
    dyno plan sqlite-3.24-to-3.54 --budget 30m
    dyno plan my.toml --detect 1%
    dyno plan last --detect 1%
    """
    if budget is not None and detect is not None:
        raise click.UsageError("--budget and --detect cannot be combined")
    planner, played_by = find_planner(experiment, source)
    if detect is not None:
        plan = planner.plan_detection(detect)
    elif budget is not None:
        plan = planner.plan_budget(budget)
    else:
        plan = planner.plan_for(planner.run.design.analyses[-1])
    if json_file:
        write_json_file(json_file, asdict(plan))
    print_plan(played_by, plan, planner.run.design.analyses)


def find_planner(word: str, source: str | None) -> tuple[Planner, str]:
    """A planner for the experiment (or run) that `word` means, and the command that plays it.

    It knows the run meant by `source`, or else that run itself, or the last one of the experiment.
    """
    from dyno.runs import experiment as experiments
    from dyno.runs.forecast.earlier_run import find_newest_run, learn_from
    from dyno.runs.forecast.planner import Planner
    from dyno.runs.resolve.draft import Prepared
    from dyno.runs.resolve.experiment import outline_experiment
    from dyno.runs.run_folder import list_runs

    if is_run(word):
        folder = find_run(word)
        run = folder.read_run()
        if run.gathered or run.share:
            cause = f"{folder.path.name} is {'a share' if run.share else 'gathered of shares'}"
            hint = f"dyno plan EXPERIMENT --from {word}"
            raise UsageError("shares are planned by their experiment", cause=cause, hint=hint)
        earlier = learn_from(find_run(source) if source else folder)
        return Planner(Prepared(run=run), tell_shares(earlier)), run.command

    made = experiments.read_experiment(Path(word))
    made.require_blocks("dyno plan")
    prepared = outline_experiment(made)
    command = f"dyno run {word}"
    if source:
        return Planner(prepared, tell_shares(learn_from(find_run(source)))), command
    return Planner(
        prepared, find_newest_run(list_runs(find_runs_home()), prepared.run, say)
    ), command


def say(text: str) -> None:
    screen.print_lines(f"note: {text}", err=True)


def tell_shares(earlier: EarlierRun) -> EarlierRun:
    """The run, having told what it means that several hosts played it."""
    if earlier.shares:
        say(f"{earlier.name} was gathered of shares: spread and cost are those within a host")
    return earlier


def is_run(word: str) -> bool:
    """Does `word` mean a run? An experiment of that name, or a file, goes before."""
    from dyno.runs.experiments import list_experiments, read_former_names

    if word in list_experiments() or word in read_former_names() or Path(word).is_file():
        return False
    names = list_run_names()
    return word == "last" or (Path(word) / "run.json").is_file() or word in names


def print_plan(command: str, plan: RunPlan, own: tuple[int, ...]) -> None:
    """The plan as a paragraph and a table, and how to play it; `own` are the experiment's
    analyses.
    """
    screen.print_paragraph(describe_plan(plan))
    screen.print_gap()
    screen.print_table(
        HEADS, [format_primary_row(each) for each in plan.forecasts], range(1, len(HEADS))
    )
    screen.print_lines(f"\n{MEANINGS}")
    for each in plan.lengths:
        screen.print_gap()
        screen.print_line(describe_length(each))
    blocks = "" if plan.analyses == own else f" --blocks {plan.analyses[-1]}"
    if command:
        screen.print_gap()
        screen.print_line(f"to play it: {command}{blocks}")


HEADS = ("primary", "block sd", "MDE80", "with twice", "margin", "found", "cleared")
MEANINGS = """\
MDE80: the slowdown found 4 times in 5, all analyses and primaries counted; with twice the blocks
A block sd that was measured counts with its upper 80 % bound, since few blocks know it badly
found: how often a slowdown of the margin is called slower; cleared: an equal build not slower"""


def describe_plan(plan: RunPlan) -> str:
    times = (plan.block_s, plan.expected_s, plan.full_s, plan.worst_s)
    block, expected, full, worst = map(screen.format_duration, times)
    analyses = " and ".join(", ".join(map(str, plan.analyses)).rsplit(", ", 1))
    source = f"as in {plan.source}" if plan.source else "by assumption: no run of this was found"
    together = (
        f" {plan.primaries} primary comparisons share α (Holm)." if plan.primaries > 1 else ""
    )
    return (
        f"{plan.analyses[-1]} blocks of {block} ({source}), judged at {analyses}. It takes about "
        f"{expected} if nothing differs, {full} to the last analysis, and at worst {worst}, where "
        f"noise spoils blocks.{together}"
    )


def format_primary_row(forecast: DetectionForecast) -> tuple[str, ...]:
    percents = (
        forecast.sd_percent,
        forecast.mde80_percent,
        forecast.doubled_percent,
        forecast.margin_percent,
    )
    shares = (f"{100 * share:.0f} %" for share in (forecast.found, forecast.cleared))
    return (forecast.primary, *(f"{percent:.2g} %" for percent in percents), *shares)


def describe_length(each: PhaseLength) -> str:
    """How long a phase is best measured, where that is worth a word."""
    now = f"{each.phase} is measured for {each.seconds:g} s in each trial"
    if each.time_saved < 0.05:
        return f"{now}: about right for what a restart costs"
    saved = f"the same interval in {100 * each.time_saved:.0f} % less time"
    return f"{now}; {each.best_seconds:g} s would give {saved}"
