"""Section: instructions per operation, where a run counted them, by layer."""

from __future__ import annotations

from dyno.judge.analysis.instructions import format_change, format_share
from dyno.record import InstructionChange
from dyno.report import Book
from dyno.report.html.markup import HtmlTable, TableCell, TableRow, build_tables, render
from dyno.report.text.counts import BLIND

_TEMPLATE = """{% for anchor, tables in sides %}
<div id="{{ anchor }}">{{ tables }}</div>{% endfor %}
<p class="aside">{{ blind }} A share of the time's change is what as many more instructions take at
the base's pace, were all of the time the engine's: at most that much.</p>
"""


class _Instructions:
    title = "Instructions per operation"
    place = 64

    def render(self, book: Book) -> str | None:
        """A table for each workload and candidate that was counted; None where none was."""
        base = book.run.design.base
        sides = []
        for cause in book.verdict.causes:
            tables = [_build_table(base, cause.candidate, each) for each in cause.instructions]
            if tables:
                anchor = f"instructions-{book.view.candidates.index(cause.candidate)}"
                sides.append((anchor, build_tables(tables)))
        return render(_TEMPLATE, sides=sides, blind=BLIND) if sides else None


def _build_table(base: str, candidate: str, counted: InstructionChange) -> HtmlTable:
    rows = [
        TableRow(base, _make_cells(f"{counted.base_value:,.0f}", "", "")),
        TableRow(
            candidate,
            _make_cells(
                f"{counted.candidate_value:,.0f}",
                f"{counted.candidate_value - counted.base_value:+,.0f}",
                format_change(counted),
            ),
        ),
    ]
    if share := format_share(counted):
        rows.append(TableRow("share of the time's change, at most", _make_cells("", "", share)))
    for layer, change in counted.layers.items():
        percent = f"{100.0 * change / counted.base_value:+.1f} %"
        rows.append(TableRow(layer, _make_cells("", f"{change:+,.0f}", percent)))
    title = f"{counted.workload}, {counted.phase}: {base} → {candidate}"
    columns = (f"per {counted.unit}", "change", "change, of all")
    return HtmlTable(title, "side, then layer", columns, rows)


def _make_cells(*texts: str) -> list[TableCell]:
    return [TableCell(text) for text in texts]


SECTION = _Instructions()
