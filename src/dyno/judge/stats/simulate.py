"""The sequential rule on simulated blocks, by the functions that judge real ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from dyno.judge.stats.interim_analyses import InterimAnalyses
from dyno.judge.stats.interval import Interval, compute_t_interval, extract_independent_data
from dyno.judge.stats.log_ratio import Floats
from dyno.judge.stats.verdict import OPEN, Words, adjust_holm, choose_verdicts


@dataclass(frozen=True)
class Outcome:
    """What came of each comparison, arrays of the shape (runs, primaries) but `blocks` (runs)."""

    words: Words
    blocks: NDArray[np.int_]
    estimate: Floats
    low: Floats
    high: Floats

    def compute_share(self, word: str) -> float:
        """The share of comparisons that ended in `word`."""
        return float((self.words == word).mean())

    def compute_coverage(self, truth: float) -> float:
        """The share of intervals, at the analysis where the run ended, that hold `truth`."""
        return float(((self.low <= truth) & (truth <= self.high)).mean())


@dataclass(frozen=True)
class Rule:
    """What a run is judged by: its analyses, δ as a log, the group of each block, and the family.

    `groups` tells the load of each block where loads come again (`extract_independent_data`);
    `family` counts the primaries that Holm runs over, those that are not simulated included (with
    p = 1).
    """

    analyses: InterimAnalyses
    margin: float
    groups: Sequence[int] | None = None
    family: int = 0

    def judge(self, logs: Floats) -> tuple[Interval, Words]:
        """Intervals and words at one analysis; `logs` is (runs, primaries, blocks at the
        analysis).
        """
        analyses, n = self.analyses, logs.shape[-1]
        groups = None if self.groups is None else self.groups[:n]
        interval = compute_t_interval(
            extract_independent_data(logs, groups), analyses.compute_level(n)
        )
        p_values = analyses.adjust_p(interval.p, n)
        unseen = np.ones((logs.shape[0], max(0, self.family - logs.shape[1])))
        adjusted = adjust_holm(np.concatenate([p_values, unseen], axis=1))[:, : logs.shape[1]]
        last, significant = n == analyses.maximum, adjusted <= analyses.alpha
        return interval, choose_verdicts(
            interval, self.margin, blocks=n, last=last, significant=significant
        )


def simulate_runs(logs: Floats, rule: Rule) -> Outcome:
    """Runs that stop when all their primaries are decided; `logs` is (runs, primaries, MAX)."""
    runs, primaries, _ = logs.shape
    words = np.full((runs, primaries), OPEN, dtype="U12")
    bounds = np.zeros((3, runs, primaries))
    blocks = np.zeros(runs, dtype=int)
    going = np.arange(runs)
    for n in rule.analyses.blocks:
        seen, said = rule.judge(logs[going, :, :n])
        words[going], blocks[going] = said, n
        bounds[:, going] = np.stack([seen.estimate, seen.low, seen.high])
        going = going[(said == OPEN).any(axis=1)]
    return Outcome(words, blocks, *bounds)


def compute_clopper_pearson(
    hits: int, trials: int, confidence: float = 0.95
) -> tuple[float, float]:
    """The exact two-sided interval of a share."""
    tail, missed = (1.0 - confidence) / 2.0, trials - hits
    low = scipy.special.betaincinv(hits, missed + 1, tail) if hits else 0.0
    high = scipy.special.betaincinv(hits + 1, missed, 1.0 - tail) if missed else 1.0
    return float(low), float(high)
