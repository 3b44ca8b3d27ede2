"""The verdict of the golden book: a row of every kind; its intervals are plain ones."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

import numpy as np

from dyno.judge.analysis.measures import compute_measures
from dyno.judge.stats.components import (
    compute_cov_interval,
    compute_cov_percent,
    compute_range_percent,
)
from dyno.record import (
    Comparison,
    Dropped,
    Finding,
    Metric,
    Run,
    Spread,
    Trial,
    Verdict,
    VerdictName,
)

PRIMARY = {("l.i0", "insert"), ("l.i1", "insert"), ("qr100", "query")}
DROPPED_BLOCK = 3


def make_verdict(run: Run, trials: Sequence[Trial]) -> Verdict:
    """A verdict with every kind of row in it; the intervals are plain ones, not the judge's."""
    base, *others = (c.name for c in run.candidates)
    comparisons = [
        _comparison(run, trials, metric, (base, name))
        for name in others
        for metric in dict.fromkeys(m for t in trials[:3] for m in compute_measures(t))
        if all(b > 0 and c > 0 for b, c in _pairs(trials, metric, (base, name)))
    ]
    findings = (
        Finding("ledger", "sound", "42 of 42 statements agree with the driver's counters"),
        Finding("client_share", "doubtful", "the driver used 31 % of the CPU in qr100", (2, 5)),
    )
    sentence = "3.54.1 is slower than 3.24.0: l.i0 insert rate by 6.7 %"
    dropped = (Dropped("insert", DROPPED_BLOCK, "foreign_percent", 14.2, 10.0),)
    apart = tuple(_spreads(run, trials, {c.metric for c in comparisons if c.primary}))
    return Verdict("slower", sentence, True, tuple(comparisons), findings, dropped, spread=apart)


def _spreads(run: Run, trials: Sequence[Trial], primaries: set[Metric]) -> Iterator[Spread]:
    for side in run.candidates:
        own = [compute_measures(t) for t in trials if t.candidate == side.name and t.status == "ok"]
        for metric in sorted(primaries):
            values = np.array([each[metric] for each in own if metric in each])
            mean, cov, (low, high) = (
                float(values.mean()),
                compute_cov_percent(values),
                compute_cov_interval(values),
            )
            between = compute_range_percent(values)
            yield Spread(side.name, metric, values.size, mean, between, cov, low, high)


def _comparison(
    run: Run, trials: Sequence[Trial], metric: Metric, sides: tuple[str, str]
) -> Comparison:
    pairs = _pairs(trials, metric, sides)
    logs = [math.log(b / c) * (1 if metric.better == "higher" else -1) for b, c in pairs]
    middle, spread = statistics.fmean(logs), statistics.stdev(logs)
    reach = 2.45 * spread / math.sqrt(len(logs))
    low, mid, high = (100 * math.expm1(x) for x in (middle - reach, middle, middle + reach))
    primary = (metric.phase, metric.transaction) in PRIMARY and metric.name == "rate_per_s"
    old, new = (sum(side) / len(side) for side in zip(*pairs, strict=True))
    return Comparison(
        metric=metric,
        primary=primary,
        base=sides[0],
        candidate=sides[1],
        base_value=old,
        candidate_value=new,
        change_percent=100 * (new / old - 1),
        slowdown_percent=mid,
        low_percent=low,
        high_percent=high,
        margin_percent=run.design.margin_percent,
        blocks=len(logs),
        dropped=1,
        sd_percent=100 * spread,
        mde80_percent=100 * 2.8 * spread / math.sqrt(len(logs)),
        p_value=0.01,
        verdict=_named(low, high, run.design.margin_percent),
        notes=("sign-flip test disagrees: p = 0.08",) if metric.phase == "l.i1" and primary else (),
    )


def _named(low: float, high: float, margin: float) -> VerdictName:
    if low > 0 and high >= margin:
        return "slower"
    if high < 0:
        return "faster"
    return "not slower" if high < margin else "inconclusive"


def _pairs(
    trials: Sequence[Trial], metric: Metric, sides: tuple[str, str]
) -> list[tuple[float, float]]:
    found: dict[tuple[int, str], float] = {
        (t.block, t.candidate): compute_measures(t)[metric]
        for t in trials
        if t.status == "ok" and t.block != DROPPED_BLOCK
    }
    blocks = sorted({block for block, _ in found})
    return [(found[b, sides[0]], found[b, sides[1]]) for b in blocks]
