"""The streams of a sweep, and what each candidate did in them under each value.

Section: throughput and p99 latency against the option that an experiment sweeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from dyno.record import WorkloadPlan
from dyno.report import Book, facts, numbers
from dyno.report.html.charts import Chart, colour, duration_axis, escaped, figure
from dyno.report.html.markup import Cell, Row, Table, render, tables_html


@dataclass(frozen=True)
class SweptStream:
    """A stream under each value of the swept option, in the experiment's order."""

    option: str
    streams: dict[str, facts.Stream]

    @property
    def label(self) -> str:
        """`oltp_point_select / run / event by threads`."""
        first = next(iter(self.streams.values()))
        script = first.workload.partition(f" {self.option}=")[0]
        return f"{script} / {first.phase} / {first.name} by {self.option}"


@dataclass(frozen=True)
class Point:
    """What a candidate's trials gave under one value: rates per s and p99 latencies in s."""

    value: str
    rates: list[float]
    p99s: list[float]


def swept_streams(book: Book) -> list[SweptStream]:
    """Every stream of the run that an option is swept for."""
    groups: dict[tuple[str, str], list[WorkloadPlan]] = {}
    for workload in book.run.workloads:
        for option in workload.sweep:
            groups.setdefault((workload.script, option), []).append(workload)
    return [
        SweptStream(option, streams)
        for (_, option), workloads in groups.items()
        for streams in _by_stream(book, workloads, option)
    ]


def _by_stream(
    book: Book, workloads: Sequence[WorkloadPlan], option: str
) -> list[dict[str, facts.Stream]]:
    found: dict[tuple[str, str], dict[str, facts.Stream]] = {}
    for workload in workloads:
        for stream in facts.streams(book, workload.name):
            by_value = found.setdefault((stream.phase, stream.name), {})
            by_value[workload.sweep[option]] = stream
    return [by_value for (phase, _), by_value in found.items() if phase != "prepare"]


def swept_points(book: Book, swept: SweptStream, candidate: str) -> list[Point]:
    """The candidate's trials that count, by value, where there are any."""
    found = []
    for value, stream in swept.streams.items():
        played = facts.tallies(book.view.counted_of(stream.workload), stream)
        own = [(record, tally) for trial, record, tally in played if trial.candidate == candidate]
        rates = [t.done * t.units_per_event / r.duration_s for r, t in own if r.duration_s > 0]
        p99s = [t.latency.percentiles_ns["99"] / 1e9 for _, t in own if t.latency.count]
        if rates and p99s:
            found.append(Point(value, rates, p99s))
    return found


_CAPTION = (
    "Dots: the median of the candidate's trials; bars: from the least to the largest of them. "
    "Above: units done per second; below: latency p99, from the intended time to the answer."
)
_TEMPLATE = """
{{ charts }}
{{ tables }}
<p class="aside">Medians over the valid blocks: units per second, latency p99 beside; below a
candidate's, its rate ÷ the base's.</p>
"""
#: From such a ratio of the largest to the smallest value on, the axis is logarithmic.
_WIDE = 8.0


class _Sweep:
    title = "By the swept option"
    place = 25

    def render(self, book: Book) -> str | None:
        """A chart and a table for each stream that is swept."""
        found = [
            each
            for each in swept_streams(book)
            if any(swept_points(book, each, n) for n in _names(book))
        ]
        if not found:
            return None
        charts = figure([_chart(book, each) for each in found], _CAPTION)
        return render(
            _TEMPLATE, charts=charts, tables=tables_html([_table(book, e) for e in found])
        )


def _names(book: Book) -> list[str]:
    return book.view.candidates


def _chart(book: Book, swept: SweptStream) -> Chart:
    values = list(swept.streams)
    traces = [
        trace
        for at, name in enumerate(_names(book))
        if (found := swept_points(book, swept, name))
        for trace in (_rates(name, at, found), _p99s(name, at, found))
    ]
    unit = next(iter(swept.streams.values())).unit
    latencies = [y for trace in traces if "yaxis" in trace for y in trace["y"]]
    layout = {
        "xaxis": {"title": {"text": escaped(swept.option)}, "anchor": "y2"} | _axis(values),
        "yaxis": {"title": {"text": escaped(f"{unit}/s")}, "domain": [0.54, 1.0]}
        | {"rangemode": "tozero"},
        "yaxis2": duration_axis("latency p99", latencies) | {"domain": [0.0, 0.46]},
        "hovermode": "closest",
    }
    described = f"{swept.label}: units per second and latency p99, a line for each candidate"
    return Chart(swept.label, described, traces, layout, 560)


def _axis(values: Sequence[str]) -> dict[str, Any]:
    """Ticks at the values themselves; logarithmic where they reach far, in a row where words."""
    try:
        at = [float(value) for value in values]
    except ValueError:
        return {"type": "category"}
    wide = min(at) > 0 and max(at) / min(at) >= _WIDE
    return {"type": "log" if wide else "linear", "tickvals": at, "ticktext": list(values)}


def _rates(name: str, position: int, points: Sequence[Point]) -> dict[str, Any]:
    shown = [f"{numbers.quantity(median(p.rates), 'unit/s')} at {p.value}" for p in points]
    return _trace(name, position, points, [p.rates for p in points]) | {
        "hovertext": _in_words(name, shown)
    }


def _p99s(name: str, position: int, points: Sequence[Point]) -> dict[str, Any]:
    shown = [f"p99 {numbers.quantity(median(p.p99s), 's')} at {p.value}" for p in points]
    lower = {"yaxis": "y2", "showlegend": False, "hovertext": _in_words(name, shown)}
    return _trace(name, position, points, [p.p99s for p in points]) | lower


def _in_words(name: str, shown: Sequence[str]) -> list[str]:
    return [escaped(f"{name}: {text}") for text in shown]


def _trace(
    name: str, position: int, points: Sequence[Point], columns: Sequence[list[float]]
) -> dict[str, Any]:
    middles = [median(column) for column in columns]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": escaped(name),
        "x": [_number(point.value) for point in points],
        "y": middles,
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [max(c) - m for c, m in zip(columns, middles, strict=True)],
            "arrayminus": [m - min(c) for c, m in zip(columns, middles, strict=True)],
            "thickness": 1,
            "width": 3,
        },
        "line": {"color": colour(position), "width": 2.5},
        "marker": {"size": 6},
        "hoverinfo": "text",
    }


def _number(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value


def _table(book: Book, swept: SweptStream) -> Table:
    by_name = {name: {p.value: p for p in swept_points(book, swept, name)} for name in _names(book)}
    base = by_name[book.run.design.base]
    rows = [
        Row(
            name,
            [_cell(points.get(v), None if points is base else base.get(v)) for v in swept.streams],
        )
        for name, points in by_name.items()
    ]
    return Table(swept.label, "candidate", list(swept.streams), rows)


def _cell(point: Point | None, base: Point | None) -> Cell:
    if point is None:
        return Cell(numbers.DASH)
    rate, p99 = median(point.rates), numbers.quantity(median(point.p99s), "s")
    against = f", {numbers.ratio(rate / median(base.rates))}" if base and median(base.rates) else ""
    return Cell(numbers.quantity(rate, "unit/s"), beside=f"{p99}{against}")


SECTION = _Sweep()
