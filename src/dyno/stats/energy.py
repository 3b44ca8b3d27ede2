"""How unlike the two sides of a series are at each place: the energy statistic, and its shuffles.

Székely, Rizzo, *Energy statistics*, J. Stat. Plan. Inference 143 (2013).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dyno.stats.interval import Floats

#: Points on each side of a change: fewer are as good as an outlier.
SIDE_LEAST = 3
#: So many scaled median deviations from the median a point may lie; 3 is a wild one in 400.
FAR = 3.0
#: A standard deviation of normal points in median absolute deviations.
MAD_SD = 1.4826
#: Distances held at a time.
CHUNK = 1 << 21


@dataclass(frozen=True)
class Split:
    """A place in a series, and how unlike its two sides are there."""

    at: int
    unlike: float


class Piece:
    """A stretch without a known change, and the distances between all its points."""

    def __init__(self, start: int, values: Floats) -> None:
        self.start, self.size = start, len(values)
        drawn = drawn_in(values)
        self.distances = np.abs(drawn[:, None] - drawn[None, :])
        self.left = np.arange(SIDE_LEAST, self.size - SIDE_LEAST + 1)

    def split(self) -> Split:
        """The place where its two sides are most unlike."""
        unlike = self._unlike(np.arange(self.size)[None, :])[0]
        best = int(np.argmax(unlike))
        return Split(self.start + int(self.left[best]), float(unlike[best]))

    def shuffled(self, dice: np.random.Generator, shuffles: int) -> Floats:
        """How unlike the sides are at the best place of each of so many orders."""
        orders = dice.permuted(np.tile(np.arange(self.size), (shuffles, 1)), axis=1)
        chunks = np.array_split(orders, math.ceil(orders.size * self.size / CHUNK))
        return np.concatenate([self._unlike(chunk).max(axis=1) for chunk in chunks])

    def _unlike(self, orders: NDArray[np.int_]) -> Floats:
        """The energy statistic m·n/(m + n)·E of the sides (orders, places): sums of distances
        within the first m points, within the others, and between, all from running sums.
        """
        distances = self.distances[orders[:, :, None], orders[:, None, :]]
        within = np.cumsum(np.tril(distances).sum(axis=2), axis=1)[:, self.left - 1]
        sums = np.cumsum(self.distances.sum(axis=1)[orders], axis=1)
        between = sums[:, self.left - 1] - 2.0 * within
        others = sums[:, -1:] / 2.0 - within - between
        m, n = self.left, self.size - self.left
        energy = 2.0 * between / (m * n)
        energy -= within / (m * (m - 1) / 2.0) + others / (n * (n - 1) / 2.0)
        return np.asarray(energy * m * n / (m + n))


def drawn_in(values: Floats) -> Floats:
    """`values` with those beyond `FAR` spreads of the median set there; as they are where half of
    them are one and the same, which has no spread.
    """
    centre = np.median(values)
    spread = MAD_SD * np.median(np.abs(values - centre))
    if spread == 0.0:
        return values
    return np.clip(values, centre - FAR * spread, centre + FAR * spread)
