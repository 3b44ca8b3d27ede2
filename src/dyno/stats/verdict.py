"""From an interval to a word (METHOD.md, The words), for one comparison or for a million.

Many comparisons at once: Holm for those that a verdict rests on, Benjamini-Hochberg for the rest.
Holm is ours, along the last axis, since the calibration asks for it 10,000 times and statsmodels
collects garbage in every call (50 ms); the tests hold it against statsmodels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dyno.stats.interval import Floats, Interval


def holm(p_values: Floats) -> Floats:
    """Adjusted p values: those ≤ α hold together with a familywise error of α (Holm 1979)."""
    order = np.argsort(p_values, axis=-1)
    steps = np.arange(p_values.shape[-1], 0, -1)
    rising = np.maximum.accumulate(np.take_along_axis(p_values, order, -1) * steps, axis=-1)
    adjusted = np.empty_like(p_values)
    np.put_along_axis(adjusted, order, np.minimum(rising, 1.0), -1)
    return adjusted


def benjamini_hochberg(p_values: Floats) -> Floats:
    """Adjusted p values: of those ≤ α, a share of α is expected to be false (1995)."""
    if p_values.size == 0:
        return p_values
    from scipy.stats import false_discovery_control  # 0.5 s that most commands need not wait

    return np.asarray(false_discovery_control(p_values), dtype=float)


Words = NDArray[np.str_]
Bools = NDArray[np.bool_]

SLOWER, NOT_SLOWER, FASTER, OPEN = "slower", "not slower", "faster", "inconclusive"


def verdicts(
    interval: Interval, margin: Floats | float, *, last: bool, significant: Bools | bool = True
) -> Words:
    """The word for each comparison; `margin` is δ as a log, `last` says that no look follows.

    *faster* (which is *not slower* too) if U < 0; *not slower* if U < δ; *slower* if L > 0 and
    U ≥ δ, and before the last look the estimate is ≥ δ too; else *inconclusive*. `significant` is
    the say of a correction for multiplicity: without it neither *slower* nor *faster* is said.
    """
    early = last | (interval.estimate >= margin)
    conditions = [
        (interval.high < 0.0) & (interval.high < margin) & significant,
        interval.high < margin,
        (interval.low > 0.0) & early & significant,
    ]
    return np.select(conditions, [FASTER, NOT_SLOWER, SLOWER], OPEN)
