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
from dyno.report import Book, Section, words
from dyno.report.document import Block, Document, Prose, RowTable, TableCell, TableRow, make_columns

#: What the numbers are.
RANGE = (
    "Range: largest ÷ smallest number of the restarts − 1. CoV: standard deviation ÷ mean, with "
    "its 95 % interval for normal errors. Between restarts of different blocks a drift of the host "
    "counts too; the verdict's own intervals rest on differences within blocks."
)
BY_EYE = " Levels are compared by eye: no interval is given of how their spreads differ."
BY_LEVEL = "By level, over all cells at it"
HEADS = ("mean range", "worst range", "mean CoV", "worst CoV")
_COLUMNS = ("restarts", "mean", "range", "CoV", "95 % interval")


def build(book: Book) -> Document:
    """A table of all candidates and primary metrics, and one of their means and worst."""
    tables = build_tables(book.run, book.verdict.spread)
    is_by_level = bool(summarize_levels(book.run, book.verdict.spread))
    return [*tables, Prose(RANGE + BY_EYE * is_by_level, "quiet")] if tables else []


def build_tables(run: Run, found: Sequence[Spread]) -> list[Block]:
    """The same without words."""
    if not found:
        return []
    several = len({s.metric for s in found}) > 1
    columns = make_columns("cell" if run.factors else "candidate", *HEADS)
    levels = RowTable(make_columns("level", *HEADS), summarize_levels(run, found), BY_LEVEL)
    sums = summarize_spread(found) if several else []
    if run.factors and not (several or levels.rows):
        sums = summarize_spread(found)[-1:]
    means = RowTable(columns, sums, "Over the primary metrics")
    title = "By metric" if several else words.format_full_metric(found[0].metric)
    rows = [_build_row(s, several) for s in found]
    return [levels, means, RowTable(make_columns(columns[0].title, *_COLUMNS), rows, title)]


def summarize_levels(run: Run, spreads: Sequence[Spread]) -> list[list[str]]:
    """Mean and worst range and CoV over the cells at each factor's levels, then over all; empty
    without factors, and where one at a time leaves the levels unequally many cells.
    """
    if not spreads or not run.factors or run.design.crossing != "factorial":
        return []
    at = {side.name: side.levels for side in run.candidates}
    groups = [
        (level if f.kind == f.name else f"{f.name}={level}", own)
        for f in run.factors
        for level in f.levels
        if (own := [s for s in spreads if at[s.candidate][f.name] == level])
    ]
    return [[name, *_format_figures(own)] for name, own in [*groups, ("all cells", list(spreads))]]


def summarize_spread(spreads: Sequence[Spread]) -> list[list[str]]:
    """Each candidate's mean and worst range and CoV over its metrics, then those of all."""
    if not spreads:  # noise took the blocks
        return []
    names = list(dict.fromkeys(each.candidate for each in spreads))
    groups = [(name, [s for s in spreads if s.candidate == name]) for name in names]
    return [[name, *_format_figures(own)] for name, own in [*groups, ("all", list(spreads))]]


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
    return (TableCell(spread.candidate, detail), *cells)


SECTION = Section("Spread between restarts", 28, build)
