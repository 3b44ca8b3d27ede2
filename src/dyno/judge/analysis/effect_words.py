"""A comparison in a person's words: what is longer, larger or dearer, and by how much.

A slowdown of −45 % is "takes 45 % less time"; a database is not "slower" but "larger", a server
takes "more memory". What passes is told by its bound ("at most 1.8 % slower"), since a point
estimate within the noise reads like a finding. What the word "faster" is worth is the margin's
affair too: a gain that is surely smaller than the margin matters as little as such a loss, and is
told so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dyno import numbers
from dyno.judge.analysis.measures import CPU_PER_OP
from dyno.judge.stats.verdict import LAST_SHARE
from dyno.record import Comparison, Metric
from dyno.record.verdict import Overall

_NAMES = {
    "rate_per_s": "rate",
    "rate_per_min": "rate",
    "failed_percent": "failed",
    "size_bytes": "database size",
    "database_bytes": "database size",
    "resident_bytes": "resident memory",
    "max": "max response",
}
_TOKENS = {"cpu": "CPU", "kb": "KB"}
_UNITS = {"ns", "us", "ms", "bytes", "percent", "count"}


def format_metric_name(name: str) -> str:
    """`latency_ns_p99` → `latency p99`, `server_cpu_us_per_op` → `server CPU/op`."""
    if name in _NAMES:
        return _NAMES[name]
    plain, cost, _ = name.partition("_per_op")
    words = " ".join(_TOKENS.get(t, t) for t in plain.split("_") if t not in _UNITS)
    return words + ("/op" if cost else "")


def name_metric(metric: Metric) -> str:
    """`insert/l.i0/insert`, and `…/latency p99` for what is no rate: the same from run to run."""
    parts = [metric.workload, metric.phase, metric.transaction]
    if metric.name not in ("rate_per_s", "rate_per_min"):
        parts.append(format_metric_name(metric.name))
    return "/".join(part for part in parts if part)


@dataclass(frozen=True)
class _Kind:
    """How a kind of metric is said to be worse or better: `{}` is the percentage; a candidate `is`
    slower, and `takes` more memory.
    """

    more: str
    less: str
    worse: str
    better: str
    verb: str = "is"


#: Of a verb of kinds, what follows *may*.
_MAY = {"is": "be", "takes": "take", "has": "have"}
_TIME = _Kind("takes {} more time", "takes {} less time", "slower", "faster")
_WAIT = _Kind("is {} longer", "is {} shorter", "slower", "faster")
_CPU = _Kind("takes {} more CPU time", "takes {} less CPU time", "dearer", "cheaper")
_COST = _Kind("is {} more", "is {} less", "dearer", "cheaper")
_SIZE = _Kind("is {} larger", "is {} smaller", "larger", "smaller")
_MEMORY = _Kind(
    "takes {} more memory", "takes {} less memory", "more memory", "less memory", "takes"
)
_INSTRUCTIONS = _Kind(
    "takes {} more instructions", "takes {} fewer instructions", "heavier", "lighter"
)
_CAPACITY = _Kind("holds {} less", "holds {} more", "less capacity", "more capacity", "has")
_OTHER = _Kind("is {} worse", "is {} better", "worse", "better")


#: Of names of sizes, what tells memory from disk.
_OF_MEMORY = ("resident", "memory", "rss")


def _find_kind(metric: Metric) -> _Kind:
    # a suite's mean is one of time ratios
    if metric.name in ("rate_per_s", "rate_per_min", "mean"):
        return _TIME
    if "latency" in metric.name or metric.name == "recovery":
        return _WAIT
    if metric.name == "capacity":
        return _CAPACITY
    if metric.name == "instructions_per_op":
        return _INSTRUCTIONS
    if metric.name == CPU_PER_OP:
        return _CPU
    if metric.name.endswith("_per_op"):
        return _COST
    if any(word in metric.name for word in _OF_MEMORY):
        return _MEMORY
    if metric.unit in ("bytes", "B", "KB", "kB", "MB") or metric.name.endswith("bytes"):
        return _SIZE
    return _OTHER


def is_told_whole(metric: Metric) -> bool:
    """Do its words say what is more or less, so that nobody need name the metric beside them?"""
    return _find_kind(metric) in (_TIME, _CPU, _INSTRUCTIONS, _CAPACITY)


def describe_axis(rows: Sequence[Comparison]) -> str:
    """What the percentages of rows are, of which a positive one is worse: `time` or `CPU time` that
    work takes, the `loss` of capacity, or the `change` of whatever it is.
    """
    kinds = [_find_kind(row.metric) for row in rows]
    return (
        {_TIME: "time", _CPU: "CPU time", _CAPACITY: "loss"}.get(kinds[0], "change")
        if len({*kinds}) == 1
        else "change"
    )


def measure_losses(c: Comparison) -> tuple[float, float, float]:
    """How much worse it is, and both ends, in the percentage that is told: of a capacity how much
    less it holds, else the slowdown.
    """
    if _find_kind(c.metric) is not _CAPACITY:
        return c.slowdown_percent, c.low_percent, c.high_percent
    percents = (c.slowdown_percent, c.low_percent, c.high_percent)
    loss, low, high = (100.0 * it / (100.0 + it) for it in percents)
    return loss, low, high


def is_slight_gain(c: Comparison) -> bool:
    """Is it better, and surely by less than the margin is in the other direction?"""
    gain_percent = -100.0 * c.margin_percent / (100.0 + c.margin_percent)
    return c.verdict == "faster" and c.low_percent > gain_percent


def is_gain(c: Comparison) -> bool:
    """Is it better, and not by too little to matter?"""
    return c.verdict == "faster" and not is_slight_gain(c)


def describe_verdict(c: Comparison) -> str:
    """The verdict in the metric's own word: `slower`, `not larger`, `cheaper`.

    A gain that is surely smaller than the margin is `not slower`: it matters as little.
    """
    return describe_word(c.metric, "not slower" if is_slight_gain(c) else c.verdict)


def describe_word(metric: Metric, verdict: Overall) -> str:
    """`faster` of a size is `smaller`, `not slower` of memory is `not more memory`."""
    kind = _find_kind(metric)
    words = {"slower": kind.worse, "not slower": f"not {kind.worse}", "faster": kind.better}
    return words.get(verdict, verdict)


def _choose_kind(own: Sequence[Comparison]) -> _Kind:
    kinds = list(dict.fromkeys(_find_kind(c.metric) for c in own))
    timed = any(kind.worse == _TIME.worse for kind in kinds)
    return kinds[0] if len(kinds) == 1 else _TIME if timed else _OTHER


def describe_passed(own: Sequence[Comparison]) -> str:
    """`not slower`, `not larger`: what comparisons that pass have in common."""
    return f"not {_choose_kind(own).worse}"


def describe_claim(own: Sequence[Comparison], word: str, whom: str) -> str:
    """What the comparisons say of their candidate: `is slower than X`, `takes no more memory than
    X`, `may be larger than X`, by `word`: `slower`, `not slower`, `faster`, `maybe slower`, `maybe
    faster`. Metrics of several kinds are `slower` where one of them is of time, else `worse`.
    """
    kind = _choose_kind(own)
    than = kind.better if word.endswith("faster") else kind.worse
    if word.startswith("maybe"):
        return f"may {_MAY[kind.verb]} {than} than {whom}"
    if word.startswith("not"):
        return f"{kind.verb} {'not' if kind.verb == 'is' else 'no'} {than} than {whom}"
    return f"{kind.verb} {than} than {whom}"


def describe_times(c: Comparison) -> str:
    """`at least 2,500×`, by the nearer end of the interval, of what is known by a bound only and is
    slower or faster; else empty.
    """
    if not c.bound or c.verdict not in ("slower", "faster"):
        return ""
    percent = c.low_percent if c.verdict == "slower" else c.high_percent
    ratio = 1.0 + percent / 100.0
    times = max(ratio, 1 / ratio)
    step = 10.0 ** max(0, math.floor(math.log10(times)) - 1)
    return f"at least {math.floor(times / step) * step:,.0f}×"


def describe_loss_rule(c: Comparison) -> str:
    """Why a loss is called one although its interval begins below the margin, in a clause; empty
    where it begins above, and where there is no loss.
    """
    if c.verdict != "slower" or c.low_percent >= c.margin_percent:
        return ""
    passes = c.slowdown_percent >= c.margin_percent
    estimate = "passes it" if passes else f"is at least {LAST_SHARE:g} of it"
    return (
        f"{_find_kind(c.metric).worse}: the interval is above 0 and reaches the margin of "
        f"{c.margin_percent:g} %, the estimate {estimate}"
    )


def describe_bound(c: Comparison) -> str:
    """`is at most 1.8 % slower`, the upper end of the interval; `is no slower` where that is no
    loss.
    """
    kind = _find_kind(c.metric)
    if c.high_percent <= 0.0:
        return f"{kind.verb} no {kind.worse}"
    return f"{kind.verb} at most {numbers.format_percent(measure_losses(c)[2])} {kind.worse}"


#: From here on a slowdown is told in times.
_TIMES_PERCENT = 900.0


def describe_size(c: Comparison) -> str:
    """`takes 45 % less time [43, 47]`, the ends as percentages of the same direction; `takes 13
    [12, 14] times the time`.
    """
    kind, gain = _find_kind(c.metric), c.slowdown_percent < 0
    if times := describe_times(c):
        return f"is {times} {kind.better if gain else kind.worse}"
    loss, low, high = measure_losses(c)
    if kind is _TIME and loss >= _TIMES_PERCENT:
        whole, low, high = (1.0 + percent / 100.0 for percent in (loss, low, high))
        ends = numbers.format_interval(low, high, "{:,.0f}".format)
        return f"takes {whole:,.0f} {ends} times the time"
    said = (kind.less if gain else kind.more).format(numbers.format_percent(abs(loss)))
    low, high = (-high, -low) if gain else (low, high)
    return f"{said} {numbers.format_interval(low, high, _format_end)}"


#: From here on a change is told as a multiple, too.
_LARGE = 1.25


def describe_ratio(c: Comparison) -> str:
    """`1.5× faster`, of a change that is large and called one; else empty."""
    ratio = 1.0 + c.slowdown_percent / 100.0
    if c.bound:
        times = describe_times(c)
        return times and f"{times} {describe_word(c.metric, c.verdict)}"
    if (
        c.verdict not in ("slower", "faster")
        or not ratio > 0
        or max(ratio, 1 / ratio) < _LARGE
        or not math.isfinite(ratio)
    ):
        return ""
    kind = _find_kind(c.metric)
    times = numbers.format_digits(max(ratio, 1 / ratio), 2)
    return f"{times}× {kind.worse if ratio > 1 else kind.better}"


def describe_range(c: Comparison) -> str:
    """`takes between 2.3 % less and 3.4 % more time`, for a verdict that is open."""
    kind = _find_kind(c.metric)
    if math.isnan(c.low_percent) or c.low_percent >= 0 or c.high_percent <= 0:
        return describe_size(c)
    _, least, most = measure_losses(c)
    low, high = numbers.format_percent(-least), numbers.format_percent(most)
    verb, *words = kind.more.split(" {} ")
    less = kind.less.split(" {} ")[1]
    for noun in (" CPU time", " time", " memory"):
        less = less.removesuffix(noun)
    return f"{verb} between {low} {less} and {high} {words[0]}"


def _format_end(percent: float) -> str:
    """An end of an interval, its sign told only where it is the other one."""
    text = numbers.format_digits(abs(percent), 2)
    return f"−{text}" if percent < 0 and float(text) else text


class Subjects:
    """What each comparison is called within its run: as short as it can be told from the others."""

    def __init__(self, told: Sequence[Comparison]) -> None:
        self.metrics = {c.metric for c in told}

    def format_name(self, metric: Metric) -> str:
        """`l.i0`, `oltp_point_select`, `insert qr100 query latency p99`."""
        here = {m for m in self.metrics if m.workload == metric.workload}
        phases = {m.phase for m in here}
        beside = {m for m in here if m.phase == metric.phase}
        parts = []
        if len({m.workload for m in self.metrics}) > 1 or len(phases) == 1:
            parts.append(metric.workload)
        if len(phases) > 1:
            parts.append(metric.phase)
        if len({m.transaction for m in beside}) > 1:
            parts.append(metric.transaction)
        if metric.name not in ("rate_per_s", CPU_PER_OP) or len({m.name for m in beside}) > 1:
            parts.append(format_metric_name(metric.name))
        return " ".join(filter(None, parts))
