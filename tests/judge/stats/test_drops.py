"""METHOD.md, Which blocks count: drops that depend on the outcome, and drops that do not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from dyno.judge.stats.drops import AGAINST_LEVEL, compute_slower_p
from dyno.judge.stats.interim_analyses import InterimAnalyses
from dyno.judge.stats.interval import compute_t_interval
from dyno.judge.stats.log_ratio import Floats, to_log
from dyno.judge.stats.verdict import OPEN, SLOWER, Bools, choose_verdicts

ANALYSES = InterimAnalyses((6, 10, 14, 18, 24), 0.05)
MARGIN = to_log(2.0)
RUNS = 500
MOST = 36


def word(logs: Floats, *, last: bool) -> str:
    """The word that the rule has for these blocks; `not slower` of a faster one too."""
    blocks = min(logs.size, ANALYSES.maximum)
    interval = compute_t_interval(logs, ANALYSES.compute_level(blocks))
    significant = ANALYSES.adjust_p(interval.p, blocks) <= ANALYSES.alpha
    said = choose_verdicts(interval, MARGIN, blocks=logs.size, last=last, significant=significant)
    return str(said).replace("faster", "not slower")


def named(logs: Floats, lost: Bools) -> tuple[str, bool]:
    """The word of a run that stops at an analysis, and whether its dropped blocks speak against
    it.
    """
    kept = np.flatnonzero(~lost)
    for blocks in (n for n in ANALYSES.blocks if n <= kept.size):
        last, end = blocks == ANALYSES.maximum, kept[blocks - 1] + 1
        said = word(logs[kept[:blocks]], last=last)
        if said != OPEN:
            gone = logs[:end][lost[:end]]
            other = word(logs[:end], last=last) if gone.size else said
            sign = -1.0 if said == SLOWER else 1.0
            against = other == OPEN and compute_slower_p(sign * gone, sign * logs[kept[:blocks]])
            return said, other not in (said, OPEN) or 0.0 < against <= AGAINST_LEVEL
    return OPEN, False


def shares(rng: np.random.Generator, lost: Bools, own: Floats) -> tuple[float, float]:
    """The share of runs that pass, and of those the share that is named."""
    logs = rng.normal(0.0, 0.01, (RUNS, MOST)) + own
    found = [named(*each) for each in zip(logs, lost, strict=True)]
    passed = [against for said, against in found if said == "not slower"]
    return len(passed) / RUNS, sum(passed) / max(1, len(passed))


@pytest.mark.parametrize(
    "share,percent,least", [(0.1, 22.0, 0.60), (0.2, 12.0, 0.85), (0.3, 7.0, 0.90)]
)
def test_a_candidate_whose_slow_blocks_are_dropped_passes_and_is_named(
    share: float, percent: float, least: float
) -> None:
    rng = np.random.default_rng(3)
    slow = rng.random((RUNS, MOST)) < share
    passed, told = shares(rng, slow, np.where(slow, to_log(percent), 0.0))
    assert passed > 0.9
    assert told > least


@pytest.mark.parametrize("share", [0.2, 0.4])
def test_drops_that_meet_either_side_are_rarely_named(share: float) -> None:
    rng = np.random.default_rng(4)
    lost = rng.random((RUNS, MOST)) < share
    side = rng.choice([-1.0, 1.0], (RUNS, MOST))
    hit = lost * side * np.abs(rng.normal(0.10, 0.05, (RUNS, MOST)))
    passed, told = shares(rng, lost, hit)
    assert passed > 0.9
    assert told < 0.20


def test_it_is_welchs_test() -> None:
    rng = np.random.default_rng(5)
    dropped, kept = rng.normal(0.1, 1.0, 4), rng.normal(0.0, 0.3, 12)
    expected = scipy.stats.ttest_ind(dropped, kept, equal_var=False, alternative="greater").pvalue
    assert compute_slower_p(dropped, kept) == pytest.approx(expected)


def test_a_single_dropped_block_is_held_against_how_the_kept_ones_vary() -> None:
    kept = np.array([0.0, 0.01, -0.01, 0.005, -0.005, 0.0])
    assert compute_slower_p(np.array([0.1]), kept) < 0.001
    assert compute_slower_p(np.array([-0.1]), kept) > 0.999
    assert compute_slower_p(np.array([0.0]), np.zeros(6)) == 0.5
    assert compute_slower_p(np.array([0.1]), np.zeros(6)) == 0.0
