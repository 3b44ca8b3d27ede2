"""What a step at a rate measured, held against the limits.

A request that failed has no latency and counts as one that came too late, and so do those that
were still unsent at the end, but for as many as may wait within the limit (Little's law: at most
rate × limit wait at a time if each waits less than the limit).
"""

from __future__ import annotations

import math

import numpy as np

from dyno.errors import TrialFailed
from dyno.judge.stats.histogram import decode_histogram
from dyno.record import PhaseRecord, Tally
from dyno.record.capacity import CapacityStep, LimitTerm

#: How long a backlog may be, in seconds of work, where no limit names a time.
PATIENCE_S = 1.0
#: Fewer unsent requests at the end are no backlog, whatever the rate.
UNSENT_FEW = 3
#: Of requests that may fail where a mean or maximum is limited and errors are not.
FAILED_SHARE = 0.01
#: The reading of the busiest thread of a driver beside a server.
DRIVER_BUSY = "driver_busy_percent"


def judge_step(
    record: PhaseRecord, terms: tuple[LimitTerm, ...], rate_per_s: float
) -> CapacityStep:
    """The step that `record` is; `TrialFailed` where it was broken off, or nothing was due."""
    (tally,) = record.streams
    if record.interrupted or not tally.intended:
        raise TrialFailed(f"a step at {rate_per_s:,.0f} events/s measured nothing")
    patience_s = find_patience_s(terms)
    late = count_late_unsent(tally, rate_per_s, patience_s)
    values = tuple(_measure_term(term, tally, late) for term in terms)
    loads = [None if v is None else v / t.limit for v, t in zip(values, terms, strict=True)]
    known = [load for load in loads if load is not None]
    since_s = _find_overload(record, tally, rate_per_s, patience_s) if late else None
    duration_s = record.duration_s
    return CapacityStep(
        rate_per_s=rate_per_s,
        duration_s=duration_s,
        intended=tally.intended,
        done=tally.done,
        failed=tally.failed,
        skipped=tally.skipped,
        values=values,
        load=max(known) if len(known) == len(loads) and since_s is None else None,
        goodput_per_s=_count_good(tally, terms) / duration_s if duration_s else 0.0,
        overloaded_since_s=since_s,
        driver_busy_percent=next(
            (each.value for each in record.readings if each.name == DRIVER_BUSY), None
        ),
        clients=tuple(record.list_client_loads()),
    )


def find_patience_s(terms: tuple[LimitTerm, ...]) -> float:
    """The longest time that a limit names."""
    return max((t.limit / 1e9 for t in terms if t.kind != "errors"), default=PATIENCE_S)


def count_late_unsent(tally: Tally, rate_per_s: float, patience_s: float) -> int:
    """The unsent requests at the end beyond those that may wait within the limit."""
    waiting = rate_per_s * patience_s
    allowed = max(UNSENT_FEW, math.ceil(waiting + 3.0 * math.sqrt(waiting)))
    return max(0, tally.skipped - allowed)


def _measure_term(term: LimitTerm, tally: Tally, late: int) -> float | None:
    lost = tally.failed - tally.cut
    if term.kind == "errors":
        return tally.failed / tally.intended
    if term.kind == "percentile":
        return find_percentile(tally, term.percentile, lost + late)
    if late or not tally.latency.count or lost > FAILED_SHARE * tally.intended:
        return None
    return tally.latency.mean_ns if term.kind == "mean" else float(tally.latency.max_ns)


def find_percentile(tally: Tally, percentile: float, endless: int) -> float | None:
    """The percentile in ns where `endless` more requests were never answered; None beyond those
    that were.
    """
    if not tally.latency.count:
        return None
    largest, counts = decode_histogram(tally.latency.hdr).list_values()
    total = float(counts.sum()) + endless
    rank = max(1.0, math.ceil(round(percentile / 100.0 * total, 6)))
    at = int(np.searchsorted(np.cumsum(counts), rank))
    return float(largest[at]) if at < largest.size else None


def _count_good(tally: Tally, terms: tuple[LimitTerm, ...]) -> float:
    """Answers within the shortest latency limit; all of them where none is limited."""
    limits = [term.limit for term in terms if term.kind != "errors"]
    if not limits or not tally.latency.count:
        return float(tally.done)
    largest, counts = decode_histogram(tally.latency.hdr).list_values()
    return float(min(tally.done, counts[largest <= min(limits)].sum()))


def _find_overload(record: PhaseRecord, tally: Tally, rate_per_s: float, patience_s: float) -> int:
    """The second, from 1 on, since when the backlog stayed longer than the limit allows."""
    ended = np.cumsum(np.asarray(tally.series.done) + np.asarray(tally.series.failed))
    seconds = max(1, math.ceil(record.duration_s))
    since = seconds
    for second in range(min(seconds, ended.size), 0, -1):
        due = rate_per_s * min(second, record.duration_s)
        allowed = rate_per_s * patience_s + 3.0 * math.sqrt(due)
        if due - ended[second - 1] <= allowed:
            break
        since = second
    return since
