"""What formats tell of a run: its primaries, under names that stay from run to run, as times.

Consumers know one direction, smaller is better. So a rate becomes the time of an operation; what is
small already (latency, size, cost) stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dyno.judge.analysis.effect_words import format_metric_name
from dyno.numbers import keep_finite
from dyno.record import Comparison, Metric
from dyno.report import Book

#: A rate's unit of time in seconds, by its name.
RATES = {"rate_per_s": 1.0, "rate_per_min": 60.0}
#: How units of durations are in seconds.
SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True)
class FormatSide:
    """A candidate in a primary metric; bounds are the paired interval's, put onto the base.

    `value`, `low` and `high` are in `unit`, smaller is better. The base itself has no interval, and
    neither has what one block compared.
    `restarts` holds a value for each that counts.
    """

    candidate: str
    value: float
    low: float | None
    high: float | None
    unit: str
    restarts: tuple[float, ...]


@dataclass(frozen=True)
class FormatRow:
    """A primary comparison, and its two sides as smaller-is-better values."""

    name: str
    comparison: Comparison
    base: FormatSide
    candidate: FormatSide


def list_primaries(book: Book) -> list[Comparison]:
    return [row for row in book.verdict.comparisons if row.primary]


def list_rows(book: Book) -> Iterator[FormatRow]:
    for comparison in list_primaries(book):
        if comparison.blocks:
            yield _make_row(book, comparison)


def name_metric(metric: Metric) -> str:
    """`insert/l.i0/insert`, and `…/latency p99` for what is no rate."""
    parts = [metric.workload, metric.phase, metric.transaction]
    if metric.name not in RATES:
        parts.append(format_metric_name(metric.name))
    return "/".join(part for part in parts if part)


def _make_row(book: Book, comparison: Comparison) -> FormatRow:
    metric = comparison.metric
    base, unit = _convert(metric, comparison.base_value)
    ratios = (comparison.low_percent, comparison.high_percent)
    low, high = (keep_finite(base * (1 + percent / 100)) for percent in ratios)
    value, _ = _convert(metric, comparison.candidate_value)
    base_side = FormatSide(
        comparison.base, base, None, None, unit, _list_restarts(book, comparison.base, metric)
    )
    restarts = _list_restarts(book, comparison.candidate, metric)
    side = FormatSide(comparison.candidate, value, low, high, unit, restarts)
    return FormatRow(name_metric(metric), comparison, base_side, side)


def _convert(metric: Metric, value: float) -> tuple[float, str]:
    """The value as smaller is better: a rate is the time of an operation in ns."""
    if metric.name in RATES:
        return 1e9 * RATES[metric.name] / value, "ns"
    return value, metric.unit


def _list_restarts(book: Book, candidate: str, metric: Metric) -> tuple[float, ...]:
    trials = (t for t in book.view.list_counted(metric.workload) if t.candidate == candidate)
    numbers = (book.view.compute_numbers(trial).get(metric) for trial in trials)
    return tuple(_convert(metric, value)[0] for value in numbers if value)
