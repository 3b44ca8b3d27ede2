"""What sysbench prints of a run: its blocks, lines and columns, made of the driver's reports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from statistics import fmean

from dyno.driver import Bucket, Report

#: How wide the bars of a histogram are.
BAR = 40


def format_interval(report: Report, percentile: int, is_paced: bool) -> Iterator[str]:
    """The line of an interval, and at a rate that of the queue."""
    seconds = report.time_interval or math.inf
    at = f"[ {report.time_total:.0f}s ]"
    latency = f"lat (ms,{percentile}%): {report.latency_pct * 1e3:4.2f}"
    if report.is_sql:
        kinds = (report.reads, report.writes, report.other)
        each = "/".join(f"{count / seconds:4.2f}" for count in kinds)
        yield (
            f"{at} thds: {report.threads_running} tps: {report.events / seconds:4.2f} "
            f"qps: {sum(kinds) / seconds:4.2f} (r/w/o: {each}) {latency} "
            f"err/s: {report.errors / seconds:4.2f} reconn/s: {report.reconnects / seconds:4.2f}"
        )
    else:
        yield f"{at} thds: {report.threads_running} eps: {report.events / seconds:4.2f} {latency}"
    if is_paced:
        comma = "," if report.is_sql else ""
        queue = f"queue length: {report.queue_length}{comma} concurrency: {report.concurrency}"
        yield f"{at} {queue}"


def format_cumulative(report: Report, percentile: int) -> Iterator[str]:
    """The blocks at the end of a run."""
    if report.is_sql:
        yield from _format_sql(report)
    yield ""
    yield "General statistics:"
    yield f"    total time:                          {report.time_total:.4f}s"
    yield f"    total number of events:              {report.events}"
    yield ""
    yield "Latency (ms):"
    yield f"         min: {report.latency_min * 1e3:39.2f}"
    yield f"         avg: {report.latency_avg * 1e3:39.2f}"
    yield f"         max: {report.latency_max * 1e3:39.2f}"
    if percentile:
        yield f"        {percentile:3d}th percentile: {report.latency_pct * 1e3:27.2f}"
    else:
        yield "         percentile stats:               disabled"
    yield f"         sum: {report.latency_sum * 1e3:39.2f}"
    yield ""
    yield "Threads fairness:"
    events = [float(user.events) for user in report.users] or [0.0]
    busy_s = [user.busy_s for user in report.users] or [0.0]
    yield f"    events (avg/stddev):           {_format_spread(events)}"
    yield f"    execution time (avg/stddev):   {_format_spread(busy_s)}"
    yield ""


def _format_sql(report: Report) -> Iterator[str]:
    seconds = report.time_interval or math.inf
    queries = report.reads + report.writes + report.other
    yield "SQL statistics:"
    yield "    queries performed:"
    counts = {"read": report.reads, "write": report.writes, "other": report.other}
    for name, count in (counts | {"total": queries}).items():
        yield f"        {name + ':':<33}{count}"
    rates = {
        "transactions": report.events,
        "queries": queries,
        "ignored errors": report.errors,
        "reconnects": report.reconnects,
    }
    for name, count in rates.items():
        yield f"    {name + ':':<37}{count:<6} ({count / seconds:.2f} per sec.)"


def _format_spread(values: list[float]) -> str:
    """Mean and standard deviation of all users."""
    mean = fmean(values)
    return f"{mean:.4f}/{math.sqrt(fmean((value - mean) ** 2 for value in values)):3.2f}"


def format_histogram(buckets: Iterable[Bucket]) -> Iterator[str]:
    """`--histogram`."""
    buckets = tuple(buckets)
    yield "Latency histogram (values are in milliseconds)"
    yield "       value  ------------- distribution ------------- count"
    highest = max((it.count for it in buckets), default=1)
    for it in buckets:
        bar = "*" * round(it.count / highest * BAR)
        yield f"{it.value_ms:12.3f} |{bar:<{BAR}} {it.count}"
    yield " "
