"""A run of disks on the terminal: jobs, comparisons, where the time goes, and the audits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dyno import numbers
from dyno.cli.terminal import screen

if TYPE_CHECKING:
    from dyno.record.disk import DiskRun, DiskVerdict


def derive_disk_page(folder: Path, run: DiskRun, verdict: DiskVerdict) -> Path:
    """Makes the page, in the run's folder."""
    from dyno.report.html.disks import render_disks
    from dyno.report.html.page import replace_file

    return replace_file(folder / "report.html", render_disks(run, verdict))


def print_disks(run: DiskRun, verdict: DiskVerdict) -> None:
    """All of a run."""
    from dyno.report.text import disks as text

    screen.print_gap()
    for side in run.sides:
        screen.print_paragraph(text.describe_device(side))
    screen.print_gap()
    _print_jobs(run)
    if verdict.comparisons:
        screen.print_gap()
        _print_comparisons(verdict)
    screen.print_gap()
    for finding in verdict.findings:
        if finding.soundness in ("invalid", "doubtful"):
            screen.print_paragraph(f"{finding.soundness} ({finding.audit}): {finding.sentence}")
    unknown = verdict.list_findings("not checked")
    if unknown:
        screen.print_paragraph(f"not checked: {', '.join(sorted({it.audit for it in unknown}))}")
    if forecasts := text.forecast_commits(run):
        screen.print_gap()
        screen.print_table(text.COMMIT_HEADS, map(text.make_commit_cells, forecasts), (2, 3, 4))
    for sentence in text.describe_commits(run):
        screen.print_paragraph(sentence)
    for sentence in text.describe_published(run):
        screen.print_paragraph(f"published: {sentence}")
    for note in run.notes:
        screen.print_paragraph(note)
    screen.print_paragraph(text.describe_basis(run))
    if rates := text.describe_error_rates(verdict):
        screen.print_paragraph(rates)
    screen.print_paragraph(verdict.sentence)


def _print_jobs(run: DiskRun) -> None:
    from dyno.report.text import disks as text

    several = len(run.sides) > 1
    summaries = text.summarize_jobs(run)
    rows = [
        (
            each.job,
            *((each.side,) if several else ()),
            text.format_rate(each),
            numbers.format_quantity(each.p50, "ns"),
            numbers.format_quantity(each.p99, "ns"),
            numbers.format_quantity(each.sync_p50, "ns") if each.sync_p50 else "",
            numbers.format_quantity(each.sync_p99, "ns") if each.sync_p99 else "",
            text.format_bar(each.time),
        )
        for each in summaries
    ]
    heads = ("job", *(("path",) if several else ()), "rate", "p50", "p99")
    heads = (*heads, "sync p50", "sync p99")
    first = 2 if several else 1
    screen.print_table((*heads, "time"), rows, tuple(range(first, first + 5)))
    if rows:
        screen.print_paragraph(text.describe_parts([each.time for each in summaries]))


def _print_comparisons(verdict: DiskVerdict) -> None:
    rows = [
        (
            row.candidate,
            row.job,
            numbers.format_signed_percent(row.slowdown_percent),
            numbers.format_interval(row.low_percent, row.high_percent),
            row.verdict,
        )
        for row in verdict.comparisons
    ]
    screen.print_table(("path", "job", "time, %", "interval", "verdict"), rows, (2, 3))
