"""Seconds of one second within a restart: does the rate drift, and how many seconds are best?

Drift is the first half of a measurement beside its second half. A contrast, and no test of a trend
within one series: neighbouring seconds are not independent, so such a test takes every slow wave
for a trend. Here a restart gives one number, and restarts are independent: what they agree upon is
a drift, the rest is noise. Rules that look for the end of a warm-up in one series (MSER-5; change
points, Barrett et al. 2017) want hundreds of points, where a phase of two or sixty seconds has as
many. A rate that falls along a straight line loses from one half to the other half of what it loses
from the beginning to the end.

How long a restart should be measured is a matter of cost and variance. With m seconds a restart
costs c_r + m·c_w and its number has the variance s_r² + s_w²/m; the product is least at
m = sqrt(c_r/c_w · s_w²/s_r²) (Kalibera & Jones, "Rigorous benchmarking in reasonable time", ISMM
2013, equation 3). Seconds that follow one another are alike: s_w² is then taken times
(1 + r)/(1 − r), the long-run variance of an AR(1) of correlation r.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyno.judge.stats.interval import Interval, compute_t_interval
from dyno.judge.stats.log_ratio import Floats

#: A second in each half. One is noisy, which the spread between restarts then tells.
DRIFT_SECONDS_LEAST = 2
#: Fewer restarts say nothing of what they agree upon: with 3 the t quantile is 7.
RESTARTS_LEAST = 3
#: Two-sided: each bound is passed by mistake once in a hundred times.
LEVEL = 0.02


def compute_half_means(series: Sequence[float]) -> tuple[float, float] | None:
    """Means of the first half and of the second, a middle second left out; None where there is
    too little to tell, or nothing in one of them.
    """
    length = len(series) // 2
    if len(series) < DRIFT_SECONDS_LEAST:
        return None
    first, second = float(np.mean(series[:length])), float(np.mean(series[-length:]))
    return (first, second) if first > 0.0 and second > 0.0 else None


def estimate_common_change(changes: Sequence[float] | Floats) -> Interval | None:
    """What all restarts agree upon, of one log ratio from each; None where they are too few."""
    if len(changes) < RESTARTS_LEAST:
        return None
    return compute_t_interval(np.asarray(changes, dtype=float), LEVEL)


def is_beyond(interval: Interval, limit: float) -> bool:
    """The whole interval lies beyond ±`limit`."""
    return bool(interval.low > limit or interval.high < -limit)


#: Seconds in every restart from which on their correlation is estimated.
CORRELATED_FROM = 8
CORRELATION_MOST = 0.95
ROUNDS = 30
SECONDS_LEAST = 1.0


@dataclass(frozen=True)
class Within:
    """The seconds within restarts: variance in logs, degrees of freedom, typical number.

    `count` is the harmonic mean of the seconds per restart; `correlation` that of neighbours: 0
    where restarts are too short to tell, and never below it, since alternation promises nothing.
    """

    variance: float
    df: int
    count: float
    correlation: float

    @property
    def inflation(self) -> float:
        """How much more a mean of many seconds varies than one of independent ones."""
        return (1.0 + self.correlation) / (1.0 - self.correlation)

    def compute_weight(self, count: float) -> float:
        """What of a second's variance the mean of `count` still has; 1 ÷ count if independent."""
        r = self.correlation
        end = 2.0 * r * (1.0 - math.pow(r, count)) / (count * (1.0 - r) ** 2)
        return (self.inflation - end) / count


def estimate_within_restarts(seconds: Sequence[Floats]) -> Within | None:
    """What the seconds (an array of logs for each restart) say; None where some have too few."""
    if not seconds or min(each.size for each in seconds) < 2:
        return None
    sizes = np.array([each.size for each in seconds])
    rests = [each - each.mean() for each in seconds]
    df = int((sizes - 1).sum())
    count = len(sizes) / float((1.0 / sizes).sum())
    variance = sum(float(rest @ rest) for rest in rests) / df
    if sizes.min() < CORRELATED_FROM or variance == 0.0:
        return Within(variance, df, count, 0.0)
    return _estimate_correlated(rests, df, count)


def _estimate_correlated(rests: Sequence[Floats], df: int, count: float) -> Within:
    """With the correlation of neighbours. The means taken off hold a part V of both covariances,
    which is put back by iteration: V = variance · weight.
    """
    seconds = df + len(rests)
    own = sum(float(rest @ rest) for rest in rests) / seconds
    next_to = sum(float(rest[1:] @ rest[:-1]) for rest in rests) / df
    found = Within(own, df, count, 0.0)
    for _ in range(ROUNDS):
        taken = found.variance * found.compute_weight(count)
        variance = own + taken
        correlation = min(max((next_to + taken) / variance, 0.0), CORRELATION_MOST)
        found = Within(variance, df, count, correlation)
    return found


@dataclass(frozen=True)
class Costs:
    """What a restart costs in seconds before its first second, and what a second costs."""

    restart_s: float
    slice_s: float = 1.0


def find_best_seconds(costs: Costs, slice_variance: float, restart_variance: float) -> float:
    """The number of seconds per restart that buys most for the time; infinite where restarts do
    not differ, and at least one.
    """
    if restart_variance <= 0.0:
        return math.inf if slice_variance > 0.0 else SECONDS_LEAST
    ratio = costs.restart_s / costs.slice_s * slice_variance / restart_variance
    return max(SECONDS_LEAST, math.sqrt(ratio))


def compute_time_times_variance(
    costs: Costs, seconds: float, slice_variance: float, restart_variance: float
) -> float:
    """Time × variance of a restart with so many seconds: twice as much needs twice the time for
    the same interval.
    """
    variance = restart_variance + slice_variance / seconds
    return (costs.restart_s + seconds * costs.slice_s) * variance
