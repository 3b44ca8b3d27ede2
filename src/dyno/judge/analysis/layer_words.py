"""CPU time by layer in words: what an operation costs more, and in which parts of the engine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dyno import numbers
from dyno.judge.analysis.layers import UNATTRIBUTED
from dyno.record import Run
from dyno.record.cause import CpuDifference, LayerDifference

#: Layers that a sentence names, with a difference and within the margin.
LAYERS_NAMED, WITHIN_NAMED = 3, 1
#: Of the change, that a layer must hold to be named before all others together.
NAMED_LEAST = 0.05
#: Layers that are named where none is certain.
LIKELY_NAMED = 2
#: Of the base's CPU time, that a layer must hold to be told as within the margin.
WITHIN_LEAST = 0.1
#: Of the base's CPU time, that has no layer and is told.
UNATTRIBUTED_LEAST_PERCENT = 1.0
CHANGED = ("costlier", "cheaper")


def describe_cpu(phases: Sequence[CpuDifference]) -> Iterator[str]:
    """A clause or more of the phase that changed most; further ones are counted."""
    if not phases:
        return
    first = phases[0]
    several_workloads = len({each.workload for each in phases}) > 1
    several_phases = len({each.phase for each in phases}) > 1
    places = [first.workload] * several_workloads + [first.phase] * several_phases
    where = f" on {first.candidate}" + (f" in {', '.join(places)}" if places else "")
    yield from _describe_phase(first, where)
    if others := sum(each.total.word in CHANGED for each in phases[1:]):
        yield f"CPU time differs in {others} further phase{'s' if others > 1 else ''}"


def _describe_phase(cpu: CpuDifference, where: str) -> Iterator[str]:
    total = cpu.total
    amount = format_difference(total, cpu.total.base_ns)
    large = _list_large(cpu)
    named = [row for row in large if row.word in CHANGED][:LAYERS_NAMED]
    if total.word not in CHANGED and not named:
        whole = numbers.format_quantity(total.base_ns, "ns")
        yield f"{_say_unsure(total)}: {amount} of {whole} an operation{where}"
        return
    told = f"of {amount} CPU time an operation{where}"
    parts = [f"{format_difference(row, total.base_ns)} in {name_layer(row)}" for row in named]
    if parts:
        rest = total.difference_ns - sum(row.difference_ns for row in named)
        parts.append(f"{format_time(rest, total.base_ns, signed=True)} in others")
        yield f"{told}, {', '.join(parts)}"
    else:
        likely = sorted(large, key=lambda row: (row.p_value, -abs(row.difference_ns)))
        guesses = (
            f"{format_difference(row, total.base_ns)} in {name_layer(row)}"
            for row in likely[:LIKELY_NAMED]
        )
        likeliest = " and ".join(guesses)
        yield f"{told}, no large part is certain" + (likeliest and f", the likeliest {likeliest}")
    within = [row for row in cpu.layers if is_within_margin(row, cpu)]
    for row in sorted(within, key=lambda row: -row.base_ns)[:WITHIN_NAMED]:
        yield f"{name_layer(row)} differs by less than {cpu.margin_percent:.2g} % of the whole"
    yield from filter(None, (describe_unattributed(cpu), describe_explained(cpu)))


def _list_large(cpu: CpuDifference) -> list[LayerDifference]:
    """The layers that hold a part of the change that is worth its name: a small one that is certain
    would else stand in front of a large one that is not.
    """
    largest = max(map(abs, (cpu.total.difference_ns, *(it.difference_ns for it in cpu.layers))))
    return [row for row in cpu.layers if abs(row.difference_ns) >= NAMED_LEAST * largest]


def describe_explained(cpu: CpuDifference) -> str:
    """`CPU time explains 93 % [85, 101] of the difference in time`; empty where it is not known."""
    if cpu.explained is None:
        return ""
    share = cpu.explained
    if share.high_percent < 0:
        return "CPU time and time went opposite ways"
    ends = numbers.format_interval(share.low_percent, share.high_percent, "{:.0f}".format)
    size = f"{share.percent:.0f} % {ends}".replace("-", "−")
    if share.low_percent <= 0:
        return f"CPU time is not shown to explain the difference in time: {size} of it"
    return f"CPU time explains {size} of the difference in time"


def describe_unattributed(cpu: CpuDifference) -> str:
    """How much of the CPU time has no layer; empty where it is little."""
    if cpu.unattributed_percent < UNATTRIBUTED_LEAST_PERCENT:
        return ""
    return f"{cpu.unattributed_percent:.0f} % of the CPU time has no known layer"


def _say_unsure(total: LayerDifference) -> str:
    if total.word == "undecided":
        return "whether CPU time differs is not certain"
    return f"CPU time is {total.word}"


def is_within_margin(row: LayerDifference, cpu: CpuDifference) -> bool:
    """Is a layer of some weight surely neither costlier nor cheaper by what matters?"""
    margin_ns = cpu.margin_percent / 100 * cpu.total.base_ns
    within = row.low_ns > -margin_ns and row.high_ns < margin_ns
    heavy = row.base_ns >= WITHIN_LEAST * cpu.total.base_ns
    return (
        row.word not in (*CHANGED, "undecided")
        and within
        and heavy
        and row.layer not in UNATTRIBUTED
    )


def name_layer(row: LayerDifference) -> str:
    """`the parser`; what has no layer in words."""
    if row.layer in UNATTRIBUTED:
        return "functions without a known layer"
    return f"the {row.layer}" if not row.layer.startswith(("the ", "kernel")) else row.layer


def format_difference(row: LayerDifference, scale_ns: float) -> str:
    """`+14.0 µs [11.0, 17.0]`, in the unit and to the digit of a time of `scale_ns`."""
    difference = format_time(row.difference_ns, scale_ns, signed=True)
    return f"{difference} {format_ends(row.low_ns, row.high_ns, scale_ns)}"


def format_time(ns: float, scale_ns: float, *, signed: bool = False, further: int = 0) -> str:
    """`14.0 µs`, or signed `+14.0 µs`; `further` digits more."""
    _, unit = numbers.choose_scale(scale_ns, "ns")
    number = _format_number(ns, scale_ns, further)
    is_more = signed and ns > 0 and number.strip("0.") != ""
    return f"{'+' if is_more else ''}{number}{unit}"


def format_ends(low_ns: float, high_ns: float, scale_ns: float, *, further: int = 0) -> str:
    """`[11.0, 17.0]`, likewise."""
    return numbers.format_interval(
        low_ns, high_ns, lambda ns: _format_number(ns, scale_ns, further)
    )


def _format_number(ns: float, scale_ns: float, further: int) -> str:
    """To a digit that three of `scale_ns` have, so that all numbers beside each other agree."""
    factor, _ = numbers.choose_scale(scale_ns, "ns")
    places = 2 - math.floor(math.log10(scale_ns / factor)) + further if scale_ns > 0 else 0
    text = f"{ns / factor:.{max(0, places)}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def describe_cpu_sampling(run: Run) -> str:
    """What is not seen of where CPU time goes, why, and what still tells of causes; empty where all
    of it is sampled.
    """
    if (sampling := run.cpu_sampling) is None:
        return ""
    if sampling.missing:
        return (
            f"CPU time is not sampled: {sampling.missing}. Plans, the servers' counters and "
            "`dyno count` still tell of causes."
        )
    sentences = []
    if attached := [side.name for side in run.candidates if side.attached]:
        sentences.append(f"CPU time of {', '.join(attached)}, which runs already, is not sampled.")
    if not sampling.kernel:
        sentences.append(
            "CPU time is sampled without the kernel's, since perf_event_paranoid is 2; "
            "`sudo sysctl kernel.perf_event_paranoid=1` shows that, too."
        )
    return " ".join(sentences)
