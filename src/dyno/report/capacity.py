"""A capacity as a document: the answer, the curve of latency against rate, every step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from dyno import numbers
from dyno.numbers import format_count
from dyno.record.capacity import (
    CandidateCapacity,
    CapacityBlock,
    CapacityPlan,
    CapacityStep,
    CapacityVerdict,
    LimitTerm,
)
from dyno.report import document as doc
from dyno.report.charts import (
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
from dyno.report.headline import build_headline, list_reasons
from dyno.report.names import NamedRow
from dyno.report.result import Result
from dyno.report.sections.verdict import choose_tone
from dyno.report.words import format_client_loads, format_level


def format_rate(per_s: float) -> str:
    """`12,345` or, below a thousand, three digits."""
    return f"{per_s:,.0f}" if per_s >= 999.5 else numbers.format_digits(per_s)


def describe_rates(plan: CapacityPlan, verdict: CapacityVerdict) -> Iterator[str]:
    """What each candidate holds, and how that is meant; nothing where the driver is the limit."""
    if verdict.overall == "invalid":
        return
    for side in verdict.candidates:
        yield describe_candidate(plan, side)
    if running := list_running(plan):
        yield (
            f"{' and '.join(running)} ran already and was not restarted: what another start would "
            "bring is not in the interval."
        )
    if verdict.hosts:
        loads = format_client_loads(verdict.hosts)
        yield f"The load came from {loads}, at the highest rates that held."


def list_running(plan: CapacityPlan) -> list[str]:
    return [side.name for side in plan.run.candidates if side.attached]


def describe_candidate(plan: CapacityPlan, side: CandidateCapacity) -> str:
    """`A holds p99<10ms up to 12,300 events/s [12,000, 12,600] (16 connections, 8 restarts).`"""
    unit = f"{plan.unit}/s"
    restarts = format_count(len(side.restarts), "restart")
    if side.candidate in list_running(plan):
        restarts = f"{len(side.restarts)} search{'es' * (len(side.restarts) != 1)}"
    if not side.restarts:
        return f"{side.candidate}: no block is over."
    if any(side.restarts) and side.rate_per_s is None:
        return f"{side.candidate} holds {plan.limit_words} in some restarts only."
    if side.rate_per_s is None:
        lowest = f"{format_rate(side.lowest_tried_per_s)} {unit}"
        return f"{side.candidate} holds {plan.limit_words} at no rate: even {lowest} breaks it."
    ends = f" {numbers.format_interval(side.low, side.high, format_rate)}".rstrip()
    (phase,) = plan.run.workloads[0].phases
    users = format_count(phase.connections, "connection")
    return (
        f"{side.candidate} holds {plan.limit_words} up to {format_rate(side.rate_per_s)} "
        f"{unit}{ends} ({users}, {restarts}).{_describe_overload(side)}"
    )


def _describe_overload(side: CandidateCapacity) -> str:
    if not side.overloaded:
        return ""
    since = f"since second {side.overloaded_after_s}"
    return (
        f" {side.overloaded} of the {side.broken} steps that broke it were overloads: the backlog "
        f"grew, {since} of a step at the earliest."
    )


def describe_step(plan: CapacityPlan, step: CapacityStep) -> str:
    """`12,400/s: p99 8.1 ms, holds` or `overloaded since second 2`."""
    said = [
        _format_value(term.words, value)
        for term, value in zip(plan.terms, step.values, strict=True)
    ]
    word = "holds" if step.holds else "breaks"
    if step.overloaded_since_s is not None:
        word = f"overloaded since second {step.overloaded_since_s}"
    return f"{format_rate(step.rate_per_s)}/s: {', '.join(said)}, {word}"


def _format_value(words: str, value: float | None) -> str:
    name = words.split("<")[0]
    if value is None:
        return f"{name} without an answer"
    if name == "errors":
        return f"errors {numbers.format_digits(100.0 * value)} %"
    return f"{name} {numbers.format_quantity(value, 'ns')}"


STEP_COLUMNS = doc.make_columns(
    *("block and step", "said", "within the limit, /s", "failed", "unsent", "driver busy, %")
)
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


def build_capacity_result(
    plan: CapacityPlan, blocks: Sequence[CapacityBlock], verdict: CapacityVerdict
) -> Result:
    """Return what the blocks so far came to."""
    run = plan.run
    return Result(
        noun="a capacity",
        name=run.name,
        headline=f"{build_headline(run.candidates, verdict)}.",
        created_utc=run.created_utc,
        question=f"Which rate holds {plan.limit_words}?",
        command=run.command,
        verdict=verdict,
        sides=run.candidates,
        workloads=[each.name for each in run.workloads],
        rows=name_rows(plan, verdict),
        values={
            (side.candidate, plan.metric): [rate for rate in side.restarts if rate]
            for side in verdict.candidates
        },
        basis=[*describe_rates(plan, verdict)],
        document=build_capacity(plan, blocks, verdict),
    )


def name_rows(plan: CapacityPlan, verdict: CapacityVerdict) -> list[NamedRow]:
    return [NamedRow(f"rate that holds {plan.limit_words}", "", it) for it in verdict.comparisons]


def build_capacity(
    plan: CapacityPlan, blocks: Sequence[CapacityBlock], verdict: CapacityVerdict
) -> doc.Document:
    """All of a run: the answer, the curve of latency against rate, every step."""
    charts = [_make_chart(plan, blocks, verdict, at) for at in range(len(plan.terms))]
    curve: list[doc.Block] = [
        doc.Heading("Latency against rate", "curve"),
        doc.Figure(charts, CAPTION),
    ]
    return [
        doc.Heading("Answer", "answer"),
        *build_answer(plan, verdict),
        *(curve if charts else []),
        doc.Heading("Every step", "steps"),
        *_list_steps(plan, blocks),
        doc.Heading("How it was measured", "basis"),
        *_list_basis(plan, blocks),
    ]


def build_answer(plan: CapacityPlan, verdict: CapacityVerdict) -> list[doc.Block]:
    sides, level = plan.run.candidates, format_level(plan.run).removesuffix(" interval")
    named = name_rows(plan, verdict)
    head = [build_headline(sides, verdict)] if verdict.overall != "measured" else []
    rows = [
        (
            side.candidate,
            _format(side.rate_per_s),
            numbers.format_interval(side.low, side.high, format_rate),
            ", ".join(map(_format, side.restarts)),
        )
        for side in verdict.candidates
    ]
    columns = doc.make_columns("candidate", "mean", "95 % interval", after=("restarts",))
    return [
        *(doc.Prose(f"{it}.", choose_tone(verdict)) for it in head),
        *doc.list_prose(f"{it}." for it in list_reasons(verdict, named)),
        *([doc.Forest(sides, named, level)] if named else []),
        *doc.list_prose(describe_rates(plan, verdict)),
        doc.RowTable(
            columns, rows, f"The highest rate that holds {plan.limit_words}, {plan.unit}/s"
        ),
    ]


def _format(rate: float | None) -> str:
    return "none" if rate is None else format_rate(rate)


def _make_chart(
    plan: CapacityPlan, blocks: Sequence[CapacityBlock], verdict: CapacityVerdict, at: int
) -> Chart:
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
    x = _make_rate_axis([step.rate_per_s for step in steps], plan.unit)
    y = _make_value_axis(term, values)
    marks: list[Mark] = [
        Band((side.low, side.high))
        for side in verdict.candidates
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
    return Axis(f"rate, {unit}/s", low, high, list(_list_ticks(low, high, format_rate)), log=True)


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


def _list_steps(plan: CapacityPlan, blocks: Sequence[CapacityBlock]) -> Iterator[doc.Block]:
    """A table for each candidate, and one of the same script without an engine."""
    for side in plan.run.candidates:
        rows = [
            _make_row(plan, f"{block.block + 1}.{number}", step)
            for block in blocks
            for each in block.restarts
            if each.candidate == side.name
            for number, step in enumerate(each.steps, 1)
        ]
        yield doc.RowTable(STEP_COLUMNS, rows, side.name)
    baselines = [
        _make_row(plan, f"{block.block + 1}", step) for block in blocks for step in block.baselines
    ]
    yield doc.RowTable(STEP_COLUMNS, baselines, "The same script without an engine")


def _make_row(plan: CapacityPlan, name: str, step: CapacityStep) -> list[doc.Words | doc.TableCell]:
    busy = step.driver_busy_percent
    return [
        name,
        doc.TableCell(describe_step(plan, step), tone="" if step.holds else "bad"),
        format_rate(step.goodput_per_s),
        f"{step.failed:,}",
        f"{step.skipped:,}",
        "" if busy is None else f"{busy:.0f}",
    ]


def _describe_running(plan: CapacityPlan) -> str:
    names = " and ".join(list_running(plan))
    return f"{names} ran already: its data were loaded anew, and it was not. " if names else ""


def _list_basis(plan: CapacityPlan, blocks: Sequence[CapacityBlock]) -> list[doc.Block]:
    (workload,) = plan.run.workloads
    (phase,) = workload.phases
    (stream,) = phase.streams
    options = " ".join(f"{name}={value}" for name, value in workload.options.items())
    turns = "in turn, the others suspended" if plan.together else "one candidate after the other"
    sentences = [
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
        f"Seed {plan.run.seed}.",
    ]
    return [*doc.list_prose(sentences), doc.Listing(plan.run.command, "to repeat")]
