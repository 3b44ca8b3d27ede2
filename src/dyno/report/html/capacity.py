"""The page of a capacity run: the answer, the curve of latency against rate, every step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from markupsafe import Markup

from dyno import numbers
from dyno.record.capacity import (
    CandidateCapacity,
    CapacityBlock,
    CapacityPlan,
    CapacityResult,
    CapacityStep,
    LimitTerm,
)
from dyno.report.html.charts import (
    Axis,
    Band,
    Chart,
    ChartPanel,
    Dot,
    Dots,
    Line,
    Mark,
    Note,
    choose_colour,
)
from dyno.report.html.drawing import draw_figure
from dyno.report.html.markup import HtmlTable, TableCell, TableRow, build_tables, render
from dyno.report.html.page import PageHead, PagePart, build_page
from dyno.report.text.capacity import (
    describe_answer,
    describe_step,
    format_rate,
    list_running,
)

_PARAGRAPHS = "{% for each in sentences %}<p>{{ each }}</p>\n{% endfor %}"
#: An axis from x to less than so many times x has equal steps, about as many as `TICKS`.
DECADE_SHARE, TICKS = 6.0, 7
#: How far above its line the limit's name stands, as a share of the axis.
ABOVE = 0.03
#: A curve has so many points at most: medians of neighbouring rates.
POINTS = 12
CAPTION = (
    "Each point is a step of a restart; a hollow one broke the limit, and one at the upper edge "
    "had no number, as an overload may have none. The line joins medians of neighbouring rates, "
    "the shaded stretch is the 95 % interval of the rate that holds the limit."
)


def render_capacity(
    plan: CapacityPlan, blocks: Sequence[CapacityBlock], result: CapacityResult
) -> str:
    """The page as text."""
    word = ", ".join(row.word for row in result.comparisons) or "capacity"
    front = PageHead(
        title=f"{plan.run.name}: {'no answer' if result.client else word}",
        eyebrow="Dyno capacity",
        heading=plan.run.name,
        question=f"Which rate holds {plan.limit_words}?",
        aside=plan.run.created_utc,
        candidates=[side.name for side in plan.run.candidates],
        leads=True,
    )
    parts = [PagePart("Answer", "answer", _render_answer(plan, result))]
    if charts := [_make_chart(plan, blocks, result, at) for at in range(len(plan.terms))]:
        parts.append(PagePart("Latency against rate", "curve", draw_figure(charts, CAPTION)))
    parts += [_make_steps(plan, blocks), _make_basis(plan, blocks)]
    return build_page(front, parts)


def _render_answer(plan: CapacityPlan, result: CapacityResult) -> Markup:
    rows = [
        TableRow(
            side.candidate,
            (
                TableCell(_format(side.rate_per_s)),
                TableCell(_format_ends(side)),
                TableCell(", ".join(_format(each) for each in side.restarts)),
            ),
        )
        for side in result.candidates
    ]
    title = f"The highest rate that holds {plan.limit_words}, {result.unit}s/s"
    table = HtmlTable(title, "candidate", ("mean", "95 % interval", "restarts"), rows)
    told = render(_PARAGRAPHS, sentences=list(describe_answer(plan, result)))
    return told + build_tables([table])


def _format(rate: float | None) -> str:
    return "none" if rate is None else format_rate(rate)


def _format_ends(side: CandidateCapacity) -> str:
    if side.low is None or side.high is None:
        return ""
    return f"{format_rate(side.low)} to {format_rate(side.high)}"


def _make_chart(
    plan: CapacityPlan, blocks: Sequence[CapacityBlock], result: CapacityResult, at: int
) -> Chart:
    """The values of one limit's term against the rate, by candidate."""
    term = plan.terms[at]
    by_name = {
        side.name: [
            step
            for block in blocks
            for each in block.restarts
            if each.candidate == side.name
            for step in each.steps
        ]
        for side in plan.run.candidates
    }
    steps = [step for each in by_name.values() for step in each]
    values = [v for step in steps if (v := step.values[at])] + [term.limit]
    x = _make_rate_axis([step.rate_per_s for step in steps], result.unit)
    y = _make_value_axis(term, values)
    marks: list[Mark] = [
        Band((side.low, side.high))
        for side in result.candidates
        if side.low is not None and side.high is not None
    ]
    marks.append(Line([[(x.low, term.limit), (x.high, term.limit)]], "var(--quiet)", dashed=True))
    above = term.limit * (y.high / y.low) ** ABOVE
    marks.append(Note(f"the limit, {term.words}", y=above))
    for position, (name, own) in enumerate(by_name.items()):
        colour = choose_colour(position)
        marks += [
            Line([_join_medians(own, at, y)], colour, name),
            Dots([_make_dot(plan, step, at, y) for step in own], colour, name),
        ]
    name = term.words.split("<")[0]
    return Chart(
        label=name,
        described=f"{name} against the rate, by candidate, with the limit {term.words}",
        x=x,
        panels=[ChartPanel(y, marks, height_px=360)],
    )


def _make_rate_axis(rates: Sequence[float], unit: str) -> Axis:
    low, high = min(rates, default=1.0) / 1.03, max(rates, default=1.0) * 1.03
    return Axis(f"rate, {unit}s/s", low, high, list(_list_ticks(low, high, format_rate)), log=True)


def _make_value_axis(term: LimitTerm, values: Sequence[float]) -> Axis:
    low, high = min(values) / 1.2, max(values) * 1.6
    name = term.words.split("<")[0]
    if term.kind == "errors":
        return Axis(name, low, high, list(_list_ticks(low, high, _format_share)), log=True)

    def write(ns: float) -> str:
        return numbers.format_quantity(ns, "ns")

    title = f"{name}, from the intended time"
    return Axis(title, low, high, list(_list_ticks(low, high, write)), log=True)


def _format_share(share: float) -> str:
    return f"{numbers.format_digits(100.0 * share)} %"


def _list_ticks(
    low: float, high: float, write: Callable[[float], str]
) -> Iterator[tuple[float, str]]:
    """Round numbers: equal steps where the axis is short, else 1, 2 and 5 of each power of ten."""
    if high / low < DECADE_SHARE:
        wanted = (high - low) / TICKS
        power = 10.0 ** math.floor(math.log10(wanted))
        step = next(each * power for each in (1, 2, 5, 10) if each * power >= wanted)
        for number in range(math.ceil(low / step), math.floor(high / step) + 1):
            yield number * step, write(number * step)
        return
    for exponent in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for digit in (1, 2, 5):
            yield digit * 10.0**exponent, write(digit * 10.0**exponent)


def _join_medians(steps: Sequence[CapacityStep], at: int, y: Axis) -> list[tuple[float, float]]:
    """The curve: medians of rate and value over neighbours; without a number counts as beyond."""
    ordered = sorted(steps, key=lambda step: step.rate_per_s)
    size = max(1, math.ceil(len(ordered) / POINTS))
    points = []
    for begin in range(0, len(ordered), size):
        own = ordered[begin : begin + size]
        value = median(_choose_value(step, at, y) for step in own)
        points.append((median(step.rate_per_s for step in own), value))
    return points


def _choose_value(step: CapacityStep, at: int, y: Axis) -> float:
    value = step.values[at]
    return y.high if value is None else max(value, y.low)


def _make_dot(plan: CapacityPlan, step: CapacityStep, at: int, y: Axis) -> Dot:
    value = step.values[at]
    tip = f"{describe_step(plan, step)}; {format_rate(step.goodput_per_s)}/s within the limit"
    shown = y.high if value is None else max(value, y.low)
    return Dot(step.rate_per_s, shown, tip, shape="full" if step.holds else "hollow")


def _make_steps(plan: CapacityPlan, blocks: Sequence[CapacityBlock]) -> PagePart:
    columns = ("said", "within the limit, /s", "failed", "unsent", "driver busy, %")
    tables = []
    for side in plan.run.candidates:
        rows = [
            TableRow(f"{block.block + 1}.{number}", _make_cells(plan, step))
            for block in blocks
            for each in block.restarts
            if each.candidate == side.name
            for number, step in enumerate(each.steps, 1)
        ]
        tables.append(HtmlTable(side.name, "block and step", columns, rows))
    baselines = [
        TableRow(f"{block.block + 1}", _make_cells(plan, step))
        for block in blocks
        for step in block.baselines
    ]
    tables.append(HtmlTable("The same script without an engine", "block", columns, baselines))
    return PagePart("Every step", "steps", build_tables(tables))


def _make_cells(plan: CapacityPlan, step: CapacityStep) -> list[TableCell]:
    busy = step.driver_busy_percent
    return [
        TableCell(describe_step(plan, step), "" if step.holds else "low"),
        TableCell(format_rate(step.goodput_per_s)),
        TableCell(f"{step.failed:,}"),
        TableCell(f"{step.skipped:,}"),
        TableCell("" if busy is None else f"{busy:.0f}"),
    ]


def _describe_running(plan: CapacityPlan) -> str:
    names = " and ".join(list_running(plan))
    return f"{names} ran already: its data were loaded anew, and it was not. " if names else ""


def _make_basis(plan: CapacityPlan, blocks: Sequence[CapacityBlock]) -> PagePart:
    (workload,) = plan.run.workloads
    (phase,) = workload.phases
    (stream,) = phase.streams
    options = " ".join(f"{name}={value}" for name, value in workload.options.items())
    turns = "in turn, the others suspended" if plan.together else "one candidate after the other"
    told = [
        f"{workload.name}, phase {phase.name}: an open loop ({stream.pace.kind} arrivals) over "
        f"{stream.connections} connections; latency counts from the time when a request was due. "
        f"Options: {options or 'none'}.",
        f"{len(blocks)} of {plan.blocks} blocks. In each every candidate was started on fresh data "
        f"and searched for its rate in steps of {plan.step_s:g} s or longer after "
        f"{plan.warmup_s:g} s of warm-up, {turns}. {_describe_running(plan)}A restart's rate is "
        "where a monotone fit of its steps passes the limit; the interval is Student's over "
        "restarts.",
        "Failed requests, and those still unsent at a step's end beyond what may wait within the "
        "limit, count as too late. The rate holds for a step's length; of an hour it says nothing.",
        f"Seed {plan.run.seed}. To repeat: {plan.run.command}",
    ]
    return PagePart("How it was measured", "basis", render(_PARAGRAPHS, sentences=told))
