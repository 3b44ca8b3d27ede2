"""Section: throughput and p99 latency against the option that an experiment sweeps.

Shown are the streams of the sweep, and what each candidate did in them under each value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from dyno import numbers
from dyno.record import WorkloadPlan
from dyno.report import Book, Section, facts
from dyno.report import document as doc
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
    log_ends,
    make_duration_axis,
    make_linear_axis,
)


@dataclass(frozen=True)
class SweptStream:
    """A stream under each value of the swept option, in the experiment's order."""

    option: str
    streams: dict[str, facts.StreamFacts]

    @property
    def label(self) -> str:
        """`oltp_point_select / run / event by threads`."""
        first = next(iter(self.streams.values()))
        script = first.workload.partition(f" {self.option}=")[0]
        return f"{script} / {first.phase} / {first.name} by {self.option}"


@dataclass(frozen=True)
class SweepPoint:
    """What a candidate's trials gave under one value: rates per s and p99 latencies in s."""

    value: str
    rates: list[float]
    p99s: list[float]


def list_swept_streams(book: Book) -> list[SweptStream]:
    groups: dict[tuple[str, str], list[WorkloadPlan]] = {}
    for workload in book.run.workloads:
        for option in workload.sweep:
            groups.setdefault((workload.script, option), []).append(workload)
    return [
        SweptStream(option, streams)
        for (_, option), workloads in groups.items()
        for streams in _group_by_stream(book, workloads, option)
    ]


def _group_by_stream(
    book: Book, workloads: Sequence[WorkloadPlan], option: str
) -> list[dict[str, facts.StreamFacts]]:
    found: dict[tuple[str, str], dict[str, facts.StreamFacts]] = {}
    for workload in workloads:
        for stream in facts.list_streams(book, workload.name):
            by_value = found.setdefault((stream.phase, stream.name), {})
            by_value[workload.sweep[option]] = stream
    return [by_value for (phase, _), by_value in found.items() if phase != "prepare"]


def list_swept_points(book: Book, swept: SweptStream, candidate: str) -> list[SweepPoint]:
    """The candidate's trials that count, by value, where there are any."""
    found = []
    for value, stream in swept.streams.items():
        played = facts.collect_tallies(book.view.list_counted(stream.workload), stream)
        own = [(record, tally) for trial, record, tally in played if trial.candidate == candidate]
        rates = [t.done * t.units_per_event / r.duration_s for r, t in own if r.duration_s > 0]
        p99s = [t.latency.percentiles_ns["99"] / 1e9 for _, t in own if t.latency.count]
        if rates and p99s:
            found.append(SweepPoint(value, rates, p99s))
    return found


_CAPTION = (
    "Dots: the median of the candidate's trials; bars: from the least to the largest of them. "
    "Above: units done per second; below: latency p99, from the intended time to the answer."
)
MEDIANS = (
    "Medians over the valid blocks: units per second, latency p99 beside; behind a candidate's, "
    "its rate ÷ the base's."
)
#: From such a ratio of the largest to the smallest value on, the axis is logarithmic.
_WIDE = 8.0
_PANEL_PX = 220


def build(book: Book) -> doc.Document:
    tables = [_build_table(book, each) for each in _list_drawable(book)]
    figure = doc.Figure(draw_charts(book), _CAPTION)
    return [figure, *tables, doc.Prose(MEDIANS, "quiet")] if tables else []


def draw_charts(book: Book) -> list[Chart]:
    return [_draw_chart(book, each) for each in _list_drawable(book)]


def _list_drawable(book: Book) -> list[SweptStream]:
    return [
        each
        for each in list_swept_streams(book)
        if any(list_swept_points(book, each, n) for n in book.view.candidates)
    ]


def _draw_chart(book: Book, swept: SweptStream) -> Chart:
    at = _place_values(list(swept.streams))
    rates: list[Line | Dots] = []
    p99s: list[Line | Dots] = []
    tops, p99_seconds = [], []
    for position, name in enumerate(book.view.candidates):
        found = list_swept_points(book, swept, name)
        tops += [max(p.rates) for p in found]
        p99_seconds += [second for p in found for second in p.p99s]
        rates += join_dots([_draw_rate(name, at, p) for p in found], choose_colour(position), name)
        p99s += join_dots([_draw_p99(name, at, p) for p in found], choose_colour(position), name)
    unit = next(iter(swept.streams.values())).unit
    panels = [
        ChartPanel(make_linear_axis(f"{unit}/s", 0.0, 1.05 * max(tops) or 1.0), rates, _PANEL_PX),
        ChartPanel(make_duration_axis("latency p99", p99_seconds), p99s, _PANEL_PX),
    ]
    described = f"{swept.label}: units per second and latency p99, a line for each candidate"
    return Chart(swept.label, described, _make_axis(swept.option, at), panels)


def _place_values(values: Sequence[str]) -> dict[str, float]:
    """Where each value stands: at itself, or in a row where one is a word."""
    try:
        return {value: float(value) for value in values}
    except ValueError:
        return {value: float(at) for at, value in enumerate(values)}


def _make_axis(title: str, at: dict[str, float]) -> Axis:
    """Ticks at the values themselves; logarithmic where they reach far."""
    places, ticks = list(at.values()), [(place, value) for value, place in at.items()]
    if min(places) > 0 and max(places) / min(places) >= _WIDE:
        return Axis(title, *log_ends(places), ticks, log=True)
    return Axis(title, *find_ends(places), ticks)


def _draw_rate(name: str, at: dict[str, float], point: SweepPoint) -> Dot:
    middle = median(point.rates)
    tip = f"{name}: {numbers.format_quantity(middle, 'unit/s')} at {point.value}"
    return Dot(at[point.value], middle, tip, min(point.rates), max(point.rates))


def _draw_p99(name: str, at: dict[str, float], point: SweepPoint) -> Dot:
    middle = median(point.p99s)
    tip = f"{name}: p99 {numbers.format_quantity(middle, 's')} at {point.value}"
    return Dot(at[point.value], middle, tip, min(point.p99s), max(point.p99s))


def _build_table(book: Book, swept: SweptStream) -> doc.RowTable:
    by_name = {
        name: {p.value: p for p in list_swept_points(book, swept, name)}
        for name in book.view.candidates
    }
    base = by_name[book.run.design.base]
    rows: list[doc.TableRow] = [
        (
            name,
            *(
                _format_cell(points.get(v), None if points is base else base.get(v))
                for v in swept.streams
            ),
        )
        for name, points in by_name.items()
    ]
    return doc.RowTable(doc.make_columns("candidate", *swept.streams), rows, swept.label)


def _format_cell(point: SweepPoint | None, base: SweepPoint | None) -> doc.TableCell:
    if point is None:
        return doc.TableCell(numbers.DASH)
    rate, p99 = median(point.rates), numbers.format_quantity(median(point.p99s), "s")
    against = (
        f", {numbers.format_ratio(rate / median(base.rates))}"
        if base and median(base.rates)
        else ""
    )
    return doc.TableCell(numbers.format_quantity(rate, "unit/s"), beside=f"{p99}{against}")


SECTION = Section("By the swept option", 25, build)
