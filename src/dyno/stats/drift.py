"""Did a rate stay what it was? The first half of a measurement beside its second half.

A contrast, and no test of a trend within one series: neighbouring seconds are not independent, so
such a test takes every slow wave for a trend. Here a restart gives one number, and restarts are
independent: what they agree upon is a drift, the rest is noise. Rules that look for the end of a
warm-up in one series (MSER-5; change points, Barrett et al. 2017) want hundreds of points, where a
phase of two or sixty seconds has as many.

A rate that falls along a straight line loses from one half to the other half of what it loses from
the beginning to the end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyno.stats.interval import Floats, Interval, t_interval

#: A second in each half. One is noisy, which the spread between restarts then tells.
SECONDS_LEAST = 2
#: Fewer restarts say nothing of what they agree upon: with 3 the t quantile is 7.
RESTARTS_LEAST = 3
#: Two-sided: each bound is passed by mistake once in a hundred times.
LEVEL = 0.02


def halves(series: Sequence[float]) -> tuple[float, float] | None:
    """Means of the first half and of the second, a middle second left out; None where there is
    too little to tell, or nothing in one of them.
    """
    length = len(series) // 2
    if len(series) < SECONDS_LEAST:
        return None
    first, second = float(np.mean(series[:length])), float(np.mean(series[-length:]))
    return (first, second) if first > 0.0 and second > 0.0 else None


def common(changes: Sequence[float] | Floats) -> Interval | None:
    """What all restarts agree upon, of one log ratio from each; None where they are too few."""
    if len(changes) < RESTARTS_LEAST:
        return None
    return t_interval(np.asarray(changes, dtype=float), LEVEL)


def beyond(interval: Interval, limit: float) -> bool:
    """The whole interval lies beyond ±`limit`."""
    return bool(interval.low > limit or interval.high < -limit)
