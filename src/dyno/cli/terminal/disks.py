"""A run of disks on the terminal, and its page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dyno.cli.terminal import screen
from dyno.report import disks

if TYPE_CHECKING:
    from dyno.record.disk import DiskRun, DiskVerdict


def derive_disk_page(folder: Path, run: DiskRun, verdict: DiskVerdict) -> Path:
    """Makes the page, in the run's folder."""
    from dyno.report.html.page import replace_file

    return replace_file(folder / "report.html", disks.render_disks(run, verdict))


def print_disks(run: DiskRun, verdict: DiskVerdict) -> None:
    """All of a run; the verdict once more in the end."""
    screen.draw_document(disks.build_disks(run, verdict))
    screen.print_paragraph(verdict.sentence)
