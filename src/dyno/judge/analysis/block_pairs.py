"""Numbers of two sides, one of each block, compared: for instruments whose restarts give a number
and nothing else (a disk's rate, what a program prints).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
from msgspec.structs import replace

from dyno.judge.analysis.rows import build_row
from dyno.judge.stats.interim_analyses import InterimAnalyses
from dyno.judge.stats.interval import compute_t_interval
from dyno.judge.stats.log_ratio import to_log, to_percent
from dyno.judge.stats.power import compute_detectable
from dyno.judge.stats.verdict import adjust_holm, choose_verdicts
from dyno.record import Comparison, Metric, VerdictName

ALPHA = 0.05
#: Fewer blocks have no spread.
BLOCKS_LEAST = 2


class BlockPair(NamedTuple):
    """A metric's numbers of a base and a candidate, above 0, in the order of their blocks."""

    metric: Metric
    base: str
    candidate: str
    base_values: Sequence[float]
    candidate_values: Sequence[float]

    @property
    def log_ratios(self) -> list[float]:
        """Of the time, block by block: above 0 where the candidate is slower."""
        sign = 1.0 if self.metric.better == "higher" else -1.0
        pairs = zip(self.base_values, self.candidate_values, strict=True)
        return [sign * math.log(one / other) for one, other in pairs]


def compare_blocks(
    pairs: Sequence[BlockPair], analyses: Sequence[int], margin_percent: float
) -> list[Comparison]:
    """Return a row for each pair, all of which have as many blocks, two at least: a primary, held
    by the interim analyses at these numbers of blocks, and by Holm among all of them.
    """
    blocks = len(pairs[0].base_values)
    looks = InterimAnalyses(tuple(analyses), ALPHA)
    level = looks.compute_level(blocks)
    intervals = [compute_t_interval(np.array(pair.log_ratios), level) for pair in pairs]
    p_values = adjust_holm(np.array([looks.adjust_p(it.p, blocks) for it in intervals]))
    rows = []
    for pair, interval, p in zip(pairs, intervals, p_values, strict=True):
        word = choose_verdicts(
            interval,
            to_log(margin_percent),
            blocks=blocks,
            last=blocks >= looks.maximum,
            significant=p <= ALPHA,
        )
        names = (pair.base, pair.candidate)
        means = (compute_mean(pair.base_values), compute_mean(pair.candidate_values))
        seen = compute_detectable(blocks, float(interval.sd), level)
        rows.append(
            replace(
                build_row(pair.metric, names, means, interval, margin_percent, blocks),
                mde80_percent=to_percent(seen),
                p_value=float(p),
                verdict=cast("VerdictName", str(word)),
            )
        )
    return rows


def compute_mean(values: Sequence[float]) -> float:
    """The geometric mean; 0 of none."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 0.0
