"""The chart of a crossed run's effects: a dot and an interval for each, its name above them."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from dyno.record import Comparison, Metric
from dyno.report import words
from dyno.report.charts import Chart, colour, escaped

_ROW_PX = 44
#: Letters that a narrow page has room for, and what a label's next line adds to its row.
_NARROW, _LINE = 46, 0.38


def drawn(metric: Metric, found: Sequence[Comparison]) -> Chart:
    """The effects `found` in `metric`, main effects first: a row for each."""
    rows = [c for c in found if math.isfinite(c.slowdown_percent)]
    labels = [_lines(c.candidate) for c in rows]
    places, top = _places([1 + _LINE * (len(lines) - 1) for lines in labels])
    layout = {
        "yaxis": {"showticklabels": False, "range": [-0.5, top - 0.2], "showgrid": False},
        "xaxis": {"title": {"text": "slowdown, %"}, "zeroline": True, "zerolinewidth": 2},
        "shapes": [_band(rows, places, top)],
        "margin": {"l": 4, "r": 12, "t": 12, "b": 12},
        "annotations": [_label(*each) for each in zip(labels, places, strict=True)],
        "showlegend": False,
        "hovermode": "closest",
    }
    described = "Effects. " + ". ".join(words.outcome(c) for c in rows[:30])
    height_px = 110 + round(_ROW_PX * top)
    return Chart(words.full(metric), described, [_dots(rows, places)], layout, height_px)


def _lines(name: str) -> list[str]:
    """An effect's name in lines that a narrow page can hold; a level is never broken."""
    return textwrap.wrap(name, _NARROW, break_long_words=False, break_on_hyphens=False)


def _places(heights: Sequence[float]) -> tuple[list[float], float]:
    """Where each row's line stands, the last at 0, and where the first one's own room ends."""
    above = [sum(heights[at:]) for at in range(len(heights))]
    return [each - height for each, height in zip(above, heights, strict=True)], sum(heights)


def _band(rows: Sequence[Comparison], places: Sequence[float], top: float) -> dict[str, Any]:
    """The margin, behind the main effects."""
    margin = rows[0].margin_percent if rows else 0.0
    lowest = min((y for c, y in zip(rows, places, strict=True) if len(c.levels) == 1), default=top)
    band = {"type": "rect", "layer": "below", "x0": -margin, "x1": margin, "y0": top - 0.5}
    return band | {"y1": lowest - 0.5, "fillcolor": "var(--band)", "line": {"width": 0}}


def _label(lines: Sequence[str], place: float) -> dict[str, Any]:
    """The effect's name above its line: long ones would leave a narrow page no room beside it."""
    middle = place + 0.4 + _LINE * (len(lines) - 1) / 2
    at = {"x": 0, "xref": "paper", "xanchor": "left", "y": middle, "yanchor": "middle"}
    text = "<br>".join(escaped(line) for line in lines)
    return at | {"text": text, "align": "left", "showarrow": False}


def _dots(rows: Sequence[Comparison], places: Sequence[float]) -> dict[str, Any]:
    ends = [(c.low_percent, c.slowdown_percent, c.high_percent) for c in rows]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [middle for _, middle, _ in ends],
        "y": list(places),
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [high - middle for _, middle, high in ends],
            "arrayminus": [middle - low for low, middle, _ in ends],
            "thickness": 2,
            "width": 0,
            "color": colour(1),
        },
        "marker": {
            "color": colour(1),
            "size": 9,
            "symbol": ["circle" if len(c.levels) == 1 else "circle-open" for c in rows],
        },
        "hovertext": [escaped(words.outcome(c)) for c in rows],
        "hoverinfo": "text",
    }
