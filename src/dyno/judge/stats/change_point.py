"""Where in a series a single step lies, by noisy measurements of some of its points: a posterior.

The first point is on the old level and the last on the new one. A measurement is a log time ratio
to the first point, with a standard error and degrees of freedom. Every place of the step is equally
likely before; the step's size is integrated over, since it is measured too. Likelihoods are
Student's t. So steps that are each uncertain add up to one probability, and a measurement that is
repeated counts again.

Source: Bayesian bisection of noisy answers, as in R. Waeber, P. I. Frazier, S. G. Henderson,
"Bisection search with noisy responses", SIAM J. Control Optim. 51 (2013); sizes instead of yes/no.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dyno.judge.stats.log_ratio import Floats

#: The step's size is integrated over so many values, and so many standard errors to either side.
SIZES, REACH = 81, 5.0
#: An error below this is none: a count that is exact would else divide by zero.
ERROR_LEAST = 1e-9


@dataclass(frozen=True)
class Measurement:
    """Point `place`'s log time ratio to point 0: estimate, standard error, degrees of freedom."""

    place: int
    log_ratio: float
    error: float
    freedom: float


def compute_step_posterior(points: int, measured: Iterable[Measurement]) -> Floats:
    """The probability that the step comes with point k, for k in 0 … points − 1 (0 for k = 0).

    The last point must have been measured: `ValueError` where it was not.
    """
    found = list(measured)
    ends = [each for each in found if each.place == points - 1]
    if not ends:
        raise ValueError("the last point was not measured")
    weights = [1 / max(each.error, ERROR_LEAST) ** 2 for each in ends]
    size = float(np.average([each.log_ratio for each in ends], weights=weights))
    error = float(np.sqrt(1 / np.sum(weights)))
    sizes = size + error * np.linspace(-REACH, REACH, SIZES)
    total = np.zeros((points, SIZES))
    total[0] = -np.inf
    for each in found:
        is_new = np.arange(points)[:, None] <= each.place
        expected = np.where(is_new, sizes[None, :], 0.0)
        total = total + _compute_log_density(each, expected)
    weight = np.exp(total - total.max())
    by_place = weight.sum(axis=1)
    return np.asarray(by_place / by_place.sum())


def _compute_log_density(each: Measurement, expected: Floats) -> Floats:
    """Student's t, but for a constant."""
    scaled = (each.log_ratio - expected) / max(each.error, ERROR_LEAST)
    return np.asarray(-(each.freedom + 1) / 2 * np.log1p(scaled**2 / each.freedom))


def choose_next(posterior: Floats, testable: Iterable[int]) -> int | None:
    """The testable point whose answer halves the posterior best; None where none divides it.

    A point divides it where the step may come with it or before, and may come after it.
    """
    before = np.cumsum(posterior)
    dividing = [place for place in testable if 1e-9 < before[place] < 1 - 1e-9]
    return min(dividing, key=lambda place: abs(before[place] - 0.5), default=None)
