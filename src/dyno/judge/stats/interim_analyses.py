"""When the data may be looked at, and the level of each look: a group-sequential design.

How much of α has been spent by an analysis follows Lan & DeMets (1983), their Pocock-type function.
The bounds are found by recursive numerical integration, the one thing here that no maintained
library gives. With S(t) a Brownian motion in the fraction t of all blocks, analysis k stops where
|S(t_k)| > c_k·sqrt(t_k); each c_k is chosen so that the chance of a first crossing there is what
the spending function adds (Armitage, McPherson & Rowe 1969; Lan & DeMets 1983; Jennison & Turnbull
2000, chapter 19). The sub-density of the paths that are still inside is carried from analysis to
analysis on Gauss-Legendre nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import scipy
from numpy.typing import NDArray


def spend_pocock(fraction: float, alpha: float) -> float:
    """α·ln(1 + (e − 1)·t): α spent when the fraction t in (0, 1] of the blocks is in."""
    return alpha * math.log1p((math.e - 1.0) * fraction)


#: The valid blocks at which a default run looks at its data last (METHOD.md, The interval and the
#: interim analyses), and those at which it looks before; beyond it a third more blocks each time,
#: so that a long run too may end early.
MAX = 24
EARLIER = (6, 10, 14, 18, MAX, 32, 42, 56, 75, 100, 133, 177)
#: No analysis after this part of the last: it would save next to no time, and cost power
#: (docs/evidence/code-choices.md).
EARLIER_SHARE = 0.85


def choose_analyses_up_to(most: int) -> tuple[int, ...]:
    """The default analyses well before `most` blocks, and `most` itself."""
    return (*(n for n in EARLIER if n <= EARLIER_SHARE * most), most)


Floats = NDArray[np.float64]

NODES = 128
#: No bound is farther out than this many standard deviations (a level of 1e-33).
FARTHEST = 12.0
LEVEL_LEAST = 1e-12


@cache
def compute_critical_values(fractions: tuple[float, ...], alpha: float) -> tuple[float, ...]:
    """The two-sided normal bounds c_k at `fractions` (rising, the last at most 1) of the blocks."""
    inside = _Inside()
    values = []
    spent = 0.0
    for fraction in fractions:
        spend = spend_pocock(fraction, alpha) - spent
        values.append(inside.advance(fraction, spend))
        spent += spend
    return tuple(values)


@cache
def compute_nominal_levels(fractions: tuple[float, ...], alpha: float) -> tuple[float, ...]:
    """The two-sided levels at which each analysis's own p value is held, so that all spend
    `alpha`.
    """
    return tuple(
        float(2.0 * scipy.special.ndtr(-c)) for c in compute_critical_values(fractions, alpha)
    )


class _Inside:
    """The sub-density of S on the paths that have crossed no bound yet."""

    def __init__(self) -> None:
        self.fraction = 0.0
        self.nodes: Floats = np.zeros(1)
        self.masses: Floats = np.ones(1)

    def advance(self, fraction: float, spend: float) -> float:
        """Goes to the look at `fraction`, where `spend` is to cross; its bound c."""
        scale = np.sqrt(fraction - self.fraction)
        edge = _find_edge(self._compute_exit_chance(scale), spend, FARTHEST * np.sqrt(fraction))
        nodes, weights = _compute_gauss_nodes(NODES)
        steps = (edge * nodes[:, None] - self.nodes[None, :]) / scale
        density = np.exp(-0.5 * steps**2) / (np.sqrt(2.0 * np.pi) * scale) @ self.masses
        self.nodes, self.masses = edge * nodes, edge * weights * density
        self.fraction = fraction
        return float(edge / np.sqrt(fraction))

    def _compute_exit_chance(self, scale: float) -> Callable[[float], float]:
        """The chance to be outside ±edge after a step with this standard deviation."""

        def compute_chance(edge: float) -> float:
            above = scipy.special.ndtr((self.nodes - edge) / scale)
            below = scipy.special.ndtr((-edge - self.nodes) / scale)
            return float(self.masses @ (above + below))

        return compute_chance


@cache
def _compute_gauss_nodes(count: int) -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights


#: How near to each other two guesses of a root are, once it is found.
ROOT_ACCURACY = 1e-11


def _find_edge(chance: Callable[[float], float], spend: float, farthest: float) -> float:
    """The edge that lets `spend` out; the farthest where next to nothing is to be spent."""
    if chance(farthest) >= spend:
        return farthest
    return find_root(lambda edge: chance(edge) - spend, 0.0, farthest)


def find_root(compute: Callable[[float], float], low: float, high: float) -> float:
    """Where a monotonic function, of unlike signs at `low` and `high`, is 0 (Ridders's method).

    `scipy.optimize` has such functions, and is slow to import.
    """
    points, former = [(low, compute(low)), (high, compute(high))], math.inf
    while True:
        (low, at_low), (high, at_high) = next(
            (one, other) for one, other in pairwise(points) if one[1] * other[1] <= 0.0
        )
        middle = (low + high) / 2.0
        at_middle = compute(middle)
        slope = math.copysign(math.sqrt(at_middle**2 - at_low * at_high), at_low - at_high)
        root = middle + (middle - low) * at_middle / slope if slope else middle
        if abs(root - former) <= ROOT_ACCURACY * max(1.0, abs(root)):
            return root
        inner = [(middle, at_middle), (root, compute(root))]
        points, former = [(low, at_low), *sorted(inner), (high, at_high)], root


def compute_adjusted_p(p_value: Floats | float, fractions: tuple[float, ...]) -> Floats:
    """The smallest α at which an analysis with the two-sided `p_value` would have stopped.

    The p value of a sequential test (Liu & Anderson 2008), for the last of `fractions`; what Holm
    and Benjamini-Hochberg are fed with. Read from a table of 48 levels by interpolation.
    """
    levels, nominal = _build_table(fractions)
    clipped = np.clip(np.asarray(p_value, dtype=float), LEVEL_LEAST, 1.0)
    found = np.exp(np.interp(np.log(clipped), nominal, levels, right=0.0))
    return np.asarray(np.maximum(found, clipped), dtype=float)


@cache
def _build_table(fractions: tuple[float, ...]) -> tuple[Floats, Floats]:
    """log α against the log of the nominal level at the last of `fractions`, both rising."""
    z_values = np.linspace(-scipy.special.ndtri(LEVEL_LEAST / 2.0), 0.05, 48)
    alphas = 2.0 * scipy.special.ndtr(-z_values)
    nominal = [compute_nominal_levels(fractions, float(a))[-1] for a in alphas]
    return np.log(alphas), np.log(np.asarray(nominal))


@dataclass(frozen=True)
class InterimAnalyses:
    """Looks at these numbers of valid blocks, rising; all of them together spend `alpha`.

    A number of blocks that is no interim analysis of ours (a run torn before its first one) is held
    at the level that it would have as an analysis after the earlier ones.
    """

    blocks: tuple[int, ...]
    alpha: float

    @property
    def maximum(self) -> int:
        """MAX: the blocks at the last analysis."""
        return self.blocks[-1]

    def find_last_reached(self, valid: int) -> int:
        """The last analysis that `valid` blocks are enough for; 0 before the first."""
        return max((b for b in self.blocks if b <= valid), default=0)

    def find_next(self, valid: int) -> int:
        """The analysis after `valid` blocks; MAX where there is none."""
        return min((b for b in self.blocks if b > valid), default=self.maximum)

    def compute_fractions(self, blocks: int) -> tuple[float, ...]:
        """The interim analyses up to the one at `blocks`, as fractions of MAX."""
        at = min(blocks, self.maximum)
        earlier = [b for b in self.blocks if b < at]
        return tuple(b / self.maximum for b in (*earlier, at))

    def compute_level(self, blocks: int) -> float:
        """The two-sided nominal level of the look at `blocks`."""
        return compute_nominal_levels(self.compute_fractions(blocks), self.alpha)[-1]

    def adjust_p(self, p_value: Floats | float, blocks: int) -> Floats:
        """`p_value` of the look at `blocks`, adjusted for all analyses."""
        return compute_adjusted_p(p_value, self.compute_fractions(blocks))


@dataclass(frozen=True)
class SingleAnalysis(InterimAnalyses):
    """One look at all blocks there are, from `blocks` (one number) on, at the whole `alpha`. Their
    number must not depend on what they measured.
    """

    def find_last_reached(self, valid: int) -> int:
        """All of them; 0 where they are too few."""
        return valid if valid >= self.maximum else 0
