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
#: Shufflings of a randomisation test, and their seed: the same log is always called the same.
SHUFFLES, SEED = 1000, 11
#: Repetitions of DuckDB's runner, and what it allows beside a tenth.
REPEATS, ALLOWED_S = 5, 0.05


@dataclass(frozen=True)
class Log:
    """The restarts of one comparison as times per operation, of the shape (restarts, slices).

    `seconds` is how long a restart was measured.
    """

    base: Floats
    candidate: Floats
    seconds: float


def welch_pooled(log: Log) -> bool:
    """Welch's t test on all slices of all restarts, as if independent; α 5 %, two-sided.

    pyperf's `compare_to` pools the values of its processes so (`Benchmark.get_values` flattens
    them) and calls `_utils.is_significant`: Student's t there, with equal variances, which at
    equal sizes is nearly the same number.
    """
    found = stats.ttest_ind(log.candidate.ravel(), log.base.ravel(), equal_var=False)
    return bool(found.pvalue < ALPHA and found.statistic > 0)


def mann_whitney_pooled(log: Log) -> bool:
    """The Mann-Whitney U test on all slices of all restarts; α 5 %, two-sided.

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


def one_run(log: Log) -> bool:
    """One run of each, no more: the rate fell by over 2.5 %.

    HammerDB 6 compares two profiles so (`config/ci.xml`: `diff_threshold` 0.025; pull request 860
    of TPC-Council/HammerDB): one run for each number of users, the mean of their rates, *FAIL*
    below −0.025. Here there is one number of users. What time it leaves is not used.
    """
    base, ours = (1.0 / times[0] for times in (log.base, log.candidate))
    return bool(ours.mean() < 0.975 * base.mean())


def old_and_a_tenth(log: Log) -> bool:
    """The new median is above (the old one + 50 ms) × 1.1, in each of five repetitions.

    DuckDB's regression runner (`scripts/regression/test_runner.py`, `benchmark.py`): a repetition
    starts each build's process once and takes the median of its runs; what was slower is repeated.
    Here a process is a restart, and all that it did, at the median of its slices, is the query.
    """
    pairs = zip(log.base[:REPEATS], log.candidate[:REPEATS], strict=True)
    operations = log.seconds / np.median(log.base)
    medians = ((operations * np.median(old), operations * np.median(new)) for old, new in pairs)
    return all(new > (old + ALLOWED_S) * 1.1 for old, new in medians)


def randomised_medians(log: Log) -> bool:
    """The medians differ by over 5 %, and by over the 95th percentile of what chance makes.

    ClickHouse's performance comparison (README and `eqmed.sql` of
    `docker/test/performance-comparison`): both servers are up, queries of 0.1 to 1 s are run on one
    and the other, their times are labelled at random over and over. Here a query is a slice, of
    all restarts.
    """
    base, ours = log.base.ravel(), log.candidate.ravel()
    old, new = np.median(base), np.median(ours)
    if new - old <= 0.05 * old:
        return False
    every = np.tile(np.concatenate([base, ours]), (SHUFFLES, 1))
    labelled = np.random.default_rng(SEED).permuted(every, axis=1)
    halves = np.median(labelled.reshape(SHUFFLES, 2, -1), axis=2)
    return bool(new - old > np.quantile(np.abs(halves[:, 0] - halves[:, 1]), 0.95))


def over_five_percent(log: Log) -> bool:
    """The mean took over 5 % longer: the threshold of many a dashboard, with no test at all."""
    return _mean_ratio(log) > 1.05


def twice_as_slow(log: Log) -> bool:
    """The mean took more than twice as long.

    github-action-benchmark's default `alert-threshold`, 200 % (its README and
    `src/write/findAlerts.ts`: current ÷ previous is above it).
    """
    return _mean_ratio(log) > 2.0


def _mean_ratio(log: Log) -> float:
    return float(log.candidate.mean() / log.base.mean())


RULES: dict[str, Callable[[Log], bool]] = {
    "Welch, pooled (pyperf)": welch_pooled,
    "Mann-Whitney, pooled (benchstat)": mann_whitney_pooled,
    "ratio - sd > 1 (hyperfine)": ratio_and_sd,
    "one run, 2.5 % (HammerDB)": one_run,
    "(old + 50 ms) x 1.1, five times (DuckDB)": old_and_a_tenth,
    "5 % and randomised medians (ClickHouse)": randomised_medians,
    "over 5 %": over_five_percent,
    "over 200 % (github-action-benchmark)": twice_as_slow,
}
