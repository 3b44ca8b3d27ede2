"""Where a series changes its level: E-divisive with a permutation test.

Matteson, James, *A nonparametric approach for multiple change point analysis of multivariate data*,
J. Am. Stat. Assoc. 109 (2014): the place that parts the series into the two most unlike pieces,
by the energy statistic of Székely and Rizzo (*Energy statistics*, J. Stat. Plan. Inference 143,
2013), is tested by shuffling; if it holds, the pieces are searched in turn. Daly et al., *The use
of change point detection to identify software performance regressions*, ICPE 2020, take it for
benchmarks, as we do here; a t test at the place found, in its stead, would forget that the place
was chosen (it errs in a multiple of the runs that it claims).

One point that lies far out is drawn in before the search, to three of the piece's own spreads. No
order of the points moves that bound, so shuffling stays exact: of series whose points may be
exchanged, at most α get a change. Points that hang together in time may not, and get more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy
from numpy.typing import NDArray

from dyno.judge.stats.log_ratio import Floats

#: Points on each side of a change: fewer are as good as an outlier.
SIDE_LEAST = 3
#: So many scaled median deviations from the median a point may lie; 3 is a wild one in 400.
FAR = 3.0
#: A standard deviation of normal points in median absolute deviations.
MAD_SD = 1.4826
#: Distances held at a time.
CHUNK = 1 << 21
#: Points whose distances are taken one by one: fewer at a time are not quicker.
BLOCK_LEAST = 32


@dataclass(frozen=True)
class Split:
    """A place in a series, and how unlike its two sides are there."""

    at: int
    unlike: float


class Piece:
    """A stretch without a known change: its values in order of size, and their distances summed."""

    def __init__(self, start: int, values: Floats) -> None:
        self.start, self.size = start, len(values)
        drawn = clip_far_values(values)
        by_size = np.argsort(drawn, kind="stable")
        self.values = drawn[by_size]
        self.ranks = np.empty(self.size, dtype=np.intp)
        self.ranks[by_size] = np.arange(self.size)
        below, sums = np.arange(self.size), np.cumsum(self.values)
        others = sums[-1] - sums - self.values * (self.size - 1 - below)
        #: The sum of the distances from each value to all others.
        self.distances = self.values * (below + 1) - sums + others
        self.left = np.arange(SIDE_LEAST, self.size - SIDE_LEAST + 1)

    def split(self) -> Split:
        """The place where its two sides are most unlike."""
        unlike = self._compute_energy(np.arange(self.size)[None, :])[0]
        best = int(np.argmax(unlike))
        return Split(self.start + int(self.left[best]), float(unlike[best]))

    def shuffle(self, rng: np.random.Generator, shuffles: int) -> Floats:
        """How unlike the sides are at the best place of each of so many orders."""
        orders = rng.permuted(np.tile(np.arange(self.size), (shuffles, 1)), axis=1)
        held = self.size * max(self.size // self._block, self._block)
        chunks = np.array_split(orders, math.ceil(shuffles * held / CHUNK))
        return np.concatenate([self._compute_energy(chunk).max(axis=1) for chunk in chunks])

    def _compute_energy(self, orders: NDArray[np.int_]) -> Floats:
        """The energy statistic m·n/(m + n)·E of the sides (orders, places): sums of distances
        within the first m points, within the others, and between, all from running sums.
        """
        ranks = self.ranks[orders]
        within = np.cumsum(self._sum_distances_back(ranks), axis=1)[:, self.left - 1]
        sums = np.cumsum(self.distances[ranks], axis=1)
        between = sums[:, self.left - 1] - 2.0 * within
        others = sums[:, -1:] / 2.0 - within - between
        m, n = self.left, self.size - self.left
        energy = 2.0 * between / (m * n)
        energy -= within / (m * (m - 1) / 2.0) + others / (n * (n - 1) / 2.0)
        return np.asarray(energy * m * n / (m + n))

    @property
    def _block(self) -> int:
        return max(BLOCK_LEAST, math.isqrt(self.size))

    def _sum_distances_back(self, ranks: NDArray[np.intp]) -> Floats:
        """From each point to all before it in the order, summed (orders, points).

        Block by block: to the points of its own block one by one, to those of earlier blocks by
        how many of them are smaller, and their sum: n·√n steps an order, where all pairs are n².
        """
        found = np.empty(ranks.shape)
        seen = np.zeros(ranks.shape)
        for start in range(0, self.size, self._block):
            block = ranks[:, start : start + self._block]
            own = self.values[block]
            part = np.tril(np.abs(own[:, :, None] - own[:, None, :])).sum(axis=2)
            if start:
                smaller = np.take_along_axis(np.cumsum(seen, axis=1), block, axis=1)
                sums = np.cumsum(seen * self.values, axis=1)
                below = np.take_along_axis(sums, block, axis=1)
                part += own * (2.0 * smaller - start) - 2.0 * below + sums[:, -1:]
            found[:, start : start + self._block] = part
            np.put_along_axis(seen, block, 1.0, axis=1)
        return found


def clip_far_values(values: Floats) -> Floats:
    """`values` with those beyond `FAR` spreads of the median set there; as they are where half of
    them are one and the same, which has no spread.
    """
    centre = np.median(values)
    spread = MAD_SD * np.median(np.abs(values - centre))
    if spread == 0.0:
        return values
    return np.clip(values, centre - FAR * spread, centre + FAR * spread)


#: Likelihood ratio up to which a place is kept: 99 % of Hansen's distribution.
PLACE_RATIO = 10.59
#: Shuffled orders that a change must part farther than.
SHUFFLES = 999


@dataclass(frozen=True)
class Change:
    """The series changes before the point `at`; `p` is that of the search which found it.

    `estimate` is the mean of the points after less that of those before, up to the next changes;
    `low` and `high` bound it (Welch), as if the place had not been chosen for being unlike.
    The true place is one from `first` to `last`, in 99 % of steps (`find_place`).
    """

    at: int
    p: float
    estimate: float
    low: float
    high: float
    first: int
    last: int


def compute_least_points(alpha: float) -> int:
    """The shortest series in which shuffling could find anything at `alpha`: of all ways to part
    it in the middle, two have the halves apart, one with each half below.
    """
    return next(n for n in range(2 * SIDE_LEAST, 200) if 2 / math.comb(n, n // 2) <= alpha)


#: Shuffles for a p value that is to be told apart from a level, times that level.
FINER = 3.0
#: So many shuffles that part as far tell a p value well enough.
ENOUGH = 10
#: Shuffles to begin with, and then twice as many each time.
BATCH = 64
#: A change that parts so many times farther than the farthest shuffle is beyond every level
#: (docs/evidence/history-search.md).
BEYOND = 3.0
#: Steps that telling one p value apart may take; a long series has fewer shuffles for it.
STEPS_MAX = 2e9
#: What of α a night may spend, times the points that there are then (`compute_nightly_alpha`).
NIGHTLY = 1.5


def compute_nightly_alpha(alpha: float, points: int) -> float:
    """The level of a search that is made again with every point that is added.

    At α itself each night, a series without a change would be flagged at some time far more often
    than α. Nights share most of their points, and what one of them adds is about in proportion to
    1/n; so is what it may spend. A series of any length then stays below α, by simulation
    (docs/evidence/code-choices.md).
    """
    return min(alpha, NIGHTLY * alpha / points)


def find_changes(
    series: Floats, alpha: float, seed: int = 1, shuffles: int = SHUFFLES, finest: float = 1.0
) -> list[Change]:
    """The changes of `series` (points in their order, differences are what counts), in order.

    Of series in which nothing changes at most `alpha` get any. Each change that is there leads to
    one more search at `alpha`. p values are told apart from `finest`, with more shuffles if needed.
    """
    rng = np.random.default_rng(seed)
    found: dict[int, float] = {}
    while True:
        ends = [0, *sorted(found), len(series)]
        pieces = [
            Piece(start, series[start:end])
            for start, end in pairwise(ends)
            if end - start >= 2 * SIDE_LEAST
        ]
        if not pieces:
            break
        best = max((piece.split() for piece in pieces), key=lambda split: split.unlike)
        sought = _Search(pieces, best.unlike, rng)
        p = sought.compute_p_value(shuffles, math.floor(alpha * (1 + shuffles)))
        if p > alpha:
            break
        found[best.at] = _tell_p_value(sought, p, shuffles, finest)
    return list(_measure_changes(series, found, alpha))


def _tell_p_value(sought: _Search, p: float, shuffles: int, finest: float) -> float:
    """`p`, told apart from `finest`: by more shuffles where it may be below."""
    more = math.ceil(FINER / finest)
    if more <= shuffles or p > finest + FINER / shuffles:
        return p
    if sought.is_beyond:
        return min(p, finest)
    steps = sum(piece.size**1.5 for piece in sought.pieces)
    return sought.compute_p_value(max(shuffles, min(more, int(STEPS_MAX / steps))), ENOUGH)


class _Search:
    """The shuffles of all pieces, held against the most unlike place in one of them."""

    def __init__(self, pieces: Sequence[Piece], unlike: float, rng: np.random.Generator) -> None:
        self.pieces, self.unlike, self.rng = pieces, unlike, rng
        self.farthest = 0.0

    @property
    def is_beyond(self) -> bool:
        """Does the place part so much farther than every shuffle that no more are needed?"""
        return self.unlike >= BEYOND * self.farthest

    def compute_p_value(self, shuffles: int, enough: int) -> float:
        """The share of `shuffles`, within the pieces, that part as far; this one counts too. It
        ends where `enough` of them do: the share of all would be above `enough` in them.
        """
        far = self.unlike * (1.0 - 1e-9)  # the same values in another order sum up otherwise
        done = count = 0
        batch = BATCH
        while done < shuffles and count < enough:
            size = min(batch, shuffles - done)
            shuffled = np.stack([piece.shuffle(self.rng, size) for piece in self.pieces])
            self.farthest = max(self.farthest, float(shuffled.max()))
            count += int((shuffled.max(axis=0) >= far).sum())
            done += size
            batch *= 2
        return (1 + count) / (1 + done)


def _measure_changes(series: Floats, found: dict[int, float], alpha: float) -> Iterator[Change]:
    ends = [0, *sorted(found), len(series)]
    for start, at, end in zip(ends, ends[1:], ends[2:], strict=False):
        before, after = series[start:at], series[at:end]
        estimate = float(after.mean() - before.mean())
        half = _compute_half_width(before, after, alpha)
        first, last = (start + place for place in find_place(series[start:end], at - start))
        yield Change(at, found[at], estimate, estimate - half, estimate + half, first, last)


def find_place(values: Floats, at: int) -> tuple[int, int]:
    """The first and the last place at which the one step in `values` may lie; `at` is among them.

    Kept is each place whose two means leave squares that a likelihood ratio cannot tell from the
    least (Hansen, *Sample splitting and threshold estimation*, Econometrica 68, 2000, table I);
    n − 2 stands for his n, since series are short. Without noise the place is known.
    """
    drawn = clip_far_values(values)
    places = np.arange(1, drawn.size)
    before = np.cumsum(drawn)[:-1]
    after = drawn.sum() - before
    explained = before**2 / places + after**2 / (drawn.size - places)
    squares = np.maximum((drawn**2).sum() - explained, 0.0)
    excess = (drawn.size - 2) * (squares - squares.min())
    kept = places[excess <= PLACE_RATIO * squares.min()]
    return min(int(kept[0]), at), max(int(kept[-1]), at)


def _compute_half_width(before: Floats, after: Floats, alpha: float) -> float:
    """Half of Welch's interval of level 1 − α for the difference of two means."""

    parts = [side.var(ddof=1) / side.size for side in (before, after)]
    error2 = float(sum(parts))
    if error2 == 0.0:
        return 0.0
    sizes = (before.size, after.size)
    freedom = error2**2 / sum(v**2 / (n - 1) for v, n in zip(parts, sizes, strict=True))
    return float(-scipy.special.stdtrit(freedom, alpha / 2.0) * math.sqrt(error2))
