"""The page of a server that was watched: plots over one stretch of time, nothing else needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from dyno.report.charts import Axis, Chart, ChartPanel, Line, choose_colour, make_linear_axis
from dyno.report.document import Block, Figure, Heading
from dyno.report.html.page import PageHead, build_page

#: Steps between ticks of a time axis, in s: the least that makes few enough.
STEPS_S = (1, 5, 10, 30, 60, 300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 86400, 7 * 86400)
TICKS = 8
#: A line is broken where no sample was taken for so many times the usual distance.
GAP = 3.0
CURVES = 8


@dataclass(frozen=True)
class TimePlot:
    """A title, and curves of (s since 1970, value) by name."""

    title: str
    curves: Sequence[tuple[str, Sequence[tuple[float, float]]]]


def build_watched_page(server: str, span: str, plots: Sequence[TimePlot]) -> str:
    """The page as text; a plot without a curve is left out."""
    front = PageHead(
        title=f"{server}, {span}",
        eyebrow="Dyno watch",
        heading=server,
        question="What was it doing?",
        aside=span,
    )
    blocks: list[Block] = []
    for at, plot in enumerate((it for it in plots if it.curves), 1):
        blocks.append(Heading(plot.title, f"plot-{at}"))
        blocks.append(Figure([_draw_chart(plot)], _build_caption(plot)))
    return build_page(front, blocks)


def _build_caption(plot: TimePlot) -> str:
    names = len(plot.curves)
    told = f" The {CURVES} largest of {names} are drawn." if names > CURVES else ""
    return f"{plot.title}, over time in UTC.{told}"


def _draw_chart(plot: TimePlot) -> Chart:
    largest = sorted(plot.curves, key=lambda curve: -sum(value for _, value in curve[1]))[:CURVES]
    values = [value for _, points in largest for _, value in points]
    times = [at for _, points in largest for at, _ in points]
    lines = [
        Line(_split_runs(points), choose_colour(at), name, width_px=1.5)
        for at, (name, points) in enumerate(largest)
    ]
    top = max([*values, 0.0]) * 1.05 or 1.0
    panel = ChartPanel(make_linear_axis("", 0.0, top), lines)
    return Chart(plot.title, plot.title, _make_time_axis(min(times), max(times)), [panel])


def _split_runs(points: Sequence[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    steps = sorted(b - a for (a, _), (b, _) in pairwise(points))
    usual = steps[len(steps) // 2] if steps else 0.0
    runs: list[list[tuple[float, float]]] = [[]]
    for point in points:
        if runs[-1] and point[0] - runs[-1][-1][0] > GAP * usual:
            runs.append([])
        runs[-1].append(point)
    return runs


def _make_time_axis(low: float, high: float) -> Axis:
    length_s = max(high - low, 1.0)
    step_s = next((it for it in STEPS_S if length_s / it <= TICKS), STEPS_S[-1])
    first = math.ceil(low / step_s)
    ticks = [
        (at * step_s, _format_time(at * step_s, step_s))
        for at in range(first, math.floor(high / step_s) + 1)
    ]
    return Axis("UTC", low, low + length_s, ticks)


def _format_time(at_s: float, step_s: float) -> str:
    form = "%H:%M:%S" if step_s < 60 else "%H:%M" if step_s < 86400 else "%m-%d"
    return datetime.fromtimestamp(at_s, UTC).strftime(form)
