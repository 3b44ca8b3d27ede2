"""Power: what a number of blocks can detect, and how many blocks a slowdown takes (non-central t).

To detect means that the whole interval lies above 0; α is two-sided. The outlook of a run counts
the analyses and Holm: MDE80 by non-central t at the last analysis's nominal level for α/K, K
primaries being judged together (Holm's first and hardest step); the chances of each word by playing
the sequential rule itself on 4,000 simulated runs with normal errors, and its likely length with
them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import scipy

from dyno.judge.stats.interim_analyses import InterimAnalyses, find_root
from dyno.judge.stats.log_ratio import Floats, to_percent
from dyno.judge.stats.simulate import Rule, simulate_runs

POWER = 0.8


@cache
def solve_noncentrality(blocks: int, alpha: float, power: float = POWER) -> float:
    """The effect, in standard errors, that `blocks` (≥ 2) see with the chance `power`."""
    critical = -float(scipy.special.stdtrit(blocks - 1, alpha / 2.0))

    def compute_missing(effect: float) -> float:
        return 1.0 - float(scipy.special.nctdtr(blocks - 1, effect, critical)) - power

    return find_root(compute_missing, 0.0, 3.0 * critical + 10.0)


def compute_detectable(blocks: int, sd: float, alpha: float, power: float = POWER) -> float:
    """The smallest effect that is seen with the chance `power`: MDE80; logs in, log out."""
    return solve_noncentrality(blocks, alpha, power) * sd / math.sqrt(blocks)


#: The share of plans that take no less spread than there is.
BOUND_SHARE = 0.8


def compute_known_freedom(freedom: int, *, stopped_early: bool) -> int:
    """Degrees of freedom with which a run of `freedom` (`interval.compute_error`) knows a variance.

    A run that was decided before its last analysis is one of those whose blocks happened to agree:
    one less, which makes `compute_sd_bound` hold as often as it says
    (docs/evidence/code-choices.md).
    """
    return max(1, freedom - stopped_early)


def compute_sd_bound(sd: float, freedom: float, share: float = BOUND_SHARE) -> float:
    """The upper bound of a standard deviation that was estimated with so many degrees of freedom.

    A plan that takes the estimate itself finds its MDE80 in 71 to 72 runs of 100, not in 80: what
    is too small is not made up for by what is too large. χ², for normal errors.
    """
    return float(sd * np.sqrt(freedom / scipy.special.chdtri(freedom, share)))


RUNS = 4000
SEED = 17
DATA_LEAST = 2


@dataclass(frozen=True)
class BlockErrors:
    """How a primary's block log ratios will vary: `sd`, of which `load_sd` comes with the load.

    `loads` of each candidate rotate over the blocks; 0: every trial loads anew.
    """

    sd: float
    loads: int = 0
    load_sd: float = 0.0

    def count_data(self, blocks: int) -> tuple[int, float]:
        """How many independent data `blocks` give, and the sd of each."""
        if self.loads < DATA_LEAST or blocks <= self.loads:
            return blocks, self.sd
        own = max(self.sd**2 - self.load_sd**2, 0.0) * self.loads / blocks
        return self.loads, float(np.sqrt(self.load_sd**2 + own))


def compute_mde80(analyses: InterimAnalyses, errors: BlockErrors, family: int) -> float:
    """The slowdown, in percent, that the last analysis finds four times in five."""
    alone = replace(analyses, alpha=analyses.alpha / max(family, 1))
    return to_percent(
        compute_detectable(
            *errors.count_data(analyses.maximum), alone.compute_level(analyses.maximum)
        )
    )


@dataclass(frozen=True)
class Chances:
    """Shares of runs: `found` is *slower* where it is true by the margin, `cleared` is *not slower*
    where both are equal. `blocks` is what such an equal run takes on average.
    """

    found: float
    cleared: float
    blocks: float


@cache
def estimate_chances(
    analyses: InterimAnalyses, margin: float, errors: BlockErrors, family: int
) -> Chances:
    """Those of one primary among `family`; `margin` is δ as a log."""
    rule = Rule(analyses, margin, _group_blocks(errors, analyses.maximum), family)
    slower = simulate_runs(
        _simulate_equal_sides(errors, analyses.maximum)[:, None, :] + margin, rule
    )
    equal = simulate_runs(_simulate_equal_sides(errors, analyses.maximum)[:, None, :], rule)
    cleared = equal.compute_share("not slower") + equal.compute_share("faster")
    return Chances(slower.compute_share("slower"), cleared, float(equal.blocks.mean()))


def estimate_blocks(
    analyses: InterimAnalyses, margins: Sequence[float], errors: Sequence[BlockErrors]
) -> float:
    """The blocks that a run takes on average where nothing differs: until its last primary is
    decided. Primaries are taken as independent, which errs towards more.
    """
    made = [
        _simulate_equal_sides(each, analyses.maximum, SEED + at) for at, each in enumerate(errors)
    ]
    scaled = [logs / margin for logs, margin in zip(made, margins, strict=True)]
    rule = Rule(analyses, 1.0, _group_blocks(errors[0], analyses.maximum), len(errors))
    return float(simulate_runs(np.stack(scaled, axis=1), rule).blocks.mean())


def _group_blocks(errors: BlockErrors, blocks: int) -> list[int] | None:
    return [block % errors.loads for block in range(blocks)] if errors.loads else None


def _simulate_equal_sides(errors: BlockErrors, blocks: int, seed: int = SEED) -> Floats:
    """Block log ratios of runs in which both sides are equal, of the shape (runs, blocks)."""
    rng = np.random.default_rng(seed)
    turn = np.arange(blocks) % (errors.loads or blocks)
    load = rng.normal(0.0, errors.load_sd, (RUNS, errors.loads or blocks))[:, turn]
    own = np.sqrt(max(errors.sd**2 - errors.load_sd**2, 0.0))
    return np.asarray(load + rng.normal(0.0, 1.0, (RUNS, blocks)) * own)
