"""`dyno compare`: blocks of restarts of two or more candidates, and a verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from dyno.cli import judged_run, options
from dyno.cli.exits import print_error
from dyno.cli.options import ENGINE, PERCENT, WORKLOAD, HeadedCommand, add_option
from dyno.cli.runs import find_runs_home, refuse_device
from dyno.cli.terminal import screen
from dyno.cli.workload_words import SQL, add_replay_options, choose_scripts, rewrite_candidates
from dyno.errors import HostError, TrialFailed, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dyno.cli.judged_run import RunOptions
    from dyno.record import Verdict
    from dyno.runs.experiment import Experiment
    from dyno.runs.run_folder import RunFolder

#: Those that `--count` counts, under valgrind, which is some 50 times slower.
COUNT_EVENTS = 10_000


@click.command("compare", cls=HeadedCommand)
@click.argument("candidates", nargs=-1, required=True, type=ENGINE, metavar="BASE CANDIDATE...")
@add_option(
    "-w, --workload W ...",
    "What is played: a workload's name, a Lua script, or a script file of pgbench; may be "
    "repeated.",
    WORKLOAD,
    name="workloads",
)
@SQL
@add_replay_options
@options.TIME
@options.THREADS
@options.SET
@options.CONTROL
@options.LIMIT
@add_option(
    "--margin PERCENT",
    "The slowdown that matters.  [default: the workload's own, else 2%]",
    PERCENT,
)
@add_option(
    "--precision PERCENT", "Continue until every interval's half-width is at most this.", PERCENT
)
@options.BY
@options.ACCEPT
@options.CHECK
@options.CLIENT_HOSTS
@options.BLOCKS
@options.BUDGET
@options.QUICK
@options.SERIES
@options.STRICT
@options.VERBOSE
@options.JSON
@options.FORMAT
@options.INCONCLUSIVE
@options.FACTOR
@add_option(
    "--like NAME",
    "Start the other candidates with the settings of this one, a server that runs already "
    "(its name, or `attached`); Dyno lists which.",
)
@add_option("--aa", "The candidates are the same on purpose: an A/A comparison.")
@add_option(
    "--interleaved/--sequential",
    "Play restarts interleaved or not at all; or one after the other.  [default: interleaved "
    "where that is sound and memory holds all engines at once]",
    name="interleaved",
    default=None,
)
@add_option(
    "--profile",
    "Sample where the engines' CPU time goes, where the kernel permits it; stacks: play a "
    "trial of each candidate for the callers of functions, too, after the last block.",
    click.Choice(["off", "flat", "stacks"]),
    default="flat",
)
@add_option(
    "--count",
    "Before the blocks, count each candidate's instructions per operation of one user "
    "(`dyno count`); the report says how much of the time's change they explain.",
    name="is_counted",
)
@add_option(
    "--crash",
    "Kill the candidates in turn, N times by --blocks, and compare what they keep, the time to "
    "recover and the commits (`dyno crash` has further options).",
    name="is_crash",
)
@add_option(
    judged_run.FOR_GIT,
    "Exit as `git bisect run` reads it: 0 good, 1 slower, 125 not told or not built, 128 and "
    "above to stop.",
    name="for_git",
    heading=options.TOLD,
)
@add_option("--seed N", "The seed of order and requests; the same one repeats a run.", int)
def command(**words: Any) -> int:
    """Compare engine builds: is CANDIDATE slower than BASE?

    A candidate is ENGINE@BUILD?KEY=VALUE&KEY=VALUE, with NAME= before it if you like. Each key is
    a build flag, an engine setting or a control; `dyno show ENGINE` says which. The first
    candidate is the base.

    \b
    dyno compare null@200us null@210us --workload oltp_point_select
    dyno compare null@200us slow=null@210us?aslr=off -w insert --budget 10m
    dyno compare sqlite --factor journal_mode=wal,delete --factor aslr=on,off -w insert
    """
    if words["is_crash"]:
        from dyno.cli import crash

        return crash.compare_crashes(words)
    asked = judged_run.read_asked(words)
    experiment = read_experiment(**words)
    try:
        verdict = judged_run.play_and_judge(experiment, asked)
    except (HostError, TrialFailed) as failed:
        if not words["for_git"]:
            raise
        print_error(failed)
        return judged_run.SKIP_EXIT
    return asked.choose_exit_code(verdict)


def read_experiment(**words: Any) -> Experiment:
    from dyno.runs import experiment as experiments
    from dyno.runs.experiment.candidates import cross_factors

    command, crossed = judged_run.quote_command(), cross_factors(words["factors"], "factorial")
    if len(words["candidates"]) < 2 and not crossed.levels:
        raise UsageError(
            "a comparison needs two candidates",
            hint="name the base, then candidates, or use --factor; `dyno play` plays one build",
        )
    measuring = experiments.Measuring(
        margin_percent=words["margin"],
        blocks=words["blocks"],
        quick=words["quick"],
        seed=words["seed"],
        controls=dict(words["controls"]),
        limits=dict(words["limits"]),
        aa=words["aa"],
        sequential=None if words["interleaved"] is None else not words["interleaved"],
        precision_percent=words["precision"],
        cpu_profile=words["profile"] != "off",
        cpu_stacks=words["profile"] == "stacks",
        count_events=COUNT_EVENTS if words["is_counted"] else 0,
        accepted=words["accepted"] or {},
        check=words["check"],
        by=words["by"],
    )
    words["candidates"] = rewrite_candidates(words, words["candidates"])
    (first, *others), chosen = choose_scripts(words)
    made = experiments.compare_candidates(words["candidates"], first, chosen, measuring, command)
    if not words["aa"]:
        experiments.check_unlike(made.candidates, "--aa says that this is meant: an A/A comparison")
    more = tuple(experiments.Workload(name, chosen) for name in others)
    return replace(
        made,
        workloads=made.workloads + more,
        crossed=crossed,
        like=words["like"] or "",
        client_hosts=words["client_hosts"],
        series=words["series"] or "",
    )


def play_experiment(experiment: Experiment, asked: RunOptions) -> Verdict:
    """Announce, play, judge and tell an experiment."""
    return judged_run.play_and_judge(experiment, asked)


def play_quietly(experiment: Experiment, asked: RunOptions) -> tuple[Path, Verdict]:
    """Play and judge an experiment without announcement and table; return its folder, too."""
    from dyno.compare.pilot.prepare import prepare
    from dyno.instruments.time.run import play_run
    from dyno.runs.forecast.estimate import forecast_run
    from dyno.runs.resolve.experiment import draft_run
    from dyno.runs.run_folder import create_run

    judged_run.sweep()
    prepared = prepare(draft_run(experiment, lambda _: None), lambda _: None, asked.budget_s)
    folder = create_run(prepared.run, find_runs_home())
    with judged_run.show_progress(folder, forecast_run(prepared)) as watch:
        play_run(prepared, folder, watch)
    return folder.path, judged_run.derive_files(folder).verdict


def show_run(folder: Path) -> None:
    """Print what was asked, how much was played, and the verdict so far."""
    from dyno.judge.analysis.judge import judge
    from dyno.report import Book
    from dyno.report.rehearsal import build_rehearsal
    from dyno.report.sections import cause, components, verdict
    from dyno.runs.run_folder import RunFolder

    made = RunFolder(folder)
    run, trials = made.read_run(), made.read_trials()
    screen.print_line(run.question or run.command)
    screen.print_gap()
    rows = [(c.name, c.engine, c.build.get("version", ""), c.spec) for c in run.candidates]
    screen.print_table(("candidate", "engine", "version", "as written"), rows)
    screen.print_gap()
    screen.print_line(f"{len(trials)} trials on {', '.join(w.name for w in run.workloads)}")
    screen.print_gap()
    book = Book(made.path, run, trials, judge(run, trials, counts=made.read_counts()))
    if book.verdict.rehearsal:
        screen.print_paragraph(book.verdict.sentence)
        screen.draw_document(build_rehearsal(book))
        return
    layers = cause.build_first_layers(book)
    whole = [*verdict.build_whole(book, everything=True), *layers, *components.build(book)]
    screen.draw_document(whole, is_apart=False)


def report_run(path: Path, profile_format: str | None, words: Mapping[str, Any]) -> int:
    """Make its derived files again; with a format that has no file, print that alone."""
    from dyno.runs.run_folder import RunFolder

    asked, folder = judged_run.read_asked_of_report(words), RunFolder(path)
    verdict = judged_run.tell_verdict(folder, asked)
    if profile_format:
        _write_profiles(folder, verdict, profile_format)
    return asked.choose_exit_code(verdict) if asked.strict else 0


def _write_profiles(folder: RunFolder, verdict: Verdict, profile_format: str) -> None:
    from dyno.report import Book
    from dyno.report.profiles import find_encoder, write_profiles

    run, trials, profiles = folder.read_run(), folder.read_trials(), folder.read_profiles()
    book = Book(folder.path, run, trials, verdict, profiles)
    for path in write_profiles(book, find_encoder(profile_format)):
        screen.print_line(f"profile: {path}")


def resume_run(path: Path, words: Mapping[str, Any]) -> int:
    """Play what is missing, and judge; of a share tell how to gather it."""
    from dyno.instruments.time import run as player
    from dyno.runs.run_folder import COUNTS, RunFolder

    refuse_device(words)
    made = RunFolder(path)
    record = made.read_run()
    if record.gathered:
        raise UsageError(f"{made.path.name} was gathered", hint="resume the shares on their hosts")
    judged_run.sweep()
    if (made.path / COUNTS).is_dir() and len(made.read_counts()) < len(record.workloads):
        told = "its counts of instructions did not end, and are not made again"
        screen.print_line(f"note: {told}", err=True)
    asked = judged_run.read_asked(words)
    with judged_run.show_progress(made, None, asked.verbose) as watch:
        player.resume_run(made, watch, judged_run.print_progress)
    if record.share:
        from dyno.cli.shard import tell_share

        tell_share(made)
        return 0
    return asked.choose_exit_code(judged_run.tell_verdict(made, asked))
