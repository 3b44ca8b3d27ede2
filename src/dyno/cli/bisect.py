"""`dyno bisect`: the version or commit that made an engine slower, heavier, or hold less."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli import judged_run, options
from dyno.cli.judged_run import RunOptions
from dyno.cli.options import PERCENT, add_option
from dyno.cli.runs import open_command
from dyno.cli.terminal import screen
from dyno.cli.workload_words import SQL, choose_workload, prepare_workloads
from dyno.errors import UsageError, build_unknown_error
from dyno.plugins import load_modules

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dyno.compare.bisect.oracles import VerdictOracle
    from dyno.compare.bisect.points import BisectPoint
    from dyno.compare.bisect.search import BisectStep, Found, Oracle
    from dyno.runs.experiment import Experiment

#: Found, nothing to find, and not sure.
FOUND_EXIT, NOTHING_EXIT, UNSURE_EXIT = 0, 1, 2


def list_followed() -> dict[str, Any]:
    """The files of `cli`, by name, whose instrument of the same name options of its own ask for."""
    found = load_modules("dyno.cli").items()  # as --help does: instruments would load records
    return {name: file for name, file in found if hasattr(file, "read_followed")}


def add_followed(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add these options."""
    for file in reversed(list_followed().values()):
        for option in reversed(file.FOLLOWED):
            command = option(command)
    return command


@click.command("bisect")
@click.argument("span", metavar="ENGINE@GOOD..BAD")
@options.add_workload()
@SQL
@add_option(
    "--git DIR",
    "GOOD and BAD are commits of this repository, built from source.",
    click.Path(exists=True, file_okay=False, path_type=Path),
    name="tree",
)
@add_option("--phase NAME", "The phase whose metric is followed.", default="")
@add_followed
@add_option("--margin PERCENT", "The change from GOOD to BAD that matters.", PERCENT)
@options.BY
@options.SET
@options.CONTROL
@options.LIMIT
@options.ACCEPT
@options.BLOCKS
@options.BUDGET
@options.QUICK
@options.NO_CLIENT_HOSTS
def command(span: str, **words: Any) -> int:
    """Find the version or commit that changed an engine's speed.

    GOOD and BAD are compared first. Then the point that halves what is left is compared with GOOD,
    until the first changed one is known with 95 % probability; uncertain answers are combined. A
    point that cannot be built is skipped. At the end that point is compared with the one before it.
    For a gain GOOD is the slower, older end.

    Exits with 0 where it is found, 1 where the last version is neither slower nor faster (heavier
    nor lighter, nor holds less or more), 2 where it is not sure.

    \b
    dyno bisect sqlite@3.24..3.54 -w insert --phase l.i0
    dyno bisect sqlite@3.24..3.54 -w oltp_point_select --count
    dyno bisect mysql@8.0..9.7 -w oltp_read_write --slo "p99<10ms"
    dyno bisect postgres@REL_17_0..REL_18_0 --git ~/postgres -w oltp_point_select --count
    """
    from dyno.compare.bisect.points import list_points
    from dyno.runs.run_folder import load_instruments

    points = list_points(span, words["tree"])
    check_phase(words, points)
    oracle = make_oracle(words, points)
    screen.print_line(
        f"{len(points)} points, {points[0].name} to {points[-1].name}: about "
        f"{math.ceil(math.log2(len(points)))} to {2 * math.ceil(math.log2(len(points)))} "
        f"{load_instruments()[oracle.experiment.instrument].noun.partition(' ')[2]}s"
    )
    found = find_change(points, oracle)
    if found.first and found.first == found.last and len(points) > 2:
        compare_neighbours(oracle, points[found.first - 1 : found.first + 1], words["budget"])
    return choose_exit_code(found)


def find_change(points: Sequence[BisectPoint], oracle: Oracle) -> Found:
    from dyno.compare.bisect.search import Bisection

    found = Bisection(points, oracle, StepPrinter(points)).find_step()
    print_found(points, found)
    return found


def choose_exit_code(found: Found) -> int:
    from dyno.compare.bisect.search import CONFIDENCE

    if found.first == 0:
        return UNSURE_EXIT if found.end.word == "inconclusive" else NOTHING_EXIT
    is_sure = found.probability >= CONFIDENCE and not found.misfits
    return FOUND_EXIT if is_sure else UNSURE_EXIT


def make_oracle(words: dict[str, Any], points: Sequence[BisectPoint]) -> VerdictOracle:
    from dyno.compare.bisect.oracles import VerdictOracle
    from dyno.runs.run_folder import load_instruments

    experiment = make_experiment(words, points)
    file, asked = open_command(experiment.instrument), RunOptions(budget_s=words["budget"])
    command = load_instruments()[experiment.instrument].command
    play = partial(file.play_quietly, asked=asked)
    return VerdictOracle(experiment, play, words["phase"], command)


def check_phase(words: dict[str, Any], points: Sequence[BisectPoint]) -> None:
    """`UsageError` for a phase that the workload does not play, before anything is played."""
    from dyno.runs.resolve.workloads import find_phases_under

    (chosen,) = make_experiment(words, points).workloads
    names = [phase.name for phase in find_phases_under(chosen, {})]
    if words["phase"] and words["phase"] not in names:
        raise build_unknown_error("phase", words["phase"], names)


def make_experiment(words: dict[str, Any], points: Sequence[BisectPoint]) -> Experiment:
    from dyno.runs import experiment as experiments
    from dyno.runs.experiment.candidates import parse_candidate
    from dyno.runs.experiment.comparison import format_options

    followed = list_followed().items()
    asked = {name: own for name, file in followed if (own := file.read_followed(words))}
    if len(asked) > 1:
        raise UsageError(f"a bisection follows one of {', '.join(asked)}", hint="leave others out")
    instrument, own = next(iter(asked.items()), ("comparison", {}))
    measuring = experiments.Measuring(
        margin_percent=words["margin"],
        blocks=words["blocks"],
        quick=words["quick"],
        controls=dict(words["controls"]),
        limits=dict(words["limits"]),
        accepted=words["accepted"] or {},
        by=words["by"],
    )
    name, marked = choose_workload(words)
    workload = experiments.Workload(name, format_options(dict(words["settings"]) | marked))
    # all points are of one engine, which loads the same dumps in each version
    workloads = prepare_workloads([workload], [parse_candidate(points[0].candidate)])
    made = experiments.Experiment(
        "bisect", (), workloads, measuring, instrument=instrument, own=own
    )
    return replace(made, command=judged_run.quote_command())


class StepPrinter:
    """A line for each step: the point, the answer, and what is left."""

    def __init__(self, points: Sequence[BisectPoint]) -> None:
        self.points, self.number = points, 0

    def __call__(self, step: BisectStep) -> None:
        self.number += 1
        point = self.points[step.place]
        first, last = (self.points[at].name for at in step.left)
        left = f"left: {first}" if first == last else f"left: {first} to {last}"
        told = f"skipped: {step.skipped}"
        if answer := step.answer:
            change = f"{answer.percent:+.2f}".replace("-", "−")
            told = f"{answer.word}  {change} % ± {100 * answer.error:.2g}  {answer.record}"
        screen.print_lines(f"{self.number}  {point.name}  {told}  {left}")


def print_found(points: Sequence[BisectPoint], found: Found) -> None:
    screen.print_gap()
    if found.first == 0:
        screen.print_paragraph(
            f"Nothing to find: {points[-1].name} against {points[0].name}: {found.end.word} "
            f"({found.end.percent:+.2f} %)."
            if found.end.word != "inconclusive"
            else f"Nothing to find yet: {points[-1].name} against {points[0].name} is "
            f"inconclusive ({found.end.percent:+.2f} %); more --blocks or another host may tell."
        )
        return
    sure = f"{100 * found.probability:.0f} %"
    where = points[found.first : found.last + 1]
    if found.misfits:
        names = ", ".join(points[at].name for at in found.misfits)
        told = (
            f"Several steps: {names} lie on neither level. The change passes its half at "
            f"{where[0].name}. Bisect the parts by themselves."
        )
    elif len(where) == 1:
        told = f"The first changed point is {where[0].name} ({sure})."
    else:
        told = (
            f"The first changed point is one of {where[0].name} to {where[-1].name} ({sure}); "
            "those between could not be measured."
        )
    titles = "".join(f" {point.name}: {point.title}." for point in where[:3] if point.title)
    screen.print_line(screen.style_bold(told + titles))


def compare_neighbours(
    oracle: VerdictOracle, pair: Sequence[BisectPoint], budget_s: float | None
) -> None:
    """The found point against the one before it, told whole: size, interval, layers, functions."""
    screen.print_gap()
    made = oracle.make_experiment(pair, None)
    open_command(made.instrument).play_experiment(made, RunOptions(budget_s=budget_s))
