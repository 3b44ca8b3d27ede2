"""`dyno plan`: what a time buys, or what it costs to find a slowdown; plays nothing."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dyno.cli.options import DURATION, EXPERIMENT, PERCENT, RUN, OutputFile
from dyno.cli.runs import run_folder, runs_home
from dyno.cli.terminal import screen

if TYPE_CHECKING:
    from dyno.experiment import Experiment
    from dyno.forecast.planner import DetectionForecast, PhaseLength, Planner, RunPlan


@click.command("plan")
@click.argument("experiment", type=EXPERIMENT, metavar="EXPERIMENT")
@click.option("--budget", type=DURATION, metavar="TIME", help="The time to be spent, e.g. 30m.")
@click.option("--detect", type=PERCENT, metavar="PERCENT", help="The slowdown to be found.")
@click.option(
    *("--from", "source"),
    type=RUN,
    metavar="RUN",
    help="Take spread and cost from this run.  [default: the last one of this experiment]",
)
@click.option(
    *("--json", "json_file"),
    type=OutputFile(dir_okay=False, writable=True),
    metavar="FILE",
    help="Write the plan as JSON.",
)
def command(
    experiment: str,
    budget: float | None,
    detect: float | None,
    source: str | None,
    json_file: Path | None,
) -> None:
    """Plan an experiment: how many blocks a time buys, and what they will see.

    Nothing is played, fetched or built. Spread and costs are read from an earlier run of the
    experiment; where there is none, spreads of 1, 2 and 5 % are assumed.

    \b
    dyno plan sqlite-3.24-to-3.54 --budget 30m
    dyno plan my.toml --detect 1%
    """
    from dyno import experiment as experiments

    if budget is not None and detect is not None:
        raise click.UsageError("--budget and --detect are two questions: ask one")
    planner = planner_of(experiments.read_experiment(Path(experiment)), source)
    if detect is not None:
        plan = planner.to_detect(detect)
    elif budget is not None:
        plan = planner.for_budget(budget)
    else:
        plan = planner.plan_for(planner.run.design.looks[-1])
    if json_file:
        json_file.write_text(json.dumps(asdict(plan), indent=1) + "\n", encoding="utf-8")
    print_plan(experiment, plan, planner.run.design.looks)


def planner_of(experiment: Experiment, source: str | None) -> Planner:
    """A planner that knows the run meant by `source`, or else the last one of the experiment."""
    from dyno.forecast.earlier_run import learn_from, newest_run
    from dyno.forecast.planner import Planner
    from dyno.resolve.experiment import outline_experiment
    from dyno.run_folder import all_runs

    prepared = outline_experiment(experiment)
    if source:
        return Planner(prepared, learn_from(run_folder(source)))
    return Planner(prepared, newest_run(all_runs(runs_home()), prepared.run))


def print_plan(experiment: str, plan: RunPlan, own: tuple[int, ...]) -> None:
    """The plan as a paragraph and a table, and how to play it; `own` are the experiment's looks."""
    screen.paragraph(plan_summary(plan))
    click.echo()
    screen.table(HEADS, [primary_row(each) for each in plan.forecasts], range(1, len(HEADS)))
    click.echo(f"\n{MEANINGS}")
    for each in plan.lengths:
        click.echo(f"\n{length_note(each)}")
    blocks = "" if plan.looks == own else f" --blocks {plan.looks[-1]}"
    click.echo(f"\nto play it: dyno run {experiment}{blocks}")


HEADS = ("primary", "block sd", "MDE80", "with twice", "margin", "found", "cleared")
MEANINGS = """\
MDE80: the slowdown found 4 times in 5, all looks and primaries counted; with twice the blocks
A block sd that was measured counts with its upper 80 % bound, since few blocks know it badly
found: how often a slowdown of the margin is called slower; cleared: an equal build not slower"""


def plan_summary(plan: RunPlan) -> str:
    """Blocks, looks, time, and where the numbers come from."""
    times = (plan.block_s, plan.expected_s, plan.full_s, plan.worst_s)
    block, expected, full, worst = map(screen.format_duration, times)
    looks = " and ".join(", ".join(map(str, plan.looks)).rsplit(", ", 1))
    source = f"as in {plan.source}" if plan.source else "by assumption: no run of this was found"
    together = (
        f" {plan.primaries} primary comparisons share α (Holm)." if plan.primaries > 1 else ""
    )
    return (
        f"{plan.looks[-1]} blocks of {block} ({source}), judged at {looks}. It takes about "
        f"{expected} if nothing differs, {full} to the last look, and at worst {worst}, where "
        f"noise spoils blocks.{together}"
    )


def primary_row(forecast: DetectionForecast) -> tuple[str, ...]:
    """A primary, as the heads have it."""
    percents = (
        forecast.sd_percent,
        forecast.mde80_percent,
        forecast.doubled_percent,
        forecast.margin_percent,
    )
    shares = (f"{100 * share:.0f} %" for share in (forecast.found, forecast.cleared))
    return (forecast.primary, *(f"{percent:.2g} %" for percent in percents), *shares)


def length_note(each: PhaseLength) -> str:
    """How long a phase is best measured, where that is worth a word."""
    now = f"{each.phase} is measured for {each.seconds:g} s in each trial"
    if each.time_saved < 0.05:
        return f"{now}: about right for what a restart costs"
    saved = f"the same interval in {100 * each.time_saved:.0f} % less time"
    return f"{now}; {each.best_seconds:g} s would give {saved}"
