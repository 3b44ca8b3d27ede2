"""`dyno disk`: what a disk does under a database, one path by itself or several compared."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli import judged_run, options
from dyno.cli.options import DURATION, PERCENT, RUN, SIZE, add_option
from dyno.cli.runs import find_run, find_runs_home
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.cli.judged_run import RunOptions
    from dyno.instruments.disk.fio import Fio
    from dyno.instruments.disk.run import DiskPlan
    from dyno.record import Verdict
    from dyno.record.disk import DiskRun

#: What a job needs to be measured, in s.
SHORTEST_S = 0.05


@click.command("disk")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@add_option("--full", "Play every job of the matrix `full`.")
@add_option(
    "--matrix NAME|FILE", "Play the jobs of another matrix: one that comes along, or a TOML file."
)
@add_option("--only JOB ...", "Play this job, or `read*`; may be repeated.")
@add_option(
    "--size",
    "The size of Dyno's own file in a folder.",
    SIZE,
    name="size_bytes",
    default=256 << 20,
    show_default="256M",
)
@add_option(
    "--time",
    "How long each job is played in a block.",
    DURATION,
    name="play_s",
    default=1.0,
    show_default="1s",
)
@add_option(
    "--blocks N",
    "Play N blocks.  [default: 5; of several paths 6, and up to 10 until it is decided]",
    click.IntRange(1),
)
@add_option(
    "--margin PERCENT", "The slowdown that matters.", PERCENT, default=5.0, show_default="5%"
)
@options.FACTOR
@add_option(
    "--aa", "Play one PATH against itself: how often is a verdict wrong here?", name="is_aa"
)
@add_option(
    "--write-device DEVICE ...",
    "Write to this device too, which DESTROYS ITS DATA; it must be one of the paths, "
    "unmounted, without partitions, and in nobody's use.",
    name="writable",
)
@add_option(
    "--run RUN",
    "Predict what the commits of this comparison (`dyno show runs`) could be here, beside "
    "what they were.",
    RUN,
    name="of_run",
)
@add_option("--seed", "Draws blocks and orders.", int, default=1)
@options.SERIES
@options.STRICT
@options.JSON
@options.FORMAT
def command(**words: Any) -> int:
    """Measure what a disk does under a database: is a later PATH slower than the first?

    PATH is a folder, a file or a block device. In a folder Dyno reads and writes a file of its own
    that has no name and goes however Dyno ends; anything else is only read. fio plays the jobs, and
    audits say what makes a number wrong: holes, the page cache, a flush that nobody waits for.

    \b
    dyno disk /var/lib/mysql
    dyno disk /mnt/old /mnt/new --only 'log*'
    dyno disk . --factor sync=none,dsync --only 'log 16K*'
    """
    from msgspec.structs import replace

    from dyno.instruments.disk.fio import find_fio
    from dyno.instruments.disk.run import make_disk_folder, plan_disk_run
    from dyno.report.result import COMPARED, MEASURED

    judged_run.sweep()
    run = plan_disk_run(_make_plan(words))
    holdings = COMPARED if len(run.sides) > 1 else MEASURED
    judged_run.check_formats(judged_run.read_asked(words), "a run of disks", holdings)
    fio = find_fio(judged_run.print_progress)
    run = replace(run, fio=fio.version)
    folder = make_disk_folder(find_runs_home(), run)
    return play_and_tell(run, fio, folder, words)


def play_and_tell(run: DiskRun, fio: Fio, folder: Path, words: Mapping[str, Any]) -> int:
    """Plays what is left, prints the verdict, and answers the exit code; what stops it says where
    the run stays.
    """
    from dyno.cli.terminal.live import tell_what_stays
    from dyno.instruments.disk.run import play_disks

    with tell_what_stays(folder):
        run = play_disks(run, fio, folder, judged_run.print_progress)
    asked = judged_run.read_asked(words)
    return asked.choose_exit_code(tell_disks(folder, run, asked))


def tell_disks(folder: Path, run: DiskRun, asked: RunOptions) -> Verdict:
    """Make the page of a run of disks, and print it.

    `--json`: as that of a comparison (`report/export.py`), a row's `phase` is its job; `overall`
    is null for a single path. As `jobs` stands what each job did on each side (`report/disks.py`,
    `JobSummary`; latencies in ns), and `findings` and `error_rates` as the verdict has them.
    """
    from dyno.instruments.disk.verdict import judge_disks
    from dyno.record.decode import encode
    from dyno.report.disks import build_disk_result, summarize_jobs
    from dyno.report.export import to_json_result

    verdict = judge_disks(run)

    def tell() -> dict[str, Any]:
        told = to_json_result(verdict, asked.losses)
        told["jobs"] = [encode(each) for each in summarize_jobs(run)]
        told |= {name: encode(getattr(verdict, name)) for name in ("findings", "error_rates")}
        if verdict.overall == "measured":
            told["overall"] = None
        for one, row in zip(told["comparisons"], verdict.comparisons, strict=True):
            one |= {"job": row.metric.phase, "p_value": row.p_value}
            one |= {"base_rate": row.base_value, "candidate_rate": row.candidate_value}
            one |= {"slowdown_percent": row.slowdown_percent}
        return told

    result = build_disk_result(run, verdict)
    return judged_run.tell_result(folder, result, asked, result.document, tell)


def resume_run(folder: Path, words: Mapping[str, Any]) -> int:
    """Goes on with a run that was stopped; one that is over is told again."""
    from dyno.instruments.disk.fio import find_fio
    from dyno.instruments.disk.run import reopen_disk_run
    from dyno.instruments.disk.verdict import is_over
    from dyno.record.disk import DISK_RECORD, DiskRun
    from dyno.runs.run_folder import read_json

    judged_run.sweep()
    run = read_json(DiskRun, folder / DISK_RECORD)
    if is_over(run) and run.is_traced:
        asked = judged_run.read_asked(words)
        return asked.choose_exit_code(tell_disks(folder, run, asked))
    fio = find_fio(judged_run.print_progress)
    run = reopen_disk_run(folder, fio, words["writable"])
    return play_and_tell(run, fio, folder, words)


def _make_plan(words: dict[str, Any]) -> DiskPlan:
    from dyno.instruments.disk.commits import read_commits
    from dyno.instruments.disk.matrix import read_matrix
    from dyno.instruments.disk.run import DiskPlan

    if words["full"] and words["matrix"]:
        raise UsageError("--full and --matrix cannot be combined")
    if words["play_s"] < SHORTEST_S:
        raise UsageError(f"--time is {SHORTEST_S:g} at least (got {words['play_s']:g})")
    if words["margin"] <= 0:
        raise UsageError(f"--margin must be above 0 (got {words['margin']:g})")
    matrix = read_matrix("full" if words["full"] else words["matrix"] or "default")
    names = ("paths", "only", "size_bytes", "play_s", "blocks", "seed", "factors", "writable")
    return DiskPlan(
        **{name: words[name] for name in names},
        matrix=matrix,
        margin_percent=words["margin"],
        is_aa=words["is_aa"],
        series=words["series"] or "",
        command=judged_run.quote_command(),
        commits=read_commits(find_run(words["of_run"])) if words["of_run"] else (),
    )


def tell_run(folder: Path, asked: RunOptions) -> Verdict:
    """Make its page again, and print it."""
    from dyno.record.disk import DISK_RECORD, DiskRun
    from dyno.runs.run_folder import read_json

    return tell_disks(folder, read_json(DiskRun, folder / DISK_RECORD), asked)
