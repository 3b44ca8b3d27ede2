"""Section: every restart as a dot, in the order played, its pair joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from dyno.record import Metric, Trial
from dyno.report import Book, numbers, words
from dyno.report.html.charts import Chart, colour, escaped, figure

_CAPTION = (
    "A dot is one trial: fresh process, fresh data. A line joins the trials of one block, which "
    "are compared with each other only. Hollow dots on a shaded ground do not count: their block "
    "was dropped for noise or begun anew."
)

#: A trial and its number in one metric.
_Point = tuple[Trial, float]


@dataclass(frozen=True)
class _Frame:
    """What all dots of a chart share: the place of each trial, and those that do not count."""

    metric: Metric
    at: dict[int, int]
    out: set[int]


class _Restarts:
    title = "Every restart"
    place = 30

    def render(self, book: Book) -> str | None:
        """A chart per compared metric; primaries come first in the choice."""
        metrics = dict.fromkeys(
            c.metric for c in sorted(book.verdict.comparisons, key=lambda c: not c.primary)
        )
        numbers_of = [(trial, book.view.numbers(trial)) for trial in book.view.played]
        charts = []
        for metric in metrics:
            points = [(trial, found[metric]) for trial, found in numbers_of if metric in found]
            if points:
                charts.append(_chart(book, metric, points))
        return figure(charts, _CAPTION) if charts else None


def _chart(book: Book, metric: Metric, points: Sequence[_Point]) -> Chart:
    at = {trial.number: position for position, (trial, _) in enumerate(points)}
    frame = _Frame(metric, at, _out(book, points))
    groups = [list(group) for _, group in groupby(points, key=lambda p: (p[0].block, p[0].attempt))]
    dots = [
        _dots(name, position, [p for p in points if p[0].candidate == name], frame)
        for position, name in enumerate(book.view.candidates)
    ]
    title, trials = words.full_metric_name(metric), words.plural(len(points), "trial")
    described = f"{title} of {trials} in {len(groups)} blocks"
    return Chart(title, described, [_joined(groups, at), *dots], _layout(groups, frame))


def _out(book: Book, points: Sequence[_Point]) -> set[int]:
    """The numbers of the trials that do not count."""
    return {t.number for t, _ in points} - {t.number for t in book.view.counted}


def _layout(groups: Sequence[Sequence[_Point]], frame: _Frame) -> dict[str, Any]:
    """The axes, and the ground of the blocks that do not count."""
    at, metric = frame.at, frame.metric
    return {
        "xaxis": {
            "title": {"text": "block, in the order played"},
            "tickvals": [sum(at[t.number] for t, _ in g) / len(g) for g in groups],
            "ticktext": [str(g[0][0].block) for g in groups],
            "showgrid": False,
            "range": [-0.7, len(at) - 0.3],
        },
        "yaxis": {"title": {"text": escaped(f"{words.metric(metric)}, {metric.unit}")}},
        "shapes": [_shade(g, at) for g in groups if g[0][0].number in frame.out],
        "hovermode": "closest",
    }


def _joined(groups: Sequence[Sequence[_Point]], at: dict[int, int]) -> dict[str, Any]:
    """All pairs in one trace; a gap (None) parts the blocks."""
    x: list[int | None] = []
    y: list[float | None] = []
    for group in groups:
        x += [*(at[trial.number] for trial, _ in group), None]
        y += [*(value for _, value in group), None]
    line = {"color": "var(--faint)", "width": 1.5}
    trace: dict[str, Any] = {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line}
    return trace | {"hoverinfo": "skip", "showlegend": False}


def _dots(
    name: str,
    position: int,
    points: Sequence[_Point],
    frame: _Frame,
) -> dict[str, Any]:
    symbols = ["circle-open" if trial.number in frame.out else "circle" for trial, _ in points]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": escaped(name),
        "x": [frame.at[trial.number] for trial, _ in points],
        "y": [value for _, value in points],
        "marker": {"color": colour(position), "size": 9, "symbol": symbols},
        "hovertext": [_hover(trial, value, frame.metric) for trial, value in points],
        "hoverinfo": "text",
    }


def _hover(trial: Trial, value: float, metric: Metric) -> str:
    number = numbers.quantity(value, metric.unit)
    where = f"trial {trial.number}, block {trial.block}, attempt {trial.attempt}"
    return escaped(f"{trial.candidate}: {number}") + f"<br>{where}<br>{escaped(trial.started_utc)}"


def _shade(group: Sequence[_Point], at: dict[int, int]) -> dict[str, Any]:
    positions = [at[trial.number] for trial, _ in group]
    return {
        "type": "rect",
        "layer": "below",
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "x0": min(positions) - 0.5,
        "x1": max(positions) + 0.5,
        "fillcolor": "var(--shade)",
        "line": {"width": 0},
    }


SECTION = _Restarts()
