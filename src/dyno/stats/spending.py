"""How much of α has been spent by a look (Lan & DeMets 1983, their Pocock-type function)."""

from __future__ import annotations

import math


def pocock(fraction: float, alpha: float) -> float:
    """α·ln(1 + (e − 1)·t): α spent when the fraction t in (0, 1] of the blocks is in."""
    return alpha * math.log1p((math.e - 1.0) * fraction)
