"""Section: latency quantiles on a percentile axis that stretches the tail."""

from __future__ import annotations

import math
from statistics import median

from dyno import numbers
from dyno.record import Tally
from dyno.report import Book, Section, facts
from dyno.report.charts import (
    Axis,
    Chart,
    ChartPanel,
    Dot,
    Dots,
    Line,
    choose_colour,
    find_ends,
    join_dots,
    make_duration_axis,
)
from dyno.report.document import Document, Figure

_CAPTION = (
    "From the intended time to the answer, waits included. Each step to the right is ten times "
    "rarer. Thin: one trial; thick: the median of the candidate's trials."
)
_TICKS = ("50", "90", "99", "99.9", "99.99", "99.999")


def draw_charts(book: Book) -> list[Chart]:
    """A chart per stream that has latencies."""
    return [chart for s in facts.list_all_streams(book) if (chart := _draw_chart(book, s))]


def _draw_chart(book: Book, stream: facts.StreamFacts) -> Chart | None:
    found = facts.collect_tallies(book.view.list_counted(stream.workload), stream)
    marks: list[Line | Dots] = []
    drawn: list[tuple[float, float]] = []
    for position, name in enumerate(book.view.candidates):
        curves = [_compute_curve(tally) for trial, _, tally in found if trial.candidate == name]
        runs = [[(_compute_rarity(p), s) for p, s in curve.items()] for curve in curves]
        drawn += [point for run in runs for point in run]
        if any(curves):
            marks += [Line(runs, choose_colour(position), name, 1, faint=True)]
            marks += _draw_median(name, curves, position)
    if not marks:
        return None
    ticks = [(_compute_rarity(tick), f"{tick} %") for tick in _TICKS]
    x = Axis("percentile", *find_ends([rarity for rarity, _ in drawn]), ticks)
    y = make_duration_axis("latency", [seconds for _, seconds in drawn])
    described = f"Latency of {stream.label} by percentile, on a logarithmic scale"
    return Chart(stream.label, described, x, [ChartPanel(y, marks)])


def _compute_rarity(percentile: str) -> float:
    """Where a percentile stands on the axis: decades of the share that is slower."""
    return -math.log10(1 - float(percentile) / 100)


def _compute_curve(tally: Tally) -> dict[str, float]:
    """Percentile to seconds; no further than the data go: one event in 100 has no p99.9."""
    count = tally.latency.count
    return {
        name: ns / 1e9
        for name, ns in sorted(tally.latency.percentiles_ns.items(), key=lambda p: float(p[0]))
        if float(name) < 100 and ns > 0 and count * (1 - float(name) / 100) >= 1
    }


def _draw_median(name: str, curves: list[dict[str, float]], position: int) -> list[Line | Dots]:
    """The median of the trials at each percentile that any of them has."""
    middle = {
        p: median(curve[p] for curve in curves if p in curve)
        for p in sorted({p for curve in curves for p in curve}, key=float)
    }
    dots = [
        Dot(_compute_rarity(p), s, f"{name}: {p} % within {numbers.format_quantity(s, 's')}")
        for p, s in middle.items()
    ]
    return join_dots(dots, choose_colour(position), name)


def build(book: Book) -> Document:
    charts = draw_charts(book)
    return [Figure(charts, _CAPTION)] if charts else []


SECTION = Section("Latency", 50, build)
