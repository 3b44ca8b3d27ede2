"""The interval of a slowdown: a t interval on the log ratios of blocks, and two tests beside it.

A block is one datum, whatever was inside it; where a load of the data comes again, the blocks that
share it are one datum together. Slowdown = time ratio − 1, so 210 µs after 200 µs is +5 %. Logs are
what is averaged.

The second opinion assumes no normal distribution: the sign-flip test and the Hodges-Lehmann
estimate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from dyno.judge.stats.log_ratio import Floats


@dataclass(frozen=True)
class Interval:
    """Estimates in logs, all of one shape; `p` is two-sided and knows nothing of other analyses.
    `error` is the estimate's standard error, with `freedom` degrees of freedom.

    `low_skewed` and `high_skewed` bound as `low` and `high` do, or wider where the data are
    skewed (`compute_skewed_bounds`).
    """

    estimate: Floats
    low: Floats
    high: Floats
    sd: Floats
    error: Floats
    freedom: int
    p: Floats
    low_skewed: Floats
    high_skewed: Floats


def extract_independent_data(logs: Floats, groups: Sequence[int] | None) -> Floats:
    """The independent data in `logs` (…, blocks): the means of the blocks of each group.

    `groups` says which load each block was played on. All blocks of a group share what its load is
    like, so their mean is one datum, as a restart is one however many seconds it had. Means of
    unequally many blocks vary unequally; their plain mean and its standard error are unbiased all
    the same. None, or a single group (which has no spread): every block is a datum.
    """
    if groups is None or len(set(groups)) in (1, len(groups)):
        return logs
    places = np.unique(np.asarray(groups), return_inverse=True)[1]
    shares = np.eye(places.max() + 1)[places]
    return np.asarray(logs @ (shares / shares.sum(axis=0)))


def compute_error(data: Floats) -> tuple[Floats, int]:
    """The standard error of the mean of independent `data` along the last axis (n ≥ 2), and its
    degrees of freedom.
    """
    n = data.shape[-1]
    return np.asarray(data.std(axis=-1, ddof=1) / np.sqrt(n)), n - 1


def compute_t_interval(logs: Floats, level: float) -> Interval:
    """The interval of level 1 − `level` for the mean of `logs` along the last axis (n ≥ 2).

    Blocks that agree to the last bit give an interval of no width, and p 0 or 1.
    """
    estimate, sd = logs.mean(axis=-1), logs.std(axis=-1, ddof=1)
    error, freedom = compute_error(logs)
    half = -scipy.special.stdtrit(freedom, level / 2.0) * error
    distance = np.where(estimate == 0.0, 0.0, np.inf)
    np.divide(np.abs(estimate), error, out=distance, where=error > 0.0)
    p = 2.0 * scipy.special.stdtr(freedom, -distance)
    low, high = estimate - half, estimate + half
    wider = compute_skewed_bounds(logs, level)
    return Interval(
        estimate,
        low,
        high,
        sd,
        error,
        freedom,
        np.asarray(p),
        np.minimum(low, wider[0]),
        np.maximum(high, wider[1]),
    )


#: Of an exponential's skewness, 2, samples of 6 to 24 show 0.9 to 1.5: what is seen is not all.
SKEWNESS_UNSEEN = 1.5
#: Twice: at 1.25 and 1.5 times, tails of one arm cost half a point to a point more of false words.
SKEWED_FARTHEST = 2.0
#: Fewer data than this have no skewness.
SKEWNESS_DATA_LEAST = 3


def compute_skewed_bounds(logs: Floats, level: float) -> tuple[Floats, Floats]:
    """The bounds of `compute_t_interval` once the skewness that `logs` show is counted.

    Where one arm has a long tail, Student's interval errs to one side far more often than to the
    other. Hall's monotone cubic takes the skewness out of t (*On the removal of skewness by
    transformation*, JRSS B 54, 1992) and is turned round here; half as much again is counted
    as the sample shows. Without any skewness it is Student's interval.

    At the strict level of an early interim analysis the cubic's turning has no end: of six blocks
    that were all faster, the upper bound was slower. So none lies farther from the mean than
    `SKEWED_FARTHEST` times the farthest datum on its side.
    """
    n = logs.shape[-1]
    estimate, sd = logs.mean(axis=-1), logs.std(axis=-1, ddof=1)
    if n < SKEWNESS_DATA_LEAST:
        return np.full_like(estimate, np.inf), np.full_like(estimate, -np.inf)
    third = ((logs - estimate[..., None]) ** 3).mean(axis=-1) * n * n / ((n - 1) * (n - 2))
    skewness = np.zeros_like(estimate)
    np.divide(SKEWNESS_UNSEEN * third, sd**3, out=skewness, where=sd > 0.0)
    skewness = np.where(np.abs(skewness) < 1e-6, 1e-6, skewness)
    far = -scipy.special.stdtrit(n - 1, level / 2.0) / np.sqrt(n)

    def transform(t: float) -> Floats:
        """The distance from the mean, in sds, that the transformation takes for `t`."""
        cube = 1.0 + skewness * (t - skewness / (6.0 * n))
        return np.asarray(3.0 / skewness * (np.cbrt(cube) - 1.0))

    below, above = estimate - logs.min(axis=-1), logs.max(axis=-1) - estimate
    low = estimate - np.minimum(sd * transform(far), SKEWED_FARTHEST * below)
    high = estimate + np.minimum(-sd * transform(-far), SKEWED_FARTHEST * above)
    return np.asarray(low), np.asarray(high)


#: Below this the smallest p that the sign-flip test can give, 2^(1 − n), is above any level used.
BLOCKS_LEAST = 8
#: Above this the exact test wants too much memory, and 100,000 random flips stand for all.
EXACT_MOST = 36


def compute_sign_flip_p(logs: Floats) -> float:
    """Two-sided p of the sign-flip test: the share of all 2^n flips with a sum as far from 0.

    Exact, by meeting in the middle: the sums of either half are listed and pairs of them counted
    by bisection, so 24 blocks cost 2 · 4096 sums and not 16.7 million.
    """
    if logs.size > EXACT_MOST:
        return _sample_p(logs)
    seen = abs(float(logs.sum())) * (1.0 - 1e-12)  # a tie stays one in spite of rounding
    half = logs.size // 2
    left, right = _enumerate_sums(logs[:half]), np.sort(_enumerate_sums(logs[half:]))
    above = right.size - np.searchsorted(right, seen - left, side="left")
    below = np.searchsorted(right, -seen - left, side="right")
    count = int(above.sum()) + (int(below.sum()) if seen > 0.0 else 0)
    return min(1.0, count / float(left.size * right.size))


def _enumerate_sums(logs: Floats) -> Floats:
    """All 2^n sums of ± `logs`."""
    sums = np.zeros(1)
    for value in logs:
        sums = np.concatenate([sums - value, sums + value])
    return sums


def _sample_p(logs: Floats) -> float:
    rng = np.random.default_rng(logs.size)
    signs = rng.choice([-1.0, 1.0], size=(99_999, logs.size))
    far = np.abs(signs @ logs) >= abs(float(logs.sum())) * (1.0 - 1e-12)
    return float((1 + far.sum()) / (1 + far.size))


def estimate_hodges_lehmann(logs: Floats) -> float:
    """The median of all pairwise means, each value with itself too: outliers hardly move it."""
    first, second = np.triu_indices(logs.size)
    return float(np.median((logs[first] + logs[second]) / 2.0))


#: The p from which on neighbouring blocks are said to resemble each other.
ALIKE_LEVEL = 0.01


def estimate_lag_one(logs: Floats) -> tuple[float, float]:
    """The correlation of neighbours in `logs` (their order in time), and its one-sided p.

    Without any it is about normal around −1/n with the variance (n − 2)²/(n²(n − 1)) (Moran, *Some
    theorems on time series II*, Biometrika 35, 1948). Data that do not vary have none.
    """
    n = logs.size
    away = logs - logs.mean()
    square = float(away @ away)
    if n <= SKEWNESS_DATA_LEAST or square == 0.0:
        return 0.0, 1.0
    r = float(away[1:] @ away[:-1]) / square
    sd = (n - 2) / (n * math.sqrt(n - 1))
    return r, float(scipy.special.ndtr(-(r + 1.0 / n) / sd))
