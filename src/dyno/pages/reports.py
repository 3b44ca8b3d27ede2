"""A run's own report: the page that lies beside its records, or one made of these, in memory, where
there is none, or where the records are newer. Nothing is written.
"""

from __future__ import annotations

import stat
from pathlib import Path

from dyno.instruments.time import read_book
from dyno.record import Verdict
from dyno.report.html.page import render_result
from dyno.runs.run_folder import LARGEST_BYTES, RunFolder
from dyno.runs.run_summary import RunPlace, is_judged

REPORT = "report.html"


def read_report(place: RunPlace) -> str:
    """The page; `UsageError` where the run's records cannot be read."""
    own = place.instrument
    file = place.path.with_suffix(".html") if own.is_file else place.path / REPORT
    records = [place.path / name for name in own.measured]
    # a verdict that is written again changes no report
    newest = max((it.stat().st_mtime_ns for it in records if it.exists()), default=0)
    if page := _read_newer(file, newest):
        return page
    path = place.path
    return own.render_page(path) if own.has_trials else render_result(own.read_result(path))


def _read_newer(file: Path, than_ns: int) -> str:
    """The text of a file that is newer; empty where it is older, a link, or none."""
    try:
        found = file.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_mtime_ns < than_ns:
            return ""
        return file.read_text("utf-8") if found.st_size <= LARGEST_BYTES else ""
    except (OSError, ValueError):
        return ""


def read_verdict(path: Path) -> Verdict:
    """The verdict of a comparison, judged now where the one there is older than its trials."""
    known = RunFolder(path).read_verdict() if is_judged(path) else None
    return known or read_book(path).verdict
