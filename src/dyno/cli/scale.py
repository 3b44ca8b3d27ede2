"""`dyno scale`: what more cores would do, forecast from what an operation needs here."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli import judged_run, options
from dyno.cli.options import DURATION, ENGINE, add_option
from dyno.cli.runs import find_runs_home, refuse_device
from dyno.cli.workload_words import SQL, choose_workload, prepare_experiment
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.cli.judged_run import RunOptions
    from dyno.record import Verdict
    from dyno.record.scaling import ScaleRun
    from dyno.runs.experiment import Experiment
    from dyno.runs.resolve.draft import Prepared


@click.command("scale")
@click.argument("candidates", nargs=-1, required=True, type=ENGINE, metavar="BASE [CANDIDATE]")
@options.add_workload()
@SQL
@options.SET
@options.CONTROL
@add_option(
    "--users LIST",
    "Numbers of users that are played here; the forecast is made from the first.",
    default="1,2,4",
)
@add_option("--restarts N", "Restarts of each candidate.", click.IntRange(2, 100), default=3)
@add_option(
    "--time TIME",
    "How long a number of users is played.",
    DURATION,
    name="time_s",
    default=1.0,
    show_default="1s",
)
@add_option(
    "--users-per-core N",
    "Forecast for so many users a core.  [default: as many as it takes]",
    click.FloatRange(0, min_open=True),
)
@add_option(
    "--machine NAME|FILE",
    "Forecast for another machine's cache lines: a name that Dyno knows, or a TOML file.",
)
@add_option("--seed N", "Draws requests and the band.", int, default=1)
@options.STRICT
@options.VERBOSE
@options.NO_CLIENT_HOSTS
@options.JSON
@options.FORMAT
def command(**words: Any) -> int:
    """Forecast throughput and idle cores for 1 to 192 cores.

    Measures on this host what an operation needs: CPU time, locks, cache lines, syncs. A queueing
    network makes a forecast of it, with a band, the first resource that fills, and what removing it
    would buy. It is checked here: what it says from one user is held against more users.

    Exits with 0, and with --strict 4 where the check is far off.

    \b
    dyno scale postgres@18 -w oltp_point_select
    dyno scale mysql@5.6.14 mysql@8.0.33 -w oltp_read_write --machine xeon-8375c
    """
    asked = judged_run.read_asked(words)
    return asked.choose_exit_code(play_experiment(_make_experiment(words), asked))


def _make_experiment(words: dict[str, Any]) -> Experiment:
    from dyno.runs.experiment import Measuring, check_unlike, compare_candidates

    if len(words["candidates"]) > 2:
        raise UsageError("dyno scale takes a base and one candidate", hint="one more run for more")
    for each in words["candidates"]:
        if "://" in each:
            hint = "name a build: `dyno engines list`"
            raise UsageError(f"{each} runs already, and has users of its own", hint=hint)
    workload, marked = choose_workload(words)
    chosen = dict(words["settings"]) | marked
    measuring = Measuring(seed=words["seed"], controls=dict(words["controls"]))
    command = judged_run.quote_command()
    made = compare_candidates(words["candidates"], workload, chosen, measuring, command)
    check_unlike(made.candidates)
    try:
        users = tuple(int(each) for each in words["users"].split(","))
    except ValueError:
        told = f"--users must be numbers (got {words['users']})"
        raise UsageError(told, hint="--users 1,2,4") from None
    own: dict[str, Any] = {"restarts": words["restarts"], "time": words["time_s"]}
    own |= {"users": users, "machine": words["machine"] or ""}
    own["users_per_core"] = words["users_per_core"] or 0.0
    return prepare_experiment(replace(made, instrument="scale", own=own))


def play_experiment(experiment: Experiment, asked: RunOptions) -> Verdict:
    """Play an experiment, and tell its forecast."""
    from dyno.instruments.scale.play import make_scale_folder, plan_scale, prepare_scale
    from dyno.report.result import MEASURED
    from dyno.runs.resolve.experiment import draft_run

    judged_run.check_formats(asked, "a forecast of scaling", MEASURED)
    judged_run.refuse_repeats(asked, "a forecast of scaling")
    experiment, own = plan_scale(experiment)
    judged_run.sweep()
    draft = draft_run(experiment, judged_run.print_progress)
    run = prepare_scale(draft, own, judged_run.print_progress)
    return _play_and_tell(run, draft, make_scale_folder(find_runs_home(), run), asked)


def _play_and_tell(run: ScaleRun, prepared: Prepared, folder: Path, asked: RunOptions) -> Verdict:
    from dyno.cli.terminal.live import tell_what_stays
    from dyno.instruments.scale.play import play_scale_run

    with tell_what_stays(folder), prepared.clients or nullcontext():
        play_scale_run(run, prepared, folder, judged_run.print_progress)
    return tell_run(folder, asked)


def tell_run(folder: Path, asked: RunOptions) -> Verdict:
    """Make the page of a run, and print its forecast.

    `--json`: as that of a comparison (`report/export.py`), and `forecast`: of each candidate its
    points, the first resource that fills and the checks (`judge/analysis/scaling.py`).
    """
    from dyno.instruments.scale import read_whole_run
    from dyno.judge.analysis.scaling import forecast_scaling
    from dyno.judge.analysis.scaling_verdict import judge_scaling
    from dyno.record.decode import encode
    from dyno.report.export import to_json_result
    from dyno.report.scaling import build_answer, build_scale_result

    run = read_whole_run(folder)
    forecast = forecast_scaling(run)
    verdict = judge_scaling(run, forecast)
    result = build_scale_result(run, forecast, verdict)

    def tell() -> dict[str, Any]:
        return to_json_result(verdict, asked.losses) | {"forecast": encode(forecast.candidates)}

    shown = result.document if asked.verbose else build_answer(run, forecast, verdict)
    return judged_run.tell_result(folder, result, asked, shown, tell)


def resume_run(folder: Path, words: Mapping[str, Any]) -> int:
    """Goes on with a run that was stopped; one that is over is told again."""
    from dyno.instruments.scale.play import reopen_scale_run

    refuse_device(words)
    judged_run.sweep()
    run, prepared = reopen_scale_run(folder, judged_run.print_progress)
    asked = judged_run.read_asked(words)
    return asked.choose_exit_code(_play_and_tell(run, prepared, folder, asked))
