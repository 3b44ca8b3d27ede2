"""A count on the terminal: the verdict, layers and functions that changed, how far it varies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dyno.cli.terminal import screen
from dyno.report.text.counts import describe_rest, format_change

if TYPE_CHECKING:
    from dyno.record.count import Count, CountComparison

#: Rows of the tables of functions and of calls on a terminal; the page has more.
FUNCTIONS_SHOWN, CALLS_SHOWN = 10, 30


def derive_count_page(folder: Path, count: Count, rows: Sequence[CountComparison]) -> Path:
    """Makes the page of a count, in its folder."""
    from dyno.report.html.counts import render_count
    from dyno.report.html.page import replace_file

    return replace_file(folder / "report.html", render_count(count, rows))


def print_count(count: Count, rows: Sequence[CountComparison], verbose: bool = False) -> None:
    """A count's first screen, or with `verbose` all of it."""
    if verbose:
        _print_all(count, rows)
        return
    from rich.console import Group

    from dyno.report.text import counts as text
    from dyno.report.text.plotted_table import Paragraph, PlottedTable

    columns = screen.choose_screen_columns()
    named = text.name_count_rows(count, rows)
    screen.print_gap()
    headline = f"{text.build_count_headline(count, rows)}."
    table = PlottedTable(count.candidates, named, "restarts", columns)
    causes = []
    for row in rows:
        whose = f" on {row.candidate}" if len(rows) > 1 else ""
        causes.append(f"by layer{whose}: {text.list_layers(row)}")
        causes.append(f"by function{whose}: {text.list_changes(row)}")
    basis = [*text.describe_spread(count.counts), text.describe_builds(count), text.BLIND]
    parts = [Paragraph(headline, "bold", indent=0), "", *table.build_lines(), ""]
    parts += [*map(Paragraph, causes), "", Paragraph(" ".join(filter(None, basis)))]
    screen.draw(Group(*parts), columns)
    screen.print_gap()


def print_count_places(folder: Path, page: Path, count: Count) -> None:
    """Where to go on: the page, the rest of the words, and the command that counts again."""
    screen.print_line(f"report  {page}")
    screen.print_line(f"more    dyno show {folder.name}")
    screen.print_line(f"again   {count.command}")


def _print_all(count: Count, rows: Sequence[CountComparison]) -> None:
    from dyno.report.text import counts as text

    for row in rows:
        screen.print_gap()
        screen.print_paragraph(f"{text.describe_comparison(count, row)} {text.describe_cause(row)}")
        _print_tables(row)
    screen.print_gap()
    for sentence in text.describe_spread(count.counts):
        screen.print_line(sentence)
    for each in count.counts:
        for sentence in (text.describe_others(count, each), text.describe_unnamed(each)):
            if sentence:
                screen.print_paragraph(sentence)
    if differ := text.describe_builds(count):
        screen.print_paragraph(differ)
    screen.print_paragraph(text.BLIND)


def print_functions(count: Count) -> None:
    """Each candidate's functions by layer, the heaviest first."""
    for each in count.counts:
        screen.print_gap()
        screen.print_line(screen.style_bold(f"{each.candidate}: {each.instructions:,.1f}"))
        rows: list[tuple[str, str]] = []
        for layer, instructions in sorted(each.layers.items(), key=lambda it: -it[1]):
            rows.append((layer, f"{instructions:,.1f}"))
            own = [it for it in each.functions if it.layer == layer][:FUNCTIONS_SHOWN]
            rows += [(f"  {it.name}", f"{it.instructions:,.1f}") for it in own]
        screen.print_table(("layer and function", f"per {count.unit}"), rows, right=(1,))


def _print_tables(row: CountComparison) -> None:
    sides = (row.base, row.candidate, "change")
    layers = [(each.layer, *format_change(each)) for each in row.layers]
    screen.print_table(("layer", *sides), layers, right=(1, 2, 3))
    functions = [
        (each.name, each.layer, *format_change(each)) for each in row.changes[:FUNCTIONS_SHOWN]
    ]
    if functions:
        screen.print_gap()
        screen.print_table(("function", "layer", *sides), functions, right=(2, 3, 4))
    if rest := describe_rest("functions", len(row.changes), FUNCTIONS_SHOWN):
        screen.print_line(rest)
    if row.tree:
        screen.print_gap()
        calls = [(f"{'  ' * it.depth}{it.name}", *format_change(it)) for it in row.tree]
        screen.print_table(
            ("call, with all it calls", *sides), calls[:CALLS_SHOWN], right=(1, 2, 3)
        )
        if rest := describe_rest("calls", len(calls), CALLS_SHOWN):
            screen.print_line(rest)
