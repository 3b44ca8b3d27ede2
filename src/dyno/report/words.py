"""The words of a report: what a metric and a verdict are called, the same in text and on the page.

No word here says "no change": a difference that was not found is not an equality that was shown.
"""

from __future__ import annotations

from dyno.record import Comparison, Metric, Run
from dyno.report.numbers import interval

_NAMES = {
    "rate_per_s": "rate",
    "failed_percent": "failed",
    "size_bytes": "database size",
    "max": "max response",
}
_TOKENS = {"cpu": "CPU", "kb": "KB"}
_UNITS = {"ns", "us", "ms", "bytes", "percent", "count"}

QUICK = "QUICK: one look at a shortened workload; not to be mixed with full runs"
SLOWDOWN = "slowdown: candidate's time ÷ base's − 1; positive is worse, whatever the metric"


def metric_name(name: str) -> str:
    """`latency_ns_p99` → `latency p99`, `server_cpu_us_per_op` → `server CPU/op`."""
    if name in _NAMES:
        return _NAMES[name]
    plain, cost, _ = name.partition("_per_op")
    words = " ".join(_TOKENS.get(t, t) for t in plain.split("_") if t not in _UNITS)
    return words + ("/op" if cost else "")


def metric(metric: Metric) -> str:
    """The metric within its phase: `query rate`, `insert latency p99`, `server CPU …`."""
    return f"{metric.transaction} {metric_name(metric.name)}".strip()


def full(metric_: Metric) -> str:
    """The metric within its run: `insert / qr100 / query rate`."""
    return f"{metric_.workload} / {metric_.phase} / {metric(metric_)}"


def verdict(comparison: Comparison) -> str:
    """The verdict with the margin it was held against: `not slower (< 2 %)`."""
    margin = f"{comparison.margin_percent:g} %"
    if comparison.verdict == "not slower":
        return f"not slower (< {margin})"
    return str(comparison.verdict)


def outcome(comparison: Comparison) -> str:
    """The comparison in one sentence, for a reader who wants no table."""
    bounds = interval(comparison.low_percent, comparison.high_percent)
    what = f"{comparison.candidate} against {comparison.base} in {full(comparison.metric)}"
    return f"{what}: {verdict(comparison)}, slowdown {bounds} %"


def factors(run: Run) -> str:
    """`aslr (control): on, off. …`, the first level of each being the base."""
    found = (f"{f.name} ({f.kind}): {', '.join(f.levels)}." for f in run.factors)
    return " ".join(found)


def plural(count: int, noun: str) -> str:
    """`1 block`, `2 blocks`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
