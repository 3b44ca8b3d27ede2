"""A run's own report: the page that lies beside its records, or one made of these, in memory, where
there is none, or where the records are newer. Nothing is written.
"""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

from dyno.errors import UsageError
from dyno.instruments.capacity.folder import CapacityFolder
from dyno.instruments.disk.verdict import judge_disks
from dyno.judge.analysis.judge import judge
from dyno.judge.capacity import judge_capacity
from dyno.judge.counts import compare_counts
from dyno.record import RunKind, Verdict
from dyno.record.count import Count
from dyno.record.disk import DiskRun
from dyno.record.server_profile import ServerProfile
from dyno.report import Book
from dyno.report.capacity import render_capacity
from dyno.report.counts import render_count
from dyno.report.disks import render_disks
from dyno.report.html.page import build_run_page
from dyno.report.server_profile import build_profile_page
from dyno.runs.run_folder import (
    CAPACITY_RECORD,
    COUNT_RECORD,
    DISK_RECORD,
    LARGEST_BYTES,
    RunFolder,
    read_json,
)
from dyno.runs.run_summary import RunPlace, is_judged

REPORT = "report.html"


def read_report(place: RunPlace) -> str:
    """The page; `UsageError` where the run's records cannot be read."""
    is_file = place.kind == "profile"
    file = place.path.with_suffix(".html") if is_file else place.path / REPORT
    return _read_newer(file, _find_newest_record_ns(place)) or MAKERS[place.kind](place.path)


def _find_newest_record_ns(place: RunPlace) -> int:
    """When something was last measured; a verdict that is written again changes no report."""
    places = [place.path]
    if place.kind != "profile":
        names = ("run.json", "trials", "blocks", COUNT_RECORD, DISK_RECORD, CAPACITY_RECORD)
        places = [place.path / name for name in names]
    return max((it.stat().st_mtime_ns for it in places if it.exists()), default=0)


def _read_newer(file: Path, than_ns: int) -> str:
    """The text of a file that is newer; empty where it is older, a link, or none."""
    try:
        found = file.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_mtime_ns < than_ns:
            return ""
        return file.read_text("utf-8") if found.st_size <= LARGEST_BYTES else ""
    except (OSError, ValueError):
        return ""


def read_book(path: Path) -> Book:
    """A comparison with its verdict: the one that lies there, or judged now where trials are newer.
    `UsageError` where it cannot be read.
    """
    folder = RunFolder(path)
    run, trials = folder.read_run(), folder.read_trials()
    verdict = judge(run, trials, counts=folder.read_counts())
    return Book(path, run, trials, verdict, folder.read_profiles())


def read_verdict(path: Path) -> Verdict:
    """The verdict of a comparison, judged now where the one there is older than its trials."""
    known = RunFolder(path).read_verdict() if is_judged(path) else None
    return known or read_book(path).verdict


def _make_run_page(path: Path) -> str:
    return build_run_page(read_book(path))


def _make_count_page(path: Path) -> str:
    if not (path / COUNT_RECORD).exists():
        raise UsageError(f"{path.name} is still counted", hint="wait for its end")
    count = read_json(Count, path / COUNT_RECORD)
    return render_count(count, compare_counts(count))


def _make_capacity_page(path: Path) -> str:
    folder = CapacityFolder(path)
    plan, blocks = folder.read_plan(), folder.read_blocks()
    if not blocks:
        raise UsageError(f"{path.name} has no block yet", hint="wait for its first one")
    return render_capacity(plan, blocks, judge_capacity(plan, blocks))


def _make_disk_page(path: Path) -> str:
    run = read_json(DiskRun, path / DISK_RECORD)
    return render_disks(run, judge_disks(run))


def _make_profile_page(path: Path) -> str:
    return build_profile_page(read_json(ServerProfile, path), None)


MAKERS: dict[RunKind, Callable[[Path], str]] = {
    "comparison": _make_run_page,
    "count": _make_count_page,
    "capacity": _make_capacity_page,
    "disk": _make_disk_page,
    "profile": _make_profile_page,
}
