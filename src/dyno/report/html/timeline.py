"""A series over time as a chart: its points with their intervals, its levels, its changes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from dyno.record import HistoryNomination, HistoryPoint, HistorySeries
from dyno.report import numbers, words
from dyno.report.html.charts import Chart, colour, escaped

#: More names below the axis than a narrow page has room for.
TICKS = 8
NAME_LONGEST = 14
#: So far beyond the points, in their range, an interval is drawn: a wide one (two restarts have few
#: degrees of freedom) must not squeeze all points into a line.
REACH = 0.75


def series_chart(series: HistorySeries) -> Chart:
    """Points in the order of their builds, one beside the other whatever time lay between."""
    layout = {
        "xaxis": _builds(series.points) | {"range": [-0.6, len(series.points) - 0.4]},
        "yaxis": _values(series),
        "shapes": [_line(each) for each in series.nominations],
        "annotations": [_size(each, at % 2) for at, each in enumerate(series.nominations)],
        "showlegend": False,
        "hovermode": "closest",
    }
    found = words.plural(len(series.nominations), "nominated change")
    described = f"{words.series_name(series)}: {len(series.points)} points, {found}"
    return Chart(words.series_name(series), described, [_levels(series), _dots(series)], layout)


def point_value(point: HistoryPoint, unit: str) -> str:
    """The point's value with its interval: `9.31 k/s [9.20, 9.41]`."""
    value = numbers.quantity(point.value, unit)
    if point.low is None or point.high is None:
        return value
    ends = (numbers.quantity(end, unit) for end in (point.low, point.high))
    return f"{value} [{', '.join(ends)}]"


def _dots(series: HistorySeries) -> dict[str, Any]:
    points = series.points
    return {
        "type": "scatter",
        "mode": "markers",
        "x": list(range(len(points))),
        "y": [point.value for point in points],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [(p.value if p.high is None else p.high) - p.value for p in points],
            "arrayminus": [p.value - (p.value if p.low is None else p.low) for p in points],
            "thickness": 1.5,
            "width": 0,
            "color": colour(0),
        },
        "marker": {"color": colour(0), "size": 8},
        "hovertext": [_hover(point, series.metric.unit) for point in points],
        "hoverinfo": "text",
    }


def _hover(point: HistoryPoint, unit: str) -> str:
    """A line each, so that a narrow page has room."""
    restarts = words.plural(point.restarts, "restart")
    build = f"{point.candidate} ({point.version or 'no version'})"
    told = (build, point_value(point, unit), f"{point.began_utc[:10]}, {restarts} in", point.run)
    return "<br>".join(map(escaped, told))


def _levels(series: HistorySeries) -> dict[str, Any]:
    """A line for each level; a gap (None) parts them."""
    x: list[float | None] = []
    y: list[float | None] = []
    ends = [0, *(each.at for each in series.nominations), len(series.points)]
    for (start, end), level in zip(pairwise(ends), series.levels, strict=True):
        x += [start - 0.5, end - 0.5, None]
        y += [level, level, None]
    line = {"color": colour(1), "width": 2.5}
    trace: dict[str, Any] = {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line}
    return trace | {"hoverinfo": "skip"}


def _line(nomination: HistoryNomination) -> dict[str, Any]:
    """The place of a change; the place was chosen, so it is a line and no band of trust."""
    at = nomination.at - 0.5
    line = {"color": _change_colour(nomination), "width": 1.5, "dash": "dash"}
    return {"type": "line", "yref": "paper", "x0": at, "x1": at, "y0": 0, "y1": 1, "line": line}


def _size(nomination: HistoryNomination, row: int) -> dict[str, Any]:
    """How large, above the line; neighbours stand in two rows, lest one covers the other."""
    text = f"{numbers.signed(nomination.slowdown_percent)} %"
    place: dict[str, Any] = {"x": nomination.at - 0.5, "y": 1, "yref": "paper", "yshift": 15 * row}
    place |= {"yanchor": "bottom", "borderpad": 0}
    return place | {"text": text, "showarrow": False, "font": {"color": _change_colour(nomination)}}


def _change_colour(nomination: HistoryNomination) -> str:
    return "var(--bad)" if nomination.slowdown_percent > 0 else "var(--good)"


def _builds(points: Sequence[HistoryPoint]) -> dict[str, Any]:
    """The version below a point, the day where most versions are one; some, where there are many.

    A short axis shows each, a long one the first of every so many.
    """
    step = -(-len(points) // TICKS)
    versions = [point.version for point in points]
    told = 2 * len(set(versions)) > len(versions) and all(versions)
    names = versions if told else [point.began_utc[:10] for point in points]
    return {
        "title": {"text": "version" if told else "day of the run"},
        "tickvals": list(range(0, len(points), step)),
        "ticktext": [escaped(_short(name)) for name in names[::step]],
        "showgrid": False,
    }


def _short(name: str) -> str:
    return name if len(name) <= NAME_LONGEST else f"{name[: NAME_LONGEST - 1]}…"


def _values(series: HistorySeries) -> dict[str, Any]:
    """From the lowest point to the highest, and as much of their intervals as `REACH` allows."""
    metric, points = series.metric, series.points
    low, high = min(p.value for p in points), max(p.value for p in points)
    room = REACH * (high - low) or 0.01 * high
    bottom = max(low - room, min(p.value if p.low is None else p.low for p in points))
    top = min(high + room, max(p.value if p.high is None else p.high for p in points))
    title = f"{words.metric(metric)}, {metric.unit} ({metric.better} is better)"
    pad = 0.1 * room
    return {"title": {"text": escaped(title)}, "range": [bottom - pad, top + pad]}
