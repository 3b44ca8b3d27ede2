"""A series over time as a chart: its points with their intervals, its levels, its changes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from dyno import numbers
from dyno.record import FlaggedChange, HistoryPoint, HistorySeries
from dyno.report import words
from dyno.report.html.charts import (
    Axis,
    Chart,
    ChartPanel,
    Dot,
    Dots,
    Line,
    Note,
    choose_colour,
    make_linear_axis,
)

#: More names below the axis than a narrow page has space for.
TICKS = 8
NAME_LONGEST = 14
#: So far beyond the points, in their range, an interval is drawn: a wide one (two restarts have few
#: degrees of freedom) must not squeeze all points into a line.
REACH = 0.75


def draw_series(series: HistorySeries) -> Chart:
    """Points in the order of their builds, one beside the other whatever time lay between."""
    y = _make_values_axis(series)
    changes = [
        mark for at, each in enumerate(series.flagged_changes) for mark in _draw_change(each, at, y)
    ]
    unit = series.metric.unit
    dots = Dots(
        [_draw_dot(at, point, unit) for at, point in enumerate(series.points)], choose_colour(0)
    )
    found = words.format_count(len(series.flagged_changes), "flagged change")
    described = f"{words.format_series(series)}: {len(series.points)} points, {found}"
    panel = ChartPanel(y, [*changes, _draw_levels(series), dots])
    return Chart(words.format_series(series), described, _make_builds_axis(series.points), [panel])


def format_point(point: HistoryPoint, unit: str) -> str:
    """The point's value with its interval: `9.31 k/s [9.20, 9.41]`."""
    value = numbers.format_quantity(point.value, unit)
    if point.low is None or point.high is None:
        return value
    ends = (numbers.format_quantity(end, unit) for end in (point.low, point.high))
    return f"{value} [{', '.join(ends)}]"


def _draw_dot(at: int, point: HistoryPoint, unit: str) -> Dot:
    return Dot(at, point.value, _format_hover(point, unit), point.low, point.high)


def _format_hover(point: HistoryPoint, unit: str) -> str:
    """A line each, so that a narrow page has space."""
    restarts = words.format_count(point.restarts, "restart")
    build = f"{point.candidate} ({point.version or 'no version'})"
    told = (build, format_point(point, unit), f"{point.began_utc[:10]}, {restarts} in", point.run)
    return "\n".join(told)


def _draw_levels(series: HistorySeries) -> Line:
    """A run for each level."""
    borders = [0, *(each.at for each in series.flagged_changes), len(series.points)]
    runs = [
        [(start - 0.5, level), (end - 0.5, level)]
        for (start, end), level in zip(pairwise(borders), series.levels, strict=True)
    ]
    return Line(runs, choose_colour(1))


def _draw_change(flagged: FlaggedChange, number: int, y: Axis) -> tuple[Line, Note]:
    """The place of a change, which was chosen and so is a line and no band of trust, and its size.

    Neighbours' sizes stand in two rows, lest one covers the other.
    """
    at, tone = flagged.at - 0.5, _choose_change_colour(flagged)
    size = f"{numbers.format_signed_percent(flagged.slowdown_percent)} %"
    line = Line([[(at, y.low), (at, y.high)]], tone, width_px=1.5, dashed=True)
    return line, Note(size, x=at, row=number % 2, colour=tone)


def _choose_change_colour(flagged: FlaggedChange) -> str:
    return "var(--bad)" if flagged.slowdown_percent > 0 else "var(--good)"


def _make_builds_axis(points: Sequence[HistoryPoint]) -> Axis:
    """The version below a point, the day where most versions are one; some, where there are many.

    A short axis shows each, a long one the first of every so many.
    """
    step = -(-len(points) // TICKS)
    versions = [point.version for point in points]
    told = 2 * len(set(versions)) > len(versions) and all(versions)
    names = versions if told else [point.began_utc[:10] for point in points]
    ticks = [(at, _shorten_name(names[at])) for at in range(0, len(points), step)]
    title = "version" if told else "day of the run"
    return Axis(title, -0.6, len(points) - 0.4, ticks, grid=False)


def _shorten_name(name: str) -> str:
    return name if len(name) <= NAME_LONGEST else f"{name[: NAME_LONGEST - 1]}…"


def _make_values_axis(series: HistorySeries) -> Axis:
    """From the lowest point to the highest, and as much of their intervals as `REACH` allows."""
    metric, points = series.metric, series.points
    low, high = min(p.value for p in points), max(p.value for p in points)
    space = REACH * (high - low) or 0.01 * high
    bottom = max(low - space, min(p.value if p.low is None else p.low for p in points))
    top = min(high + space, max(p.value if p.high is None else p.high for p in points))
    label = numbers.format_label(words.format_metric(metric), metric.unit)
    title = f"{label} ({metric.better} is better)"
    pad = 0.1 * space
    return make_linear_axis(title, bottom - pad, top + pad, metric.unit)
