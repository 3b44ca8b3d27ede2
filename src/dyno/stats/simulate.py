"""Plays the sequential rule on made-up blocks, by the functions that judge real ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dyno.stats.interval import Floats, Interval, t_interval
from dyno.stats.looks import Looks
from dyno.stats.multiplicity import holm
from dyno.stats.verdict import OPEN, Words, verdicts


@dataclass(frozen=True)
class Outcome:
    """What came of each comparison, arrays of the shape (runs, primaries) but `blocks` (runs)."""

    words: Words
    blocks: NDArray[np.int_]
    estimate: Floats
    low: Floats
    high: Floats

    def share(self, word: str) -> float:
        """The share of comparisons that ended in `word`."""
        return float((self.words == word).mean())

    def covered(self, truth: float) -> float:
        """The share of intervals, at the look where the run ended, that hold `truth`."""
        return float(((self.low <= truth) & (truth <= self.high)).mean())


def play(logs: Floats, looks: Looks, margin: float) -> Outcome:
    """Runs that stop when all their primaries are decided; `logs` is (runs, primaries, MAX)."""
    runs, primaries, _ = logs.shape
    words = np.full((runs, primaries), OPEN, dtype="U12")
    bounds = np.zeros((3, runs, primaries))
    blocks = np.zeros(runs, dtype=int)
    going = np.arange(runs)
    for n in looks.blocks:
        seen, said = judged(logs[going, :, :n], looks, margin)
        words[going], blocks[going] = said, n
        bounds[:, going] = np.stack([seen.estimate, seen.low, seen.high])
        going = going[(said == OPEN).any(axis=1)]
    return Outcome(words, blocks, *bounds)


def judged(logs: Floats, looks: Looks, margin: Floats | float) -> tuple[Interval, Words]:
    """Intervals and words at one look; `logs` is (runs, primaries, blocks at the look)."""
    n = logs.shape[-1]
    interval = t_interval(logs, looks.level(n))
    significant = holm(looks.adjusted(interval.p, n)) <= looks.alpha
    return interval, verdicts(interval, margin, last=n == looks.maximum, significant=significant)


def clopper_pearson(hits: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact two-sided interval of a share."""
    found = stats.binomtest(hits, trials).proportion_ci(confidence, method="exact")
    return float(found.low), float(found.high)
