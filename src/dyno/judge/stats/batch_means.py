"""The mean of a series in time, whose neighbours are alike: intervals by batch means.

A server's seconds are no independent data: a checkpoint or a busy minute holds several. So
neighbouring slices are averaged to a few long batches, and Student's interval is over those (Law
and Kelton, *Simulation Modeling and Analysis*, section 9.5.3; Conway, *Some Tactical Problems in
Digital Simulation*, 1963). Short batches are alike, too: their error is widened by what the
correlation of neighbouring slices leaves in them, were each slice like the one before only (a
process AR(1)). Two series are compared by Welch's interval.
What lasts longer than a batch is not in it: the interval is of the stretch of time that was seen,
and of no other hour or restart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from dyno.judge.stats.log_ratio import Floats

#: Fewer batches have no interval worth the name; fewer slices than this make no batches.
BATCHES_LEAST, SLICES_LEAST = 5, 10
#: A correlation beyond this is a drift, which no short series tells apart.
CORRELATION_MOST = 0.9
ALPHA = 0.05


@dataclass(frozen=True)
class SeriesMean:
    """A mean with its standard error and degrees of freedom; `error` NaN where slices are few."""

    mean: float
    error: float
    freedom: float

    @property
    def is_bounded(self) -> bool:
        """Has it an interval?"""
        return not math.isnan(self.error)

    def compute_ends(self, alpha: float = ALPHA) -> tuple[float, float]:
        """The interval of level 1 − `alpha`; NaN where there is none."""
        if not self.is_bounded:
            return math.nan, math.nan
        half = -float(scipy.special.stdtrit(self.freedom, alpha / 2)) * self.error
        return self.mean - half, self.mean + half


def estimate_series_mean(values: Sequence[float], weights: Sequence[float] = ()) -> SeriesMean:
    """The mean of `values`; with `weights` that of Σ value ÷ Σ weight (time a call, of times and
    calls by slice). The first slices that fill no batch are in the mean and not in its error.
    """
    series = np.asarray(values, dtype=float)
    below = np.asarray(weights, dtype=float) if len(weights) else np.ones(len(series))
    mean = float(series.sum() / below.sum()) if len(series) and below.sum() > 0 else math.nan
    none = SeriesMean(mean, math.nan, math.nan)
    if len(series) < SLICES_LEAST:
        return none
    batches = max(BATCHES_LEAST, math.isqrt(len(series)))
    size = len(series) // batches
    sums = [it[-batches * size :].reshape(batches, size).sum(axis=1) for it in (series, below)]
    if not (sums[1] > 0).all():
        return none
    # a ratio's error is that of its remainders (Cochran, Sampling Techniques, section 6.3)
    rests: Floats = (sums[0] - mean * sums[1]) / sums[1].mean()
    rests = rests - rests.mean()
    error = float(np.sqrt((rests**2).sum() / (batches - 1) / batches))
    widened = error * _compute_widening(series - mean * below, batches, size)
    return SeriesMean(mean, widened, batches - 1)


def _compute_widening(rests: Floats, batches: int, size: int) -> float:
    """How many times larger the error of so many batches of `size` slices is than it looks, by the
    correlation of neighbours in `rests` (Kendall's correction for its bias in short series).
    """
    n = len(rests)
    centred = rests - rests.mean()
    squares = float((centred**2).sum())
    found = float((centred[1:] * centred[:-1]).sum()) / squares if squares else 0.0
    r = min(max(found + (1 + 4 * max(found, 0.0)) / n, 0.0), CORRELATION_MOST)

    def compute_variance(slices: int) -> float:
        """That of the mean of so many slices, in variances of one."""
        ends = 2 * r * (1 - r**slices) / (slices * (1 - r) ** 2)
        return ((1 + r) / (1 - r) - ends) / slices

    whole = compute_variance(batches * size)
    seen = (compute_variance(size) - whole) / (batches - 1)
    return math.sqrt(whole / seen)


def subtract_means(base: SeriesMean, other: SeriesMean) -> SeriesMean:
    """The difference of two series' means, by Welch's degrees of freedom."""
    difference = other.mean - base.mean
    squares = [each.error**2 for each in (base, other)]
    below = sum(
        square**2 / each.freedom
        for square, each in zip(squares, (base, other), strict=True)
        if each.is_bounded
    )
    if not (base.is_bounded and other.is_bounded):
        return SeriesMean(difference, math.nan, math.nan)
    freedom = sum(squares) ** 2 / below if below > 0 else 1.0
    return SeriesMean(difference, math.sqrt(sum(squares)), freedom)


def compute_p_value(difference: SeriesMean) -> float:
    """Two-sided, that it is 0; NaN where it has no interval."""
    if not difference.is_bounded:
        return math.nan
    if difference.error == 0.0:
        return 0.0 if difference.mean else 1.0
    return float(
        2.0 * scipy.special.stdtr(difference.freedom, -abs(difference.mean) / difference.error)
    )
