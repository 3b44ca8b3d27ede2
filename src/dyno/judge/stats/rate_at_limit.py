"""The rate at which a load passes its limit, from noisy steps at several rates: a monotone fit.

A load (value ÷ limit) never falls with the rate, but for noise. So its logs are fitted by isotonic
regression (pool adjacent violators: Barlow, Bartholomew, Bremner, Brunk, *Statistical inference
under order restrictions*, 1972), and where the fit passes 0, log-linear between two rates, is the
rate at the limit. Logs are cut at both ends first: a step that stood still for a moment would
outweigh all others. A bisection with uncertain answers needs its points near the crossing only
(Waeber, Frazier, Henderson, *Bisection search with noisy responses*, SIAM J. Control Optim. 51,
2013).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dyno.judge.stats.log_ratio import Floats

#: Logs of loads are cut at ± this: a factor of two.
LOG_MOST = float(np.log(2.0))


def fit_monotone(values: Floats, weights: Floats) -> Floats:
    """The non-decreasing values nearest to `values` (weighted least squares), in one pass."""
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        blocks.append((float(value), float(weight), 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            last, before = blocks.pop(), blocks.pop()
            total = before[1] + last[1]
            mean = (before[0] * before[1] + last[0] * last[1]) / total
            blocks.append((mean, total, before[2] + last[2]))
    return np.concatenate([np.full(size, value) for value, _, size in blocks])


def find_rate_at_limit(rates: Sequence[float], loads: Sequence[float | None]) -> float | None:
    """The rate at which the fitted load is 1; None where it is above 1 at the lowest rate, the
    highest rate where it is nowhere above 1.

    `loads` are value ÷ limit, None for a step without a number: as high as counts.
    """
    logs = [LOG_MOST if load is None else _cut_log(load) for load in loads]
    at, places = np.unique(np.log(np.asarray(rates, dtype=float)), return_inverse=True)
    weights = np.bincount(places).astype(float)
    fitted = fit_monotone(np.bincount(places, np.asarray(logs)) / weights, weights)
    above = np.flatnonzero(fitted > 0.0)
    if above.size == 0:
        return float(np.exp(at[-1]))
    if above[0] == 0:
        return None
    high = int(above[0])
    low = high - 1
    share = -fitted[low] / (fitted[high] - fitted[low])
    return float(np.exp(at[low] + share * (at[high] - at[low])))


def estimate_load_slope(rates: Sequence[float], loads: Sequence[float | None]) -> float | None:
    """By how much the log of the load rises with that of the rate, by least squares; None where
    there is one rate only.
    """
    at = np.log(np.asarray(rates, dtype=float))
    logs = np.array([LOG_MOST if load is None else _cut_log(load) for load in loads])
    spread = at - at.mean() if at.size else at
    square = float((spread**2).sum())
    return float((spread * logs).sum()) / square if square > 0.0 else None


def _cut_log(load: float) -> float:
    return float(np.clip(np.log(max(load, 1e-12)), -LOG_MOST, LOG_MOST))
