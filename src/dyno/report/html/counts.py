"""The page of a count: the verdict, the layers and functions that changed, how far it varies."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from dyno.record.count import CallChange, Count, CountComparison, FunctionChange
from dyno.report.html.forest_table import build_forest
from dyno.report.html.markup import HtmlTable, TableCell, TableRow, build_tables, render
from dyno.report.html.page import PageHead, PagePart, build_page
from dyno.report.names import describe_candidate
from dyno.report.text.counts import (
    BLIND,
    build_count_headline,
    describe_builds,
    describe_cause,
    describe_comparison,
    describe_others,
    describe_rest,
    describe_spread,
    describe_unnamed,
    format_change,
    format_spread,
    name_count_rows,
)

#: Rows of a table of functions.
SHOWN = 40

_PARAGRAPHS = "{% for each in sentences %}<p>{{ each }}</p>\n{% endfor %}"


def render_count(count: Count, rows: Sequence[CountComparison]) -> str:
    """The page as text."""
    front = PageHead(
        title=f"{count.name}: {', '.join(row.word for row in rows)}",
        eyebrow="How many instructions does an operation take?",
        heading=f"{build_count_headline(count, rows)}.",
        question="",
        aside=f"{count.name}, {count.created_utc}",
        candidates=[side.name for side in count.candidates],
        leads=True,
        descriptions=[describe_candidate(side) for side in count.candidates],
    )
    return build_page(
        front, [*_make_verdict(count, rows), *_make_changes(rows), _make_basis(count)]
    )


def _make_verdict(count: Count, rows: Sequence[CountComparison]) -> list[PagePart]:
    told = [f"{describe_comparison(count, row)} {describe_cause(row)}" for row in rows]
    table = HtmlTable(
        "Instructions per operation",
        "candidate",
        ("mean", "restarts apart, %", "others beside"),
        [
            TableRow(
                each.candidate,
                (
                    TableCell(f"{each.instructions:,.1f}"),
                    TableCell(format_spread(each)),
                    TableCell(f"{sum(each.beside) / len(each.beside):,.0f}"),
                ),
            )
            for each in count.counts
        ],
    )
    forest = build_forest(count.candidates, name_count_rows(count, rows), "restarts")
    body = forest + _render_paragraphs([*told, BLIND]) + build_tables([table])
    return [PagePart("Verdict", "verdict", body)]


def _make_changes(rows: Sequence[CountComparison]) -> list[PagePart]:
    parts = []
    for at, row in enumerate(rows, 1):
        columns = (row.base, row.candidate, "change", "change, % of all")
        layers = [_make_row(each.layer, "", each, row) for each in row.layers]
        functions = [
            _make_row(each.name, f"{each.layer} · {each.object}", each, row)
            for each in row.changes[:SHOWN]
        ]
        tables = [
            HtmlTable("By layer", "layer", columns, layers),
            HtmlTable("Functions that changed", "function", columns, functions),
        ]
        if row.tree:
            calls = [_make_row("\u2003" * it.depth + it.name, "", it, row) for it in row.tree]
            tables.append(HtmlTable("Calls, with all that they call", "call", columns, calls))
        title = f"What changed: {row.base} → {row.candidate}"
        rest = [it for it in (describe_rest("functions", len(row.changes), SHOWN),) if it]
        body = build_tables(tables) + _render_paragraphs(rest)
        parts.append(PagePart(title, f"changes-{at}", body))
    return parts


def _make_row(
    name: str, detail: str, each: FunctionChange | CallChange, row: CountComparison
) -> TableRow:
    share = 100.0 * each.change / row.base_value
    values = (*format_change(each), f"{share:+.2f}")
    mark = "low" if each.change > 0 else "high" if each.change < 0 else ""
    marks = ("", "", mark, mark)
    return TableRow(name, [TableCell(*pair) for pair in zip(values, marks, strict=True)], detail)


def _make_basis(count: Count) -> PagePart:
    options = " ".join(f"{name}={value}" for name, value in count.options.items())
    told = [
        f"{count.valgrind}'s callgrind, {count.workload}, phase {count.phase}, one user: the "
        f"count of {count.long_operations:,} operations less that of {count.short_operations:,}, "
        f"from the same data and seed ({count.seed}). Options: {options or 'none'}.",
        *describe_spread(count.counts),
        *filter(None, (describe_others(count, each) for each in count.counts)),
        *filter(None, (*map(describe_unnamed, count.counts), describe_builds(count))),
        f"For KCachegrind: {', '.join(file for each in count.counts for file in each.files)}.",
        f"To repeat: {count.command}",
    ]
    return PagePart("How it was counted", "basis", _render_paragraphs(told))


def _render_paragraphs(sentences: Sequence[str]) -> Markup:
    return render(_PARAGRAPHS, sentences=sentences)
