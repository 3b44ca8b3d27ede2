"""The effects of factors and the spread of cells on a terminal, as `text` shows them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dyno import numbers
from dyno.record import Comparison, Metric, Run, Spread, Verdict
from dyno.report import words
from dyno.report.sections.effects import group_effects, list_primary_effects
from dyno.report.sections.spread import HEADS, summarize_levels, summarize_spread

_INTERACTION = (
    "interaction: the cells at these levels against what the effects of fewer factors would have "
    "made of them; exploratory\n"
)
_RANGE = "range: largest ÷ smallest of the restarts − 1; CoV: standard deviation ÷ mean\n"


def build_effects_tables(
    run: Run, verdict: Verdict, styles: dict[str, str]
) -> list[RenderableType]:
    """A table of effects for each primary metric, main effects first, and the table of spread."""
    found = list_primary_effects(verdict.comparisons)
    parts: list[RenderableType] = []
    for metric, rows in group_effects(found):
        parts += _build_effects(run, metric, rows, styles)
    if any(len(each.levels) > 1 for each in found):
        parts.append(Text(_INTERACTION, style="dim"))
    return [*parts, *_build_spread(run, verdict.spread)]


def _build_effects(
    run: Run, metric: Metric, found: Sequence[Comparison], styles: dict[str, str]
) -> list[RenderableType]:
    rows = _make_table(
        ["slowdown", f"{100 * (1 - run.design.alpha):g} % interval", "blocks", "MDE80"], "effect"
    )
    rows.add_column("verdict", overflow="fold")
    for c in found:
        said = words.format_verdict(c, margin=False)
        verdict = (
            Text(said, styles[words.choose_standing(c)])
            if c.primary
            else Text("exploratory", "dim")
        )
        rows.add_row(*map(Text, _format_cells(c)), verdict)
    margin = f", margin {found[0].margin_percent:g} %"
    return [
        Text(f"effects on {words.format_full_metric(metric)}{margin}", style="bold"),
        rows,
        Text(),
    ]


def _format_cells(c: Comparison) -> tuple[str, ...]:
    return (
        f"{c.candidate} against {c.base}" if len(c.levels) == 1 else c.candidate,
        f"{numbers.format_signed_percent(c.slowdown_percent)} %",
        numbers.format_interval(c.low_percent, c.high_percent),
        words.format_played(c),
        numbers.format_percent(c.mde80_percent),
    )


def _build_spread(run: Run, found: Sequence[Spread]) -> list[RenderableType]:
    """Cell by cell, and the mean and the worst of the cells at each level, and of all."""
    if not found:
        return []
    several = len({each.metric for each in found}) > 1
    levels = summarize_levels(run, found) or summarize_spread(found)[-1:]
    return [
        Text("spread between restarts", style="bold"),
        _build_figures_table(summarize_spread(found)[:-1], "cell")
        if several
        else _build_cells_table(found),
        Text(),
        _build_figures_table(levels, "cells at"),
        Text(_RANGE, style="dim"),
    ]


def _build_cells_table(found: Sequence[Spread]) -> Table:
    rows = _make_table(["restarts", "mean", "range", "CoV", "95 % interval"], "cell")
    for s in found:
        rows.add_row(
            Text(s.candidate),
            str(s.restarts),
            numbers.format_quantity(s.value, s.metric.unit),
            numbers.format_percent(s.range_percent),
            numbers.format_percent(s.cov_percent),
            f"{numbers.format_digits(s.low_percent, 2)} to "
            f"{numbers.format_percent(s.high_percent)}",
        )
    return rows


def _build_figures_table(found: Sequence[tuple[str, list[str]]], first: str) -> Table:
    rows = _make_table(HEADS, first)
    for name, figures in found:
        rows.add_row(Text(name), *figures)
    return rows


def _make_table(heads: Sequence[str], first: str) -> Table:
    rows = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    rows.add_column(first, overflow="fold")
    for head in heads:
        rows.add_column(head, justify="right", no_wrap=True)
    return rows
