"""Section: how far the restarts of each candidate lie apart, candidate by candidate.

The *best-to-worst range* of a metric is the largest ÷ the smallest number between restarts, − 1.
A candidate's *mean range* is the mean over its primary metrics, its *worst* the largest of them,
as the DBT-3 stability article has them over the queries of each cell (Ø. Grøvlen, 2017); with a
single primary metric the two are one number, and stand once. The last line has both over all
candidates. A range grows with the number of restarts, which stands beside: the article has ten. Of
a full factorial the cells at each level are as many, and stand together: do restarts lie further
apart at one of them?
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from dyno import numbers
from dyno.record import Run, Spread
from dyno.report import Book, words
from dyno.report.html.markup import HtmlTable, TableCell, TableRow, build_tables, render

_TEMPLATE = """
{{ tables }}
<p class="aside">Range: largest ÷ smallest number of the restarts − 1. CoV: standard deviation ÷
mean, with its 95&#8239;% interval for normal errors. Between restarts of different blocks a drift
of the host counts too; the verdict's own intervals rest on differences within blocks.
{% if levels %}Levels are compared by eye: no interval is given of how their spreads differ.
{% endif %}</p>
"""
HEADS = ("mean range", "worst range", "mean CoV", "worst CoV")
_COLUMNS = ("restarts", "mean", "range", "CoV", "95 % interval")


class _Spread:
    title = "Spread between restarts"
    place = 28

    def render(self, book: Book) -> str | None:
        """A table of all candidates and primary metrics, and one of their means and worst."""
        found = book.verdict.spread
        if not found:
            return None
        several = len({s.metric for s in found}) > 1
        title = "By metric" if several else words.format_full_metric(found[0].metric)
        each = HtmlTable(
            title, _describe_candidates(book), _COLUMNS, [_build_row(s, several) for s in found]
        )
        levels = summarize_levels(book.run, found)
        shown = [_build_table("By level, over all cells at it", "level", levels)] if levels else []
        shown += (
            [
                _build_table(
                    "Over the primary metrics", _describe_candidates(book), summarize_spread(found)
                )
            ]
            if several
            else []
        )
        return render(_TEMPLATE, tables=build_tables([*shown, each]), levels=levels)


def _describe_candidates(book: Book) -> str:
    return "cell" if book.run.factors else "candidate"


def _build_table(title: str, head: str, found: Sequence[tuple[str, list[str]]]) -> HtmlTable:
    rows = [TableRow(name, [TableCell(text) for text in cells]) for name, cells in found]
    return HtmlTable(title, head, HEADS, rows)


def summarize_levels(run: Run, spreads: Sequence[Spread]) -> list[tuple[str, list[str]]]:
    """Mean and worst range and CoV over the cells at each factor's levels, then over all; empty
    without factors, and where one at a time leaves the levels unequally many cells.
    """
    if not run.factors or run.design.crossing != "factorial":
        return []
    at = {side.name: side.levels for side in run.candidates}
    groups = [
        (level if f.kind == f.name else f"{f.name}={level}", own)
        for f in run.factors
        for level in f.levels
        if (own := [s for s in spreads if at[s.candidate][f.name] == level])
    ]
    return [(name, _format_figures(own)) for name, own in [*groups, ("all cells", list(spreads))]]


def summarize_spread(spreads: Sequence[Spread]) -> list[tuple[str, list[str]]]:
    """Each candidate's mean and worst range and CoV over its metrics, then those of all."""
    names = list(dict.fromkeys(each.candidate for each in spreads))
    groups = [(name, [s for s in spreads if s.candidate == name]) for name in names]
    return [(name, _format_figures(own)) for name, own in [*groups, ("all", list(spreads))]]


def _format_figures(found: Sequence[Spread]) -> list[str]:
    columns = [s.range_percent for s in found], [s.cov_percent for s in found]
    figures = (of(column) for column in columns for of in (fmean, max))
    return [numbers.format_percent(each) for each in figures]


def _build_row(spread: Spread, several: bool) -> TableRow:
    cells = (
        str(spread.restarts),
        numbers.format_quantity(spread.value, spread.metric.unit),
        numbers.format_percent(spread.range_percent),
        numbers.format_percent(spread.cov_percent),
        f"{numbers.format_digits(spread.low_percent, 2)} to "
        f"{numbers.format_percent(spread.high_percent)}",
    )
    detail = words.format_full_metric(spread.metric) if several else ""
    return TableRow(spread.candidate, [TableCell(text) for text in cells], detail)


SECTION = _Spread()
