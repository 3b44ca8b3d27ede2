"""A comparison in a person's words: what is longer, larger or dearer, and by how much.

A slowdown of −45 % is "takes 45 % less time"; a database is not "slower" but "larger". What passes
is told by its bound ("at most 1.8 % slower"), since a point estimate within the noise reads like a
finding. What the word "faster" is worth is the margin's affair too: a gain that is surely smaller
than the margin matters as little as such a loss, and is told so.
"""

from __future__ import annotations

from dataclasses import dataclass

from dyno import numbers
from dyno.record import Comparison, Metric, Run

_NAMES = {
    "rate_per_s": "rate",
    "rate_per_min": "rate",
    "failed_percent": "failed",
    "size_bytes": "database size",
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


@dataclass(frozen=True)
class _Kind:
    """How a kind of metric is said to be worse or better: `{}` is the percentage."""

    more: str
    less: str
    worse: str
    better: str


_TIME = _Kind("takes {} more time", "takes {} less time", "slower", "faster")
_WAIT = _Kind("is {} longer", "is {} shorter", "slower", "faster")
_COST = _Kind("is {} more", "is {} less", "dearer", "cheaper")
_SIZE = _Kind("is {} larger", "is {} smaller", "larger", "smaller")
_OTHER = _Kind("is {} worse", "is {} better", "worse", "better")


def _find_kind(metric: Metric) -> _Kind:
    # a suite's mean is one of time ratios
    if metric.name in ("rate_per_s", "rate_per_min", "mean"):
        return _TIME
    if "latency" in metric.name:
        return _WAIT
    if metric.name.endswith("_per_op"):
        return _COST
    if metric.unit in ("bytes", "B", "KB", "kB", "MB") or metric.name.endswith("bytes"):
        return _SIZE
    return _OTHER


def is_slight_gain(c: Comparison) -> bool:
    """Is it better, and surely by less than the margin is in the other direction?"""
    gain_percent = -100.0 * c.margin_percent / (100.0 + c.margin_percent)
    return c.verdict == "faster" and c.low_percent > gain_percent


def describe_verdict(c: Comparison) -> str:
    """The verdict in the metric's own word: `slower`, `not larger`, `cheaper`.

    A gain that is surely smaller than the margin is `not slower`: it matters as little.
    """
    kind = _find_kind(c.metric)
    if c.verdict == "slower":
        return kind.worse
    if c.verdict == "not slower" or is_slight_gain(c):
        return f"not {kind.worse}"
    return kind.better if c.verdict == "faster" else str(c.verdict)


def describe_bound(c: Comparison) -> str:
    """`at most 1.8 % slower`, the upper end of the interval; `no slower` where that is no loss."""
    worse = _find_kind(c.metric).worse
    if c.high_percent <= 0.0:
        return f"no {worse}"
    return f"at most {numbers.format_percent(c.high_percent)} {worse}"


def describe_size(c: Comparison) -> str:
    """`takes 45 % less time [43, 47]`, the ends as percentages of the same direction."""
    kind, gain = _find_kind(c.metric), c.slowdown_percent < 0
    said = (kind.less if gain else kind.more).format(
        numbers.format_percent(abs(c.slowdown_percent))
    )
    ends = (-c.high_percent, -c.low_percent) if gain else (c.low_percent, c.high_percent)
    return f"{said} [{', '.join(map(_format_end, ends))}]"


def describe_range(c: Comparison) -> str:
    """`takes between 2.3 % less and 3.4 % more time`, for a verdict that is open."""
    kind = _find_kind(c.metric)
    if c.low_percent >= 0 or c.high_percent <= 0:
        return describe_size(c)
    low, high = numbers.format_percent(-c.low_percent), numbers.format_percent(c.high_percent)
    verb, *words = kind.more.split(" {} ")
    less = kind.less.split(" {} ")[1].removesuffix(" time")
    return f"{verb} between {low} {less} and {high} {words[0]}"


def _format_end(percent: float) -> str:
    """An end of an interval, its sign told only where it is the other one."""
    text = numbers.format_digits(abs(percent), 2)
    return f"−{text}" if percent < 0 and float(text) else text


class Subjects:
    """What each comparison is called within its run: as short as it can be told from the others."""

    def __init__(self, run: Run, told: tuple[Comparison, ...]) -> None:
        self.run = run
        self.metrics = {c.metric for c in told}

    def format_name(self, metric: Metric) -> str:
        """`l.i0`, `oltp_point_select`, `insert qr100 query latency p99`."""
        here = {m for m in self.metrics if m.workload == metric.workload}
        phases = {m.phase for m in here}
        beside = {m for m in here if m.phase == metric.phase}
        parts = []
        if len(self.run.workloads) > 1 or len(phases) == 1:
            parts.append(metric.workload)
        if len(phases) > 1:
            parts.append(metric.phase)
        if len({m.transaction for m in beside}) > 1:
            parts.append(metric.transaction)
        if metric.name != "rate_per_s" or len({m.name for m in beside}) > 1:
            parts.append(format_metric_name(metric.name))
        return " ".join(filter(None, parts))
