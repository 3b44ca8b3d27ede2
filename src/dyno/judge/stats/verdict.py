"""From an interval to a word (METHOD.md, The words), for one comparison or for a million.

Many comparisons at once: Holm for those that a verdict rests on, Benjamini-Hochberg for the rest.
Holm is ours, along the last axis, since the calibration asks for it 10,000 times and statsmodels
collects garbage in every call; the tests hold it against statsmodels.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dyno.judge.stats.log_ratio import Floats

if TYPE_CHECKING:
    from dyno.judge.stats.interval import Interval


def adjust_holm(p_values: Floats) -> Floats:
    """Adjusted p values: those ≤ α hold together with a familywise error of α (Holm 1979)."""
    order = np.argsort(p_values, axis=-1)
    steps = np.arange(p_values.shape[-1], 0, -1)
    rising = np.maximum.accumulate(np.take_along_axis(p_values, order, -1) * steps, axis=-1)
    adjusted = np.empty_like(p_values)
    np.put_along_axis(adjusted, order, np.minimum(rising, 1.0), -1)
    return adjusted


def adjust_benjamini_hochberg(p_values: Floats) -> Floats:
    """Adjusted p values: of those ≤ α, a share of α is expected to be false (1995)."""
    order = np.argsort(p_values)
    steps = p_values.size / np.arange(1, p_values.size + 1)
    rising = np.minimum.accumulate((p_values[order] * steps)[::-1])[::-1]
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(rising, 1.0)
    return adjusted


Words = NDArray[np.str_]
Bools = NDArray[np.bool_]

SLOWER, NOT_SLOWER, FASTER, OPEN = "slower", "not slower", "faster", "inconclusive"


#: *Not slower* is said from so many blocks on (or at the last analysis, if that is earlier): of six
#: restarts 53 in 100 show nothing of a slow mode that one restart in ten comes up in.
CLEAR_LEAST = 10
#: At the last analysis an estimate of so much of the margin is enough for *slower*.
LAST_SHARE = 0.75


def choose_verdicts(
    interval: Interval,
    margin: Floats | float,
    *,
    blocks: int,
    last: bool,
    significant: Bools | bool = True,
) -> Words:
    """The word for each comparison after `blocks`; `margin` is δ as a log, `last`: no analysis
    follows.

    With L' ≤ L and U' ≥ U, the bounds that count the data's skewness: *faster* (which is *not
    slower* too) if U' < 0; *not slower* if U' < δ and there are blocks enough to clear; *slower* if
    L' > 0 and U ≥ δ, and the estimate is ≥ δ, at the last analysis ≥ 0.75 δ; else *inconclusive*.
    `significant` is the say of a correction for multiplicity: without it neither *slower* nor
    *faster* is said.
    """
    enough = interval.estimate >= margin * (LAST_SHARE if last else 1.0)
    clears = last or blocks >= CLEAR_LEAST
    conditions = [
        (interval.high_skewed < np.minimum(0.0, margin)) & significant,
        (interval.high_skewed < margin) & clears,
        (interval.low_skewed > 0.0) & (interval.high >= margin) & enough & significant,
    ]
    return np.select(conditions, [FASTER, NOT_SLOWER, SLOWER], OPEN)


def compute_unseen_share(restarts: int, confidence: float = 0.95) -> float:
    """The share of restarts that a slow mode may have although none of `restarts` showed it.

    The upper bound of a share of which nothing was seen (Clopper and Pearson): 39 % of 6, 26 %
    of 10, 12 % of 24.
    """
    return float(1.0 - (1.0 - confidence) ** (1.0 / restarts))


def compute_fisher_p(failed: int, ended: int, base_failed: int, base_ended: int) -> float:
    """The chance of so many failures or more among `ended`, if all that failed fell on both sides
    by lot: Fisher's exact test, one-sided (*The Design of Experiments*, 1935). 1 without failures.
    """
    every, of = failed + base_failed, ended + base_ended
    ways = [comb(ended, n) * comb(base_ended, every - n) for n in range(failed, every + 1)]
    return sum(ways) / comb(of, every)
