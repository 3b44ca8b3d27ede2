"""A second opinion that assumes no normal distribution: sign-flip test and Hodges-Lehmann."""

from __future__ import annotations

import numpy as np

from dyno.stats.interval import Floats

#: Below this the smallest p that the sign-flip test can give, 2^(1 − n), is above any level used.
BLOCKS_LEAST = 8
#: Above this the exact test wants too much memory, and 100,000 random flips stand for all.
EXACT_MOST = 36


def sign_flip_p(logs: Floats) -> float:
    """Two-sided p of the sign-flip test: the share of all 2^n flips with a sum as far from 0.

    Exact, by meeting in the middle: the sums of either half are listed and pairs of them counted
    by bisection, so 24 blocks cost 2 · 4096 sums and not 16.7 million.
    """
    if logs.size > EXACT_MOST:
        return _sampled(logs)
    seen = abs(float(logs.sum())) * (1.0 - 1e-12)  # a tie stays one in spite of rounding
    half = logs.size // 2
    left, right = _sums(logs[:half]), np.sort(_sums(logs[half:]))
    above = right.size - np.searchsorted(right, seen - left, side="left")
    below = np.searchsorted(right, -seen - left, side="right")
    count = int(above.sum()) + (int(below.sum()) if seen > 0.0 else 0)
    return min(1.0, count / float(left.size * right.size))


def _sums(logs: Floats) -> Floats:
    """All 2^n sums of ± `logs`."""
    sums = np.zeros(1)
    for value in logs:
        sums = np.concatenate([sums - value, sums + value])
    return sums


def _sampled(logs: Floats) -> float:
    dice = np.random.default_rng(logs.size)
    signs = dice.choice([-1.0, 1.0], size=(99_999, logs.size))
    far = np.abs(signs @ logs) >= abs(float(logs.sum())) * (1.0 - 1e-12)
    return float((1 + far.sum()) / (1 + far.size))


def hodges_lehmann(logs: Floats) -> float:
    """The median of all pairwise means, each value with itself too: outliers hardly move it."""
    first, second = np.triu_indices(logs.size)
    return float(np.median((logs[first] + logs[second]) / 2.0))
