"""Section: where the spread of each primary comes from, and what to spend the next hour on."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dyno import numbers
from dyno.judge.analysis.spread import Sources, find_spread_sources
from dyno.judge.stats.components import BLOCKS, LOADS, RESTARTS, SECONDS, Component
from dyno.record import Metric
from dyno.report import Book, words
from dyno.report.html.markup import HtmlTable, TableCell, TableRow, build_tables, render


def give_advice(spread: Sources) -> str:
    """What the largest component tells to spend on, in one sentence."""
    parts = sorted(spread.found.counted, key=lambda part: -part.in_trial)
    total = sum(part.in_trial for part in parts)
    if total == 0.0:
        return "nothing varied: no spread to spend on"
    first = parts[0]
    told = f"{_NAMES[first.source]} make up {100 * first.in_trial / total:.0f} % of what counts"
    if first.source == RESTARTS and spread.found.seconds is None:
        told = told.replace("restarts", "restarts, with the seconds in them,")
    return f"{told}: {_suggest_remedy(spread, first)}{_describe_doubt(parts)}"


_NAMES = {LOADS: "loads of the data", RESTARTS: "restarts", SECONDS: "seconds within a restart"}


def _suggest_remedy(spread: Sources, first: Component) -> str:
    if first.source == LOADS:
        return "more loads (loads = N, or 0 for a new one in every trial) buy most"
    best = spread.best_seconds
    if first.source == SECONDS:
        length = f", {best:g} s for what a restart costs" if best else ""
        return f"longer measuring buys most{length}"
    shorter = (
        f", and {best:g} s of measuring would do" if best and best < spread.seconds / 1.5 else ""
    )
    return f"more blocks buy most, longer measuring little{shorter}"


def _describe_doubt(parts: Sequence[Component]) -> str:
    """Whether the order of the first two is known at all."""
    if len(parts) < 2 or parts[0].share_low > parts[1].share_high:
        return ""
    return f"; so few blocks cannot tell this from {_NAMES[parts[1].source]}, though"


_SOURCES = {
    BLOCKS: "blocks (time)",
    LOADS: "loads of the data",
    RESTARTS: "restarts",
    SECONDS: "seconds within",
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
        found = [
            (build_tables([_build_grid(each)]), _describe_sources(each))
            for each in list_primary_spreads(book)
        ]
        return render(_TEMPLATE, found=found, aside=ASIDE) if found else None


def list_primary_spreads(book: Book) -> list[Sources]:
    """The spread of each primary over the trials that count."""
    metrics: dict[Metric, None] = {c.metric: None for c in book.verdict.comparisons if c.primary}
    return [
        spread
        for workload in book.run.workloads
        for spread in find_spread_sources(
            book.view,
            book.view.list_counted(workload.name),
            [metric for metric in metrics if metric.workload == workload.name],
        )
    ]


def format_source_rows(spread: Sources) -> list[tuple[str, ...]]:
    """A row for each source, as the heads have it."""
    return [_format_row(part) for part in spread.found.parts]


def _format_row(part: Component) -> tuple[str, ...]:
    shares = f"[{100 * part.share_low:.0f}, {100 * part.share_high:.0f}]"
    low, high = (100 * math.sqrt(variance) for variance in (part.low, part.high))
    return (
        _SOURCES[part.source],
        f"{100 * part.share:.0f} %",
        shares,
        numbers.format_percent(100 * math.sqrt(part.variance)),
        f"[{numbers.format_digits(low, 2)}, {numbers.format_digits(high, 2)}]",
        str(part.df),
    )


def _build_grid(spread: Sources) -> HtmlTable:
    found = [
        TableRow(name, [TableCell(text) for text in cells])
        for name, *cells in format_source_rows(spread)
    ]
    return HtmlTable(words.format_full_metric(spread.metric), HEADS[0], HEADS[1:], found)


def _describe_sources(spread: Sources) -> str:
    told = give_advice(spread)
    return f"{told[:1].upper()}{told[1:]}."


def build_sources_table(book: Book) -> Group:
    """The same for `rich.print`."""
    parts: list[RenderableType] = []
    for spread in list_primary_spreads(book):
        made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for position, head in enumerate(HEADS):
            made.add_column(head, justify="right" if position else "left")
        for row in format_source_rows(spread):
            made.add_row(*map(Text, row))
        title = f"where the spread of {words.format_full_metric(spread.metric)} comes from"
        parts += [Text(title, style="bold"), made, Text(_describe_sources(spread) + "\n")]
    return Group(*parts)


SECTION = _Components()
