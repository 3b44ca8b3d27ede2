"""The middle of repeated runs, and how far they lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, quantiles


def compute_median(us: Sequence[float]) -> float:
    """The median; 0 of none."""
    return median(us) if us else 0.0


def find_middle(us: Sequence[float]) -> tuple[float, float]:
    """Between which two times the middle half lies."""
    if len(us) < 2:
        return (us[0], us[0]) if us else (0.0, 0.0)
    low, _, high = quantiles(us, n=4, method="inclusive")
    return low, high
