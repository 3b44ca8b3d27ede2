"""The effects of factors and the spread of cells on a terminal, as `text` shows them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dyno import numbers
from dyno.record import Comparison, Metric, Run, Spread, Verdict
from dyno.report import words
from dyno.report.sections.effects import effects_by_metric, primary_effects
from dyno.report.sections.spread import HEADS, by_level, spread_summary

_INTERACTION = (
    "interaction: the cells at these levels against what the effects of fewer factors would have "
    "made of them; exploratory\n"
)
_RANGE = "range: largest ÷ smallest of the restarts − 1; CoV: standard deviation ÷ mean\n"


def effects_tables(run: Run, verdict: Verdict, styles: dict[str, str]) -> list[RenderableType]:
    """A table of effects for each primary metric, main effects first, and the table of spread."""
    found = primary_effects(verdict.comparisons)
    parts: list[RenderableType] = []
    for metric, rows in effects_by_metric(found):
        parts += _effects(run, metric, rows, styles)
    if any(len(each.levels) > 1 for each in found):
        parts.append(Text(_INTERACTION, style="dim"))
    return [*parts, *_spread(run, verdict.spread)]


def _effects(
    run: Run, metric: Metric, found: Sequence[Comparison], styles: dict[str, str]
) -> list[RenderableType]:
    rows = _columns(
        ["slowdown", f"{100 * (1 - run.design.alpha):g} % interval", "blocks", "MDE80"], "effect"
    )
    rows.add_column("verdict", overflow="fold")
    for c in found:
        said = words.verdict(c, margin=False)
        verdict = Text(said, styles[words.standing(c)]) if c.primary else Text("exploratory", "dim")
        rows.add_row(*map(Text, _cells(c)), verdict)
    margin = f", margin {found[0].margin_percent:g} %"
    return [
        Text(f"effects on {words.full_metric_name(metric)}{margin}", style="bold"),
        rows,
        Text(),
    ]


def _cells(c: Comparison) -> tuple[str, ...]:
    return (
        f"{c.candidate} against {c.base}" if len(c.levels) == 1 else c.candidate,
        f"{numbers.signed(c.slowdown_percent)} %",
        numbers.interval(c.low_percent, c.high_percent),
        words.of_played(c),
        numbers.percent(c.mde80_percent),
    )


def _spread(run: Run, found: Sequence[Spread]) -> list[RenderableType]:
    """Cell by cell, and the mean and the worst of the cells at each level, and of all."""
    if not found:
        return []
    several = len({each.metric for each in found}) > 1
    levels = by_level(run, found) or spread_summary(found)[-1:]
    return [
        Text("spread between restarts", style="bold"),
        _figures(spread_summary(found)[:-1], "cell") if several else _by_cell(found),
        Text(),
        _figures(levels, "cells at"),
        Text(_RANGE, style="dim"),
    ]


def _by_cell(found: Sequence[Spread]) -> Table:
    rows = _columns(["restarts", "mean", "range", "CoV", "95 % interval"], "cell")
    for s in found:
        rows.add_row(
            Text(s.candidate),
            str(s.restarts),
            numbers.quantity(s.value, s.metric.unit),
            numbers.percent(s.range_percent),
            numbers.percent(s.cov_percent),
            f"{numbers.digits(s.low_percent, 2)} to {numbers.percent(s.high_percent)}",
        )
    return rows


def _figures(found: Sequence[tuple[str, list[str]]], first: str) -> Table:
    rows = _columns(HEADS, first)
    for name, figures in found:
        rows.add_row(Text(name), *figures)
    return rows


def _columns(heads: Sequence[str], first: str) -> Table:
    rows = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    rows.add_column(first, overflow="fold")
    for head in heads:
        rows.add_column(head, justify="right", no_wrap=True)
    return rows
