"""Section: where the spread of each primary comes from, and what that says to spend on."""

from __future__ import annotations

import math

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dyno.record import Metric
from dyno.report import Book, facts, numbers, words
from dyno.report.advice import advice
from dyno.report.grid import Cell, Row, tables
from dyno.report.grid import Table as Grid
from dyno.report.markup import render
from dyno.spread import Sources, spreads
from dyno.stats.components import BLOCKS, LOADS, RESTARTS, WINDOWS, Component

_SOURCES = {
    BLOCKS: "blocks (time)",
    LOADS: "loads of the data",
    RESTARTS: "restarts",
    WINDOWS: "seconds within",
}
_TEMPLATE = """
{% for table, advice in found %}
{{ table }}
<p>{{ advice }}</p>
{% endfor %}
<p class="aside">{{ aside }}</p>
"""
HEADS = ("source", "share", "95 % interval", "sd", "95 % interval", "df")
ASIDE = (
    "Share: of the variance of a trial's number. What blocks add is the same for all candidates, "
    "so it cancels in the ratios that the verdict rests on; all the rest counts. Few degrees of "
    "freedom (df) leave wide intervals."
)


class _Components:
    title = "Where the spread comes from"
    place = 32

    def render(self, book: Book) -> str | None:
        """A table and a sentence for each primary."""
        found = [(tables([_grid(each)]), _sentence(each)) for each in of_primaries(book)]
        return render(_TEMPLATE, found=found, aside=ASIDE) if found else None


def of_primaries(book: Book) -> list[Sources]:
    """The spread of each primary over the trials that count."""
    metrics: dict[Metric, None] = {c.metric: None for c in book.verdict.comparisons if c.primary}
    return [
        spread
        for workload in book.run.workloads
        for spread in spreads(
            facts.counted(book, workload.name),
            [metric for metric in metrics if metric.workload == workload.name],
        )
    ]


def rows(spread: Sources) -> list[tuple[str, ...]]:
    """A row for each source, as the heads have it."""
    return [_row(part) for part in spread.found.parts]


def _row(part: Component) -> tuple[str, ...]:
    shares = f"[{100 * part.share_low:.0f}, {100 * part.share_high:.0f}]"
    low, high = (100 * math.sqrt(variance) for variance in (part.low, part.high))
    return (
        _SOURCES[part.source],
        f"{100 * part.share:.0f} %",
        shares,
        numbers.percent(100 * math.sqrt(part.variance)),
        f"[{numbers.digits(low, 2)}, {numbers.digits(high, 2)}]",
        str(part.df),
    )


def _grid(spread: Sources) -> Grid:
    found = [Row(name, [Cell(text) for text in cells]) for name, *cells in rows(spread)]
    return Grid(words.full(spread.metric), HEADS[0], HEADS[1:], found)


def _sentence(spread: Sources) -> str:
    told = advice(spread)
    return f"{told[:1].upper()}{told[1:]}."


def table(book: Book) -> Group:
    """The same for `rich.print`."""
    parts: list[RenderableType] = []
    for spread in of_primaries(book):
        made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for position, head in enumerate(HEADS):
            made.add_column(head, justify="right" if position else "left")
        for row in rows(spread):
            made.add_row(*map(Text, row))
        title = f"where the spread of {words.full(spread.metric)} comes from"
        parts += [Text(title, style="bold"), made, Text(_sentence(spread) + "\n")]
    return Group(*parts)


SECTION = _Components()
