"""`dyno capacity`: the highest rate that holds a limit on latency, and which candidate has more."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli import judged_run, options
from dyno.cli.options import DURATION, ENGINE, PERCENT, add_option
from dyno.cli.runs import find_runs_home, refuse_device
from dyno.cli.terminal import screen
from dyno.cli.workload_words import SQL, choose_workload, prepare_experiment
from dyno.numbers import keep_finite

if TYPE_CHECKING:
    from dyno.cli.judged_run import RunOptions
    from dyno.instruments.capacity.folder import CapacityFolder
    from dyno.instruments.capacity.player import StepTold, Told
    from dyno.record import Verdict
    from dyno.record.capacity import CapacityBlock, CapacityPlan, CapacityVerdict
    from dyno.runs.experiment import Experiment
    from dyno.runs.resolve.draft import Prepared


@click.command("capacity")
@click.argument("candidates", nargs=-1, required=True, type=ENGINE, metavar="CANDIDATE...")
@options.add_workload()
@SQL
@add_option(
    "--slo LIMIT ...",
    'The limit: p50 to p99.99, mean or max of latencies, or errors: "p99<10ms, errors<0.1%". '
    "Of several all must hold.",
    name="slo",
    required=True,
)
@options.SET
@options.CONTROL
@add_option("--blocks N", "Restarts of each candidate.", click.IntRange(3, 100), default=8)
@add_option(
    "--step TIME",
    "How long a rate is played at least.",
    DURATION,
    name="step_s",
    default=3.0,
    show_default="3s",
)
@add_option(
    "--margin PERCENT",
    "The difference in capacity that matters.",
    PERCENT,
    default=5.0,
    show_default="5%",
)
@add_option("--sequential", "Restart one candidate after the other.")
@add_option("--seed N", "Draws arrivals, requests and order.", int)
@options.SERIES
@options.CLIENT_HOSTS
@options.JSON
@options.FORMAT
def command(**words: Any) -> int:
    """Find the highest rate that holds a limit on latency.

    Requests come at a rate (an open loop), and latency counts from when each was due. Each restart
    searches the rate at which the limit breaks; several restarts give an interval. With two or more
    candidates, says which has more capacity than the first.

    Exits with 0 for an answer or not less capacity, 1 for less, 2 if it cannot tell, 3 where the
    driver and not the server is the limit.

    \b
    dyno capacity postgres@13 postgres@18 -w oltp_read_write --slo "p99<10ms"
    dyno capacity sqlite@3.54 -w oltp_point_select --slo "p99.9<1ms, errors<0.1%" --step 10s
    """
    from dyno.report.result import COMPARED, MEASURED

    asked = judged_run.read_asked(words)
    holdings = COMPARED if len(words["candidates"]) > 1 else MEASURED
    judged_run.check_formats(asked, "a capacity", holdings)
    return asked.choose_exit_code(play_experiment(make_experiment(words), asked))


#: The options of `dyno bisect` that ask for capacities.
FOLLOWED = (
    add_option(
        "--slo LIMIT ...",
        "Follow the highest rate that holds this limit (`dyno capacity`) instead of time.",
        name="slo",
    ),
)


def read_followed(words: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a capacity's own words among those of `dyno bisect`; None if none is asked for."""
    return {"slo": ", ".join(words["slo"])} if words["slo"] else None


def play_experiment(experiment: Experiment, asked: RunOptions) -> Verdict:
    """Search the capacities of an experiment, and tell them."""
    path, _ = play_quietly(experiment, asked)
    return tell_run(path, asked)


def play_quietly(experiment: Experiment, asked: RunOptions) -> tuple[Path, CapacityVerdict]:
    """Search the capacities of an experiment, and judge them; return its folder, too."""
    from dyno.instruments.capacity.folder import create_folder
    from dyno.instruments.capacity.run import make_plan, plan_search, prepare_capacity
    from dyno.runs.resolve.experiment import draft_run

    judged_run.refuse_repeats(asked, "a capacity")
    experiment, search, phase = plan_search(experiment)
    judged_run.sweep()
    draft = draft_run(experiment, judged_run.print_progress)
    with draft.clients or nullcontext():
        prepared = prepare_capacity(draft, phase, judged_run.print_progress)
        for side in (each for each in prepared.run.candidates if each.attached):
            screen.print_line(
                f"note: {side.name} runs already: it is loaded until the limit breaks, and others "
                "who use it will wait, too",
                err=True,
            )
        folder = create_folder(make_plan(prepared, search), find_runs_home())
        return folder.path, _play_blocks(prepared, folder)


def make_experiment(words: dict[str, Any]) -> Experiment:
    from dyno.runs.experiment import Measuring, check_unlike, compare_candidates

    measuring = Measuring(
        margin_percent=words["margin"],
        blocks=words["blocks"],
        seed=words["seed"],
        controls=dict(words["controls"]),
        sequential=words["sequential"] or None,
    )
    workload, marked = choose_workload(words)
    chosen = dict(words["settings"]) | marked
    command = judged_run.quote_command()
    made = compare_candidates(words["candidates"], workload, chosen, measuring, command)
    check_unlike(made.candidates)
    own = {"slo": ", ".join(words["slo"]), "step": words["step_s"]}
    hosts = words["client_hosts"]
    made = replace(made, client_hosts=hosts, series=words["series"] or "")
    return prepare_experiment(replace(made, instrument="capacity", own=own))


def _play_blocks(prepared: Prepared, folder: CapacityFolder) -> CapacityVerdict:
    from dyno.cli.terminal.live import tell_what_stays
    from dyno.instruments.capacity.run import play_capacity

    with tell_what_stays(folder.path), watch_search(folder.read_plan()) as tell:
        return play_capacity(prepared, folder, tell)


def tell_run(path: Path, asked: RunOptions) -> Verdict:
    """Make the page of a run, and print its answer.

    `--json`: as that of a comparison (`report/export.py`), in the words and with the numbers of a
    capacity: `overall` and `word` are `less` or `more`, a row's `change_percent` is that of the
    rate. `candidates` and `hosts` stand beside (`record/capacity.py`, `CapacityVerdict`).
    """
    from dyno.instruments.capacity.folder import CapacityFolder
    from dyno.judge.analysis.capacity import judge_capacity, measure_change
    from dyno.judge.analysis.effect_words import describe_word
    from dyno.record.decode import encode
    from dyno.report.capacity import build_answer, build_capacity_result
    from dyno.report.export import to_json_result

    folder = CapacityFolder(path)
    plan, blocks = folder.read_plan(), folder.read_blocks()
    verdict = judge_capacity(plan, blocks)

    def tell() -> dict[str, Any]:
        told = to_json_result(verdict, asked.losses)
        told |= {"limit_words": plan.limit_words, "unit": plan.unit[:-1]}
        told |= {name: encode(getattr(verdict, name)) for name in ("candidates", "hosts")}
        told["client"] = verdict.sentence if verdict.overall == "invalid" else ""
        told["doubts"] = [it.sentence for it in verdict.list_findings("doubtful")]
        told["overall"] = describe_word(plan.metric, verdict.overall).removesuffix(" capacity")
        for one, row in zip(told["comparisons"], verdict.comparisons, strict=True):
            one["word"] = one["word"].removesuffix(" capacity")
            names = ("change_percent", "low_percent", "high_percent")
            one |= zip(names, map(keep_finite, measure_change(row)), strict=True)
        return told

    result = build_capacity_result(plan, blocks, verdict)
    shown = result.document if asked.verbose else build_answer(plan, verdict)
    return judged_run.tell_result(path, result, asked, shown, tell)


def resume_run(folder: Path, words: Mapping[str, Any]) -> int:
    """Goes on with a run that was stopped."""
    from dyno.instruments.capacity.folder import CapacityFolder
    from dyno.instruments.capacity.run import reopen_capacity

    refuse_device(words)
    made, asked = CapacityFolder(folder), judged_run.read_asked(words)
    judged_run.sweep()
    prepared = reopen_capacity(made, judged_run.print_progress)
    with prepared.clients or nullcontext():
        _play_blocks(prepared, made)
    asked = judged_run.read_asked(words)
    return asked.choose_exit_code(tell_run(folder, asked))


@contextmanager
def watch_search(plan: CapacityPlan) -> Iterator[Callable[[Told], None]]:
    """Where stdout is a terminal, one line that changes with each step; else a line per block."""
    from dyno.instruments.capacity.player import BlockTold

    if not sys.stdout.isatty():

        def tell(told: Told) -> None:
            if isinstance(told, BlockTold):
                screen.print_line(format_block(plan, told.block))
                sys.stdout.flush()

        yield tell
        return
    from rich.live import Live
    from rich.text import Text

    with Live(Text("starting …"), console=screen.make_console(), transient=True) as live:

        def show(told: Told) -> None:
            if not isinstance(told, BlockTold):
                live.update(Text(format_step(plan, told), no_wrap=True, overflow="ellipsis"))

        yield show


def format_step(plan: CapacityPlan, told: StepTold) -> str:
    """`block 2/8  A  step 4  12,400/s: p99 8.1 ms, holds  between 12,400 and 13,000`."""
    from dyno.report.capacity import describe_step, format_rate

    low, high = (format_rate(it) if it else "?" for it in (told.low, told.high))
    return (
        f"block {told.block + 1}/{plan.blocks}  {told.candidate}  step {told.number}  "
        f"{describe_step(plan, told.step)}  between {low} and {high}"
    )


def format_block(plan: CapacityPlan, block: CapacityBlock) -> str:
    """`block 2/8  A 12,400/s  B 13,050/s  11 steps`."""
    from dyno.judge.analysis.capacity import find_restart_rate
    from dyno.report.capacity import format_rate

    found = {each.candidate: find_restart_rate(each) for each in block.restarts}
    rates = []
    for side in plan.run.candidates:
        rate = found[side.name]
        rates.append(f"{side.name} {f'{format_rate(rate)}/s' if rate else 'none'}")
    steps = sum(len(each.steps) for each in block.restarts)
    return f"block {block.block + 1}/{plan.blocks}  {'  '.join(rates)}  {steps} steps"
