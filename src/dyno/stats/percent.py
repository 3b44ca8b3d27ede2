"""Logs of time ratios and percent: the one place where one becomes the other.

Slowdown = time ratio − 1, so 210 µs after 200 µs is +5 %. Logs are what is averaged.
"""

from __future__ import annotations

import math

#: Past this a percentage is no longer a float: the upper end of an interval from two wild blocks.
LOG_MOST = 700.0


def to_percent(log_ratio: float) -> float:
    """A log ratio as a change in percent: `to_percent(log(1.05))` is 5."""
    return 100.0 * math.expm1(min(log_ratio, LOG_MOST))


def to_log(percent: float) -> float:
    """A change in percent (> −100) as a log ratio."""
    return math.log1p(percent / 100.0)
