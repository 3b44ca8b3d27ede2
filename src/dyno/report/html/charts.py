"""Charts as Plotly's own JSON, in a figure that the page's script draws.

Colours are the page's CSS variables (`var(--candidate-1)`), resolved in the browser, so that a
chart follows the reader's light or dark scheme and a candidate has one colour everywhere.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from dyno.report import numbers
from dyno.report.html.markup import render, swatch

_DIGITS = ((1, 2, 5), (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9))

_FIGURE = """
<figure class="chart">
{% if charts | length > 1 %}
<label class="choice">Show <select>
{% for chart in charts %}<option value="{{ loop.index0 }}">{{ chart.label }}</option>{% endfor %}
</select></label>
{% endif %}
<div class="plot" role="img" aria-label="{{ charts[0].described }}"
 style="height: {{ charts[0].height_px }}px"></div>
<script type="application/json">{{ data }}</script>
<figcaption>{{ caption }}</figcaption>
</figure>
"""


@dataclass(frozen=True)
class Chart:
    """One drawing: Plotly traces and layout, its name in the choice, and itself in words."""

    label: str
    described: str
    traces: Sequence[dict[str, Any]]
    layout: dict[str, Any] = field(default_factory=dict)
    height_px: int = 360


def figure(charts: Sequence[Chart], caption: str) -> Markup:
    """A figure that shows one of `charts` at a time, with a `<select>` where there are several."""
    plain = [
        {
            "label": chart.label,
            "described": chart.described,
            "height_px": chart.height_px,
            "data": chart.traces,
            "layout": chart.layout,
        }
        for chart in charts
    ]
    return render(_FIGURE, charts=charts, caption=caption, data=_embedded(plain))


def escaped(text: str) -> str:
    """`text` for Plotly, which reads a little HTML in every label."""
    return html.escape(text, quote=False).replace("%{", "% {")


def colour(position: int) -> str:
    """The colour of the candidate at `position` (0 is the base)."""
    return f"var(--candidate-{swatch(position)})"


def duration_axis(title: str, seconds: Sequence[float]) -> dict[str, Any]:
    """A logarithmic axis for durations, with its ticks in the reader's units."""
    ticks = _ticks(seconds)
    texts = [_tick(each) for each in ticks]
    return {"title": {"text": title}, "type": "log", "tickvals": ticks, "ticktext": texts}


def _ticks(seconds: Sequence[float]) -> list[float]:
    """1, 2, 5 of every decade that is shown; finer where that would leave fewer than three."""
    low, high = min(seconds), max(seconds)
    steps: list[float] = []
    for digits in _DIGITS:
        steps = [digit * 10.0**power for power in range(-9, 4) for digit in digits]
        if sum(low <= step <= high for step in steps) >= 3:
            break
    return steps


def _tick(seconds: float) -> str:
    number, unit = numbers.quantity(seconds, "s").split(" ")
    return f"{float(number):g} {unit}"


def _embedded(data: Any) -> Markup:
    text = json.dumps(_finite(data), allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028"))


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    if isinstance(data, float):
        return float(f"{data:.6g}") if math.isfinite(data) else None
    return data
