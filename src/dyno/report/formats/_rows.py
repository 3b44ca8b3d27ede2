"""What formats tell of a run: its primaries, under names that stay from run to run, as times.

Consumers know one direction, smaller is better. So a rate becomes the time of an operation; what is
small already (latency, size, cost) stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from dyno.judge.analysis.effect_words import format_metric_name, name_metric
from dyno.numbers import keep_finite
from dyno.record import Comparison, Metric
from dyno.report.result import Result, find_period_s


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


def list_rows(result: Result) -> Iterator[FormatRow]:
    for comparison in result.primaries:
        if comparison.blocks and isfinite(comparison.base_value + comparison.candidate_value):
            yield _make_row(result, comparison)


def _make_row(result: Result, comparison: Comparison) -> FormatRow:
    metric = comparison.metric
    base, unit = _convert(metric, comparison.base_value)
    ratios = (comparison.low_percent, comparison.high_percent)
    low, high = (keep_finite(base * (1 + percent / 100)) for percent in ratios)
    value, _ = _convert(metric, comparison.candidate_value)
    base_side = FormatSide(
        comparison.base, base, None, None, unit, _list_restarts(result, comparison.base, metric)
    )
    restarts = _list_restarts(result, comparison.candidate, metric)
    side = FormatSide(comparison.candidate, value, low, high, unit, restarts)
    return FormatRow(name_metric(metric), comparison, base_side, side)


def _convert(metric: Metric, value: float) -> tuple[float, str]:
    """The value as smaller is better: a rate is the time of an operation in ns."""
    if (period_s := find_period_s(metric)) is not None:
        return 1e9 * period_s / value, "ns"
    return value, metric.unit or format_metric_name(metric.name)


def _list_restarts(result: Result, candidate: str, metric: Metric) -> tuple[float, ...]:
    own = result.values.get((candidate, metric), ())
    return tuple(_convert(metric, value)[0] for value in own if value)
