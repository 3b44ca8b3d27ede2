"""Section: where the spread of each primary comes from, and what to spend the next hour on."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dyno import numbers
from dyno.judge.analysis.spread import Sources, find_spread_sources
from dyno.judge.stats.components import BLOCKS, LOADS, RESTARTS, SECONDS, Component
from dyno.record import Metric
from dyno.report import Book, Section, words
from dyno.report.document import Block, Document, Prose, RowTable, make_columns


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
HEADS = ("source", "share", "95 % interval", "sd", "95 % interval", "df")
ASIDE = (
    "Share: of the variance of a trial's number. What blocks add is the same for all candidates, "
    "so it cancels in the ratios that the verdict rests on; all the rest counts. Few degrees of "
    "freedom (df) leave wide intervals."
)


def build(book: Book) -> Document:
    found: list[Block] = []
    for spread in list_primary_spreads(book):
        told, rows = give_advice(spread), list(map(_format_row, spread.found.parts))
        title = words.format_full_metric(spread.metric)
        found += [
            RowTable(make_columns(*HEADS), rows, title),
            Prose(f"{told[:1].upper()}{told[1:]}."),
        ]
    return [*found, Prose(ASIDE, "quiet")] if found else []


def list_primary_spreads(book: Book) -> list[Sources]:
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


def _format_row(part: Component) -> tuple[str, ...]:
    ends = (100 * part.share_low, 100 * part.share_high)
    low, high = (100 * math.sqrt(variance) for variance in (part.low, part.high))
    return (
        _SOURCES[part.source],
        f"{100 * part.share:.0f} %",
        numbers.format_interval(*ends, "{:.0f}".format),
        numbers.format_percent(100 * math.sqrt(part.variance)),
        numbers.format_interval(low, high, lambda sd: numbers.format_digits(sd, 2)),
        str(part.df),
    )


SECTION = Section("Where the spread comes from", 32, build)
