"""What a number of blocks can see, and how many blocks it takes (non-central t).

"See" means that the whole interval lies above 0; α is two-sided.
"""

from __future__ import annotations

import itertools
import math
from functools import cache

from scipy.optimize import brentq
from scipy.special import nctdtr, ndtri, stdtrit

from dyno.stats.percent import to_log, to_percent

POWER = 0.8


@cache
def noncentrality(blocks: int, alpha: float, power: float = POWER) -> float:
    """The effect, in standard errors, that `blocks` (≥ 2) see with the chance `power`."""
    critical = -float(stdtrit(blocks - 1, alpha / 2.0))

    def missing(effect: float) -> float:
        return 1.0 - float(nctdtr(blocks - 1, effect, critical)) - power

    return float(brentq(missing, 0.0, 3.0 * critical + 10.0))


def detectable(blocks: int, sd: float, alpha: float, power: float = POWER) -> float:
    """The smallest effect that is seen with the chance `power`: MDE80; logs in, log out."""
    return noncentrality(blocks, alpha, power) * sd / math.sqrt(blocks)


def detectable_percent(blocks: int, sd_percent: float, alpha: float, power: float = POWER) -> float:
    """`detectable` in percent: the slowdown that `blocks` with this block sd find."""
    return to_percent(detectable(blocks, to_log(sd_percent), alpha, power))


def blocks_needed(
    effect_percent: float, sd_percent: float, alpha: float, power: float = POWER
) -> int:
    """The fewest blocks (≥ 3) that find a slowdown of `effect_percent` (> 0) with `power`."""
    effect, sd = to_log(effect_percent), to_log(sd_percent)
    normal = float(ndtri(power) - ndtri(alpha / 2.0))
    first = max(3, math.floor((normal * sd / effect) ** 2))  # t never needs fewer than normal
    return next(n for n in itertools.count(first) if detectable(n, sd, alpha, power) <= effect)
