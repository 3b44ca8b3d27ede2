"""Section: latency quantiles on a percentile axis that gives the tail its room."""

from __future__ import annotations

import math
from statistics import median
from typing import Any

from dyno.record import Tally
from dyno.report import Book, facts, numbers
from dyno.report.html.charts import Chart, colour, duration_axis, escaped, figure

_CAPTION = (
    "From the intended time to the answer, waits included. Each step to the right is ten times "
    "rarer. Thin: one trial; thick: the median of the candidate's trials."
)
_TICKS = ("50", "90", "99", "99.9", "99.99", "99.999")


class _Latency:
    title = "Latency"
    place = 50

    def render(self, book: Book) -> str | None:
        """A chart per stream."""
        charts = [chart for s in facts.all_streams(book) if (chart := _chart(book, s))]
        return figure(charts, _CAPTION) if charts else None


def _chart(book: Book, stream: facts.Stream) -> Chart | None:
    found = facts.tallies(book.view.counted_of(stream.workload), stream)
    traces = []
    for position, name in enumerate(book.view.candidates):
        curves = [_curve(tally) for trial, _, tally in found if trial.candidate == name]
        if any(curves):
            traces += [_thin(curves, position), _thick(name, curves, position)]
    if not traces:
        return None
    layout = {
        "xaxis": {
            "title": {"text": "percentile"},
            "tickvals": [_rarity(tick) for tick in _TICKS],
            "ticktext": [f"{tick} %" for tick in _TICKS],
        },
        "yaxis": duration_axis("latency", [y for trace in traces for y in trace["y"] if y]),
        "hovermode": "closest",
    }
    described = f"Latency of {stream.label} by percentile, on a logarithmic scale"
    return Chart(stream.label, described, traces, layout)


def _rarity(percentile: str) -> float:
    """Where a percentile stands on the axis: decades of the share that is slower."""
    return -math.log10(1 - float(percentile) / 100)


def _curve(tally: Tally) -> dict[str, float]:
    """Percentile to seconds; no further than the data go: one event in 100 has no p99.9."""
    count = tally.latency.count
    return {
        name: ns / 1e9
        for name, ns in sorted(tally.latency.percentiles_ns.items(), key=lambda p: float(p[0]))
        if float(name) < 100 and ns > 0 and count * (1 - float(name) / 100) >= 1
    }


def _thin(curves: list[dict[str, float]], position: int) -> dict[str, Any]:
    x: list[float | None] = []
    y: list[float | None] = []
    for curve in curves:
        x += [*map(_rarity, curve), None]
        y += [*curve.values(), None]
    look = {"line": {"color": colour(position), "width": 1}, "opacity": 0.22}
    plain = {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "showlegend": False}
    return {**plain, "x": x, "y": y, **look}


def _thick(name: str, curves: list[dict[str, float]], position: int) -> dict[str, Any]:
    shared = sorted({p for curve in curves for p in curve}, key=float)
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": escaped(name),
        "x": [_rarity(p) for p in shared],
        "y": [median(c[p] for c in curves if p in c) for p in shared],
        "line": {"color": colour(position), "width": 2.5},
        "marker": {"size": 5},
        "hovertext": [f"{escaped(name)}: {p} % within {_middle(p, curves)}" for p in shared],
        "hoverinfo": "text",
    }


def _middle(percentile: str, curves: list[dict[str, float]]) -> str:
    seconds = median(curve[percentile] for curve in curves if percentile in curve)
    return numbers.quantity(seconds, "s")


SECTION = _Latency()
