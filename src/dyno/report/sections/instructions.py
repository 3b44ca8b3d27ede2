"""Section: instructions per operation, where a run counted them, by layer."""

from __future__ import annotations

from dataclasses import replace

from dyno.judge.analysis.instructions import format_change, format_share
from dyno.record import InstructionChange
from dyno.report import Book, Section
from dyno.report.counts import BLIND
from dyno.report.document import Document, Prose, RowTable, make_columns

SHARES = (
    " A share of the time's change is what as many more instructions take at the base's pace, were "
    "all of the time the engine's: at most that much."
)


def build(book: Book) -> Document:
    """A table for each workload and candidate that was counted; none where none was."""
    base = book.run.design.base
    tables = []
    for cause in book.verdict.causes:
        anchor = f"instructions-{book.view.candidates.index(cause.candidate)}"
        for at, each in enumerate(cause.instructions):
            table = _build_table(base, cause.candidate, each)
            tables.append(replace(table, anchor="" if at else anchor))
    return [*tables, Prose(BLIND + SHARES, "quiet")] if tables else []


def _build_table(base: str, candidate: str, counted: InstructionChange) -> RowTable:
    change = counted.candidate_value - counted.base_value
    own = (f"{counted.candidate_value:,.0f}", f"{change:+,.0f}", format_change(counted))
    rows = [(base, f"{counted.base_value:,.0f}", "", ""), (candidate, *own)]
    if share := format_share(counted):
        rows.append(("share of the time's change, at most", "", "", share))
    for layer, change in counted.layers.items():
        percent = f"{100.0 * change / counted.base_value:+.1f} %"
        rows.append((layer, "", f"{change:+,.0f}", percent))
    title = f"{counted.workload}, {counted.phase}: {base} → {candidate}"
    heads = (f"per {counted.unit}", "change", "change, of all")
    return RowTable(make_columns("side, then layer", *heads), rows, title)


SECTION = Section("Instructions per operation", 64, build)
