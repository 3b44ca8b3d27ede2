"""The sign test: do so many of one kind among so many agree with a fair coin?"""

from __future__ import annotations

from math import comb


def compute_sign_p(ours: int, of: int) -> float:
    """Two-sided, exact: how often a fair coin is as skewed as `ours` heads in `of` throws."""
    fewer = min(ours, of - ours)
    tail = sum(comb(of, heads) for heads in range(fewer + 1))
    return float(min(1.0, 2.0 * tail / 2.0**of))
