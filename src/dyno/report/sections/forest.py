"""Section: the forest plot, every interval against the margin it was judged by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from dyno.record import Comparison
from dyno.report import Book, facts, words
from dyno.report.html.charts import Chart, colour, escaped, figure
from dyno.report.html.markup import render

_TEMPLATE = """
{{ primaries }}
{% if exploratory %}
<details><summary>{{ count | plural("exploratory comparison") }}</summary>
{{ exploratory }}</details>
{% endif %}
"""
_CAPTION = (
    "Dot: the slowdown of the candidate; line: its interval. Right of zero is slower. The band is "
    "the margin: an interval that ends inside or left of it is not slower. "
    "A triangle at the edge lies beyond ±100 %."
)
_ROW_PX, _LINE_PX = 18, 15
#: One wild exploratory metric must not squeeze all others into a line.
_EDGE_PERCENT = 100.0


class _Forest:
    title = "Slowdown of each metric"
    place = 20

    def render(self, book: Book) -> str | None:
        """One figure for the primaries and a folded one for the rest."""
        shown = [
            c
            for c in book.verdict.comparisons
            if math.isfinite(c.slowdown_percent) and len(c.levels) < 2
        ]
        shown.sort(key=lambda c: facts.metric_order(book, c.metric))
        primaries = [c for c in shown if c.primary]
        rest = [c for c in shown if not c.primary]
        if not shown:
            return None
        return render(
            _TEMPLATE,
            primaries=figure([_chart(book, primaries, "primaries")], _CAPTION) if primaries else "",
            exploratory=figure(_by_workload(book, rest), _CAPTION) if rest else "",
            count=len(rest),
        )


def _by_workload(book: Book, comparisons: Sequence[Comparison]) -> list[Chart]:
    """One chart per phase, since exploratory comparisons come by the hundred."""
    grouped = groupby(comparisons, key=lambda c: (c.metric.workload, c.metric.phase))
    return [_chart(book, list(group), " / ".join(key)) for key, group in grouped]


def _chart(book: Book, comparisons: Sequence[Comparison], label: str) -> Chart:
    metrics = list(dict.fromkeys(c.metric for c in comparisons))
    several = len({m.workload for m in metrics}) > 1
    margins = {c.metric: c.margin_percent for c in comparisons}
    rows = {m: len(metrics) - 1 - at for at, m in enumerate(metrics)}
    names = facts.compared(book)
    traces = [
        _dots([c for c in comparisons if c.candidate == name], rows, names)
        for name in names[1:]
        if any(c.candidate == name for c in comparisons)
    ]
    layout = {
        "yaxis": {
            "tickvals": list(rows.values()),
            "ticktext": [escaped(_name(m, several)) for m in metrics],
            "range": [-0.6, len(metrics) - 0.4],
            "showgrid": False,
        },
        "xaxis": {"title": {"text": "slowdown, %"}, "zeroline": True, "zerolinewidth": 2},
        "shapes": [_band(margin, rows[m]) for m, margin in margins.items()],
        "showlegend": len(traces) > 1,
        "hovermode": "closest",
    }
    described = "Forest plot. " + ". ".join(words.outcome(c) for c in comparisons[:30])
    height = 110 + (_ROW_PX + _LINE_PX * len(traces)) * len(metrics)
    return Chart(label, described, traces, layout, height)


def _name(metric: Any, several: bool) -> str:
    return words.full_metric_name(metric) if several else f"{metric.phase} / {words.metric(metric)}"


def _dots(
    comparisons: Sequence[Comparison], rows: dict[Any, int], names: list[str]
) -> dict[str, Any]:
    at = names.index(comparisons[0].candidate)
    others = len(names) - 1
    offset = 0.5 * ((others - 1) / 2 - (at - 1)) / max(1, others - 1) if others > 1 else 0.0
    return {
        "type": "scatter",
        "mode": "markers",
        "name": escaped(comparisons[0].candidate),
        "x": [_clipped(c.slowdown_percent) for c in comparisons],
        "y": [rows[c.metric] + offset for c in comparisons],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [_reach(c.slowdown_percent, c.high_percent) for c in comparisons],
            "arrayminus": [_reach(c.low_percent, c.slowdown_percent) for c in comparisons],
            "thickness": 2,
            "width": 0,
            "color": colour(at),
        },
        "marker": {"color": colour(at), "size": 9, "symbol": [_symbol(c) for c in comparisons]},
        "hovertext": [escaped(words.outcome(c)) for c in comparisons],
        "hoverinfo": "text",
    }


def _clipped(percent: float) -> float:
    return min(_EDGE_PERCENT, max(-_EDGE_PERCENT, percent))


def _reach(low_percent: float, high_percent: float) -> float:
    return _clipped(high_percent) - _clipped(low_percent)


def _symbol(comparison: Comparison) -> str:
    return "triangle-right" if comparison.slowdown_percent > _EDGE_PERCENT else "circle"


def _band(margin_percent: float, row: int) -> dict[str, Any]:
    return {
        "type": "rect",
        "layer": "below",
        "x0": -margin_percent,
        "x1": margin_percent,
        "y0": row - 0.5,
        "y1": row + 0.5,
        "fillcolor": "var(--band)",
        "line": {"width": 0},
    }


SECTION = _Forest()
