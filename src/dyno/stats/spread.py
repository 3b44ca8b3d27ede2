"""How far restarts lie apart: best-to-worst range and coefficient of variation."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtri

from dyno.stats.interval import Floats


def range_percent(values: Floats) -> float:
    """Largest ÷ smallest − 1, in percent, of values above 0: the same for a rate and for its time.

    It grows with the number of restarts, so only equal numbers of them may be compared.
    """
    return 100.0 * (float(values.max()) / float(values.min()) - 1.0)


def cov_percent(values: Floats) -> float:
    """The coefficient of variation in percent: standard deviation (n − 1) ÷ mean."""
    return 100.0 * float(values.std(ddof=1)) / float(values.mean())


def cov_interval(values: Floats, alpha: float = 0.05) -> tuple[float, float]:
    """An interval for `cov_percent`: that of a standard deviation by χ², divided by the mean.

    It holds for normal errors and a small coefficient, where the mean is known far better than the
    deviation. Six restarts give from 0.62 to 2.45 times the estimate: a hint at a ratio of two.
    """
    n, found = values.size, cov_percent(values)
    low, high = chdtri(n - 1, [alpha / 2.0, 1.0 - alpha / 2.0])
    return found * float(np.sqrt((n - 1) / low)), found * float(np.sqrt((n - 1) / high))
