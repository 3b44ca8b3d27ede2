"""Log ratios of times and changes in percent: one becomes the other here alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

#: Past this a percentage is no longer a float: the upper end of an interval from two wild blocks.
LOG_MOST = 700.0


def to_percent(log_ratio: float) -> float:
    """A log ratio as a change in percent: `to_percent(log(1.05))` is 5."""
    return 100.0 * math.expm1(min(log_ratio, LOG_MOST))


def to_log(percent: float) -> float:
    """A change in percent (> −100) as a log ratio."""
    return math.log1p(percent / 100.0)


Floats = NDArray[np.float64]
