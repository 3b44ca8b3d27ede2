"""How other tools would call the same restart logs: rules written by us from what they describe.

Each answers one question, as a user of that tool would read its output: is the candidate *slower*?
None of them looks more than once, and none knows blocks. Sources: the tools' own documents and
files, as of 2026; no code of theirs is here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]
ALPHA = 0.05


@dataclass(frozen=True)
class Log:
    """The restarts of one comparison as times per operation, of the shape (restarts, windows)."""

    base: Floats
    candidate: Floats


def welch_pooled(log: Log) -> bool:
    """Welch's t test on all windows of all restarts, as if independent; α 5 %, two-sided.

    pyperf's `compare_to` pools the values of its processes so (`Benchmark.get_values` flattens
    them) and calls `_utils.is_significant`: Student's t there, with equal variances, which at
    equal sizes is nearly the same number.
    """
    found = stats.ttest_ind(log.candidate.ravel(), log.base.ravel(), equal_var=False)
    return bool(found.pvalue < ALPHA and found.statistic > 0)


def mann_whitney_pooled(log: Log) -> bool:
    """The Mann-Whitney U test on all windows of all restarts; α 5 %, two-sided.

    benchstat's default (golang.org/x/perf, `benchmath.AssumeNothing`): the change of the medians
    is shown where p < α, and `~` where it is not.
    """
    ours, base = log.candidate.ravel(), log.base.ravel()
    found = stats.mannwhitneyu(ours, base, method="asymptotic")
    return bool(found.pvalue < ALPHA and np.median(ours) > np.median(base))


def ratio_and_sd(log: Log) -> bool:
    """The ratio of the means, less its propagated standard deviation, is above 1.

    hyperfine prints "1.05 ± 0.02 times faster than" (its relative speed: the covariance is taken
    to be 0) and leaves the word to the reader. A run of its is a process: here, a restart's mean.
    """
    ours, base = log.candidate.mean(axis=1), log.base.mean(axis=1)
    ratio = ours.mean() / base.mean()
    spread = np.hypot(ours.std(ddof=1) / ours.mean(), base.std(ddof=1) / base.mean())
    return bool(ratio - ratio * spread > 1.0)


def over_five_percent(log: Log) -> bool:
    """The mean took over 5 % longer: the threshold of many a dashboard, with no test at all."""
    return bool(log.candidate.mean() / log.base.mean() > 1.05)


RULES: dict[str, Callable[[Log], bool]] = {
    "Welch, pooled": welch_pooled,
    "Mann-Whitney, pooled": mann_whitney_pooled,
    "ratio - sd > 1": ratio_and_sd,
    "over 5 %": over_five_percent,
}
