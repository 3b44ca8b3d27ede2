"""A capacity in sentences, for the terminal and the page alike."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dyno import numbers
from dyno.record.capacity import (
    CandidateCapacity,
    CapacityComparison,
    CapacityPlan,
    CapacityResult,
    CapacityStep,
)
from dyno.report.words import format_client_loads

WORDS = {"more": "more capacity", "less": "less capacity", "not less": "not less capacity"}


def format_rate(per_s: float) -> str:
    """`12,345` or, below a thousand, three digits."""
    return f"{per_s:,.0f}" if per_s >= 999.5 else numbers.format_digits(per_s)


def describe_answer(plan: CapacityPlan, result: CapacityResult) -> Iterator[str]:
    """Every sentence of the answer, the verdict first."""
    if result.client:
        yield f"No answer: the driver, not the server, is the limit: {result.client}."
        return
    for each in result.comparisons:
        yield describe_comparison(result, each)
    for side in result.candidates:
        yield describe_candidate(plan, result, side)
    if running := list_running(plan):
        yield (
            f"{' and '.join(running)} ran already and was not restarted: what another start would "
            "bring is not in the interval."
        )
    if result.hosts:
        loads = format_client_loads(result.hosts)
        yield f"The load came from {loads}, at the highest rates that held."
    for doubt in result.doubts:
        yield f"Doubtful: {doubt}."
    if not result.complete:
        yield "The run is not over."


def list_running(plan: CapacityPlan) -> list[str]:
    """The candidates that are servers which run already."""
    return [side.name for side in plan.run.candidates if side.attached]


def describe_comparison(result: CapacityResult, row: CapacityComparison) -> str:
    """`B: 12 % [9, 15] more capacity than A at p99<10ms (margin 5 %).`"""
    at = f"at {result.limit_words} (margin {row.margin_percent:g} %)"
    if math.isnan(row.change_percent):
        if row.word == "inconclusive":
            return f"{row.candidate} against {row.base}: inconclusive {at}."
        holds = row.candidate if row.word == "more" else row.base
        return f"{row.candidate}: {WORDS[row.word]} than {row.base} {at}: only {holds} holds it."
    change = abs(row.change_percent)
    ends = sorted(
        (row.low_percent, row.high_percent)
        if row.change_percent >= 0
        else (-row.high_percent, -row.low_percent)
    )
    shown = f"[{ends[0]:.1f}, {ends[1]:.1f}]".replace("-", "\u2212")
    size = f"{numbers.format_digits(change, 2)} % {shown}"
    direction = "more" if row.change_percent >= 0 else "less"
    if row.word in ("more", "less"):
        return f"{row.candidate}: {size} {direction} capacity than {row.base} {at}."
    return (
        f"{row.candidate} against {row.base}: {WORDS.get(row.word, 'inconclusive')}, {size} "
        f"{direction} {at}."
    )


def describe_candidate(plan: CapacityPlan, result: CapacityResult, side: CandidateCapacity) -> str:
    """`A holds p99<10ms up to 12,300 events/s [12,000, 12,600] (16 connections, 8 restarts).`"""
    unit = f"{result.unit}s/s"
    what = "search" if side.candidate in list_running(plan) else "restart"
    ending = {"search": "es", "restart": "s"}[what] if len(side.restarts) != 1 else ""
    restarts = f"{len(side.restarts)} {what}{ending}"
    if not side.restarts:
        return f"{side.candidate}: no block is over."
    if any(side.restarts) and side.rate_per_s is None:
        return f"{side.candidate} holds {result.limit_words} in some restarts only."
    if side.rate_per_s is None:
        lowest = f"{format_rate(side.lowest_tried_per_s)} {unit}"
        return f"{side.candidate} holds {result.limit_words} at no rate: even {lowest} breaks it."
    ends = (
        f" [{format_rate(side.low)}, {format_rate(side.high)}]"
        if side.low is not None and side.high is not None
        else ""
    )
    (phase,) = plan.run.workloads[0].phases
    users = f"{phase.connections} connection{'s' if phase.connections != 1 else ''}"
    return (
        f"{side.candidate} holds {result.limit_words} up to {format_rate(side.rate_per_s)} "
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
