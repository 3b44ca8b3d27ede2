"""Are the blocks that were dropped another kind of blocks than those that were kept?

A block is dropped for what others did on the host, before its numbers are looked at. That is blind
as long as the noise is not the candidate's own: where its own work is taken for others', its slow
blocks are the ones that go, and what is kept flatters it.
"""

from __future__ import annotations

import numpy as np
import scipy

from dyno.judge.stats.log_ratio import Floats

#: The p from which on the dropped blocks speak against the word.
AGAINST_LEVEL = 0.05


def compute_slower_p(dropped: Floats, kept: Floats) -> float:
    """One-sided p that the mean of `dropped` (one or more) lies above that of `kept` (two or more).

    Welch's test; a single dropped block is taken to vary as the kept ones do.
    """
    own = kept.var(ddof=1) / kept.size
    single = dropped.size == 1
    other = (kept if single else dropped).var(ddof=1) / (1 if single else dropped.size)
    distance = float(dropped.mean() - kept.mean())
    if own + other == 0.0:
        return 0.5 - 0.5 * float(np.sign(distance))
    freedom = kept.size - 1
    if not single:
        parts = own**2 / (kept.size - 1) + other**2 / (dropped.size - 1)
        freedom = (own + other) ** 2 / parts
    return float(scipy.special.stdtr(freedom, -distance / np.sqrt(own + other)))
