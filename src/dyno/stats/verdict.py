"""From an interval to a word (METHOD 5), for one comparison or for a million."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dyno.stats.interval import Floats, Interval

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
