"""`dyno disk`: what a disk does under a database, one path by itself or several compared."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dyno.cli import judged_run, options
from dyno.cli.options import DURATION, PERCENT, RUN, SIZE
from dyno.cli.runs import find_run, find_runs_home
from dyno.cli.terminal import screen
from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.disk.run import DiskPlan
    from dyno.record.disk import DiskVerdict

#: That of a path whose numbers an audit calls invalid.
INVALID_EXIT = judged_run.EXITS["invalid"]


@click.command("disk")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--full", is_flag=True, help="Play every job of the matrix `full`.")
@click.option(
    "--matrix",
    metavar="NAME|FILE",
    help="Play the jobs of another matrix: one that comes along, or a TOML file.",
)
@click.option(
    "--only", multiple=True, metavar="JOB", help="Play this job, or `read*`; may be repeated."
)
@click.option(
    "--size",
    "size_bytes",
    type=SIZE,
    default=256 << 20,
    show_default="256M",
    help="The size of Dyno's own file in a folder.",
)
@click.option(
    "--time",
    "play_s",
    type=DURATION,
    default=1.0,
    show_default="1s",
    help="How long each job is played in a block.",
)
@click.option(
    "--blocks",
    type=click.IntRange(1),
    metavar="N",
    help="Play N blocks.  [default: 5; of several paths 6, and up to 10 until it is decided]",
)
@click.option(
    "--margin",
    type=PERCENT,
    default=5.0,
    show_default="5%",
    metavar="PERCENT",
    help="The slowdown that matters.",
)
@options.FACTOR
@click.option(
    "--write-device",
    "writable",
    multiple=True,
    metavar="DEVICE",
    help="Write to this device too, which DESTROYS ITS DATA; it must be one of the paths, "
    "unmounted, without partitions, and in nobody's use.",
)
@click.option(
    "--run",
    "of_run",
    type=RUN,
    metavar="RUN",
    help="Predict what the commits of this comparison (`dyno show runs`) could be here, beside "
    "what they were.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Draws blocks and orders.")
@options.STRICT
@options.HOST_GROUP
@options.JSON
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
    from dyno.cli.terminal.disks import derive_disk_page, print_disks
    from dyno.disk.fio import find_fio
    from dyno.disk.run import make_disk_folder, plan_disk_run, play_disks
    from dyno.disk.verdict import judge_disks

    plan = _make_plan(words)
    run = plan_disk_run(plan)
    fio = find_fio(judged_run.print_progress)
    folder = make_disk_folder(find_runs_home(), run)
    run = play_disks(run, fio, folder, judged_run.print_progress, plan)
    verdict = judge_disks(run)
    page = derive_disk_page(folder, run, verdict)
    if words["json_file"]:
        write_verdict(verdict, words["json_file"])
    print_disks(run, verdict)
    screen.print_line(f"report: {page}")
    return choose_exit_code(verdict, words["strict"])


def _make_plan(words: dict[str, Any]) -> DiskPlan:
    from dyno.disk.commits import read_commits
    from dyno.disk.matrix import read_matrix
    from dyno.disk.run import DiskPlan

    if words["full"] and words["matrix"]:
        raise UsageError("--full and --matrix cannot be combined")
    if words["margin"] <= 0:
        raise UsageError(f"--margin must be above 0 (got {words['margin']:g})")
    matrix = read_matrix("full" if words["full"] else words["matrix"] or "default")
    names = ("paths", "only", "size_bytes", "play_s", "blocks", "seed", "factors", "writable")
    return DiskPlan(
        **{name: words[name] for name in names},
        matrix=matrix,
        margin_percent=words["margin"],
        command=judged_run.quote_command(),
        commits=read_commits(find_run(words["of_run"])) if words["of_run"] else (),
    )


def choose_exit_code(verdict: DiskVerdict, strict: bool) -> int:
    """The exit code of a verdict, as `compare` has it; of a single path 0, or 3."""
    if strict and verdict.list_findings("doubtful") and verdict.overall != "invalid":
        return judged_run.DOUBTFUL_EXIT
    if verdict.overall is None:
        return INVALID_EXIT if verdict.list_findings("invalid") else 0
    return judged_run.EXITS[verdict.overall]


def write_verdict(verdict: DiskVerdict, file: Path) -> None:
    """`--json`: the verdict (`record/disk.py`, `DiskVerdict`)."""
    from dyno.report.html.page import write_user_file

    write_user_file(file, json.dumps(asdict(verdict), indent=1) + "\n")
