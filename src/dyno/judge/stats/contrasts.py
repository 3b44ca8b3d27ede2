"""Effects of crossed factors: weights over the cells of a design, whose sums are the effects.

A cell is one level of each factor; level 0 is the factor's base. Of the logs of one block, one for
each cell, a *main effect* is the mean over the cells with a level less the mean over those with
the base level, everything else averaged over. A *two-factor interaction* is the difference between
two such differences: by how much the effect of one factor changes when the other one moves; with
three factors it is the difference between two of those; and so on (Montgomery, *Design and
Analysis of Experiments*, chapters 5 and 6; Box, Hunter, Hunter, *Statistics for Experimenters*,
chapter 5). Those books halve an interaction of two-level factors at each order; ours are not
halved, so that e to the power of one is a ratio of ratios.

Each contrast is one number per block, and a t interval over these (`dyno.judge.stats.interval`)
takes the spread of this very contrast. The books pool one error over all cells; but cells may
differ in spread, and often the question is whether they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, product

import numpy as np

from dyno.judge.stats.log_ratio import Floats


@dataclass(frozen=True)
class Contrast:
    """An effect: `factors` and their `levels` by number, and what is to be summed over the cells.

    `weights @ logs` is the effect; `corner @ logs` the mean over the cells with these levels. Both
    have the shape (cells,).
    """

    factors: tuple[int, ...]
    levels: tuple[int, ...]
    weights: Floats
    corner: Floats


def build_factorial(sizes: Sequence[int]) -> list[Contrast]:
    """All effects of a full factorial, main effects first; `sizes` counts each factor's levels.

    The cells stand in the order of `itertools.product`: the last factor varies fastest. There are
    as many effects as cells without the base.
    """
    orders = range(1, len(sizes) + 1)
    subsets = [some for order in orders for some in combinations(range(len(sizes)), order)]
    return [
        _build_contrast(sizes, dict(zip(some, levels, strict=True)))
        for some in subsets
        for levels in product(*(range(1, sizes[factor]) for factor in some))
    ]


def build_one_at_a_time(sizes: Sequence[int]) -> list[Contrast]:
    """The main effects where only the base cell is left by one factor at a time.

    The cells are the base, then each other level of the first factor, of the second, and so on.
    Each effect is one cell against the base: it holds where all other factors are at their base.
    """
    moves = [(f, level) for f, size in enumerate(sizes) for level in range(1, size)]
    cells = np.eye(len(moves) + 1)
    return [
        Contrast((factor,), (level,), cells[at] - cells[0], cells[at])
        for at, (factor, level) in enumerate(moves, 1)
    ]


def _build_contrast(sizes: Sequence[int], moved: dict[int, int]) -> Contrast:
    """The tensor product of a difference for each factor moved, and a mean for each other."""
    weights, corner = [], []
    for factor, size in enumerate(sizes):
        level = np.eye(size)[moved.get(factor, 0)]
        mean = np.full(size, 1.0 / size)
        weights.append(level - np.eye(size)[0] if factor in moved else mean)
        corner.append(level if factor in moved else mean)
    return Contrast(
        tuple(moved), tuple(moved.values()), _multiply_tensors(weights), _multiply_tensors(corner)
    )


def _multiply_tensors(parts: Sequence[Floats]) -> Floats:
    return reduce(lambda left, right: np.asarray(np.kron(left, right)), parts)
