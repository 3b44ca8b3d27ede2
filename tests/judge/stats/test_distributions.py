"""What is asked of `scipy.special`, against `scipy.stats`, whose distributions say the same."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy
from scipy.special import nctdtr

from dyno.judge.stats.components import compute_cov_interval, compute_cov_percent
from dyno.judge.stats.interval import compute_t_interval
from dyno.judge.stats.power import solve_noncentrality
from dyno.judge.stats.simulate import compute_clopper_pearson

LOGS = np.random.default_rng(7).normal(0.02, 0.03, (4, 9))


@pytest.mark.parametrize("level", [0.05, 0.01, 1e-6])
def test_the_interval_of_blocks_is_students(level: float) -> None:
    got = compute_t_interval(LOGS, level)
    error = scipy.stats.sem(LOGS, axis=-1)
    low, high = scipy.stats.t.interval(1.0 - level, 8, LOGS.mean(axis=-1), error)
    np.testing.assert_allclose([got.low, got.high], [low, high], rtol=1e-9)
    np.testing.assert_allclose(got.p, scipy.stats.ttest_1samp(LOGS, 0.0, axis=-1).pvalue, rtol=1e-9)


@pytest.mark.parametrize(("blocks", "alpha"), [(2, 0.05), (6, 0.05), (24, 0.01)])
def test_the_effect_that_is_planned_has_its_power_under_the_noncentral_t(
    blocks: int, alpha: float
) -> None:
    critical = scipy.stats.t.isf(alpha / 2.0, blocks - 1)
    effect = solve_noncentrality(blocks, alpha, 0.8)
    assert scipy.stats.nct.sf(critical, blocks - 1, effect) == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize(("hits", "trials"), [(0, 20), (1, 40), (7, 20), (20, 20)])
def test_the_interval_of_a_share_is_the_exact_one(hits: int, trials: int) -> None:
    exact = scipy.stats.binomtest(hits, trials).proportion_ci(0.95, method="exact")
    assert compute_clopper_pearson(hits, trials) == pytest.approx((exact.low, exact.high))


def test_the_interval_of_a_spread_is_that_of_a_variance() -> None:
    values = np.exp(LOGS[0])
    low, high = scipy.stats.chi2.isf([0.025, 0.975], 8)
    wanted = compute_cov_percent(values) * np.sqrt(8 / np.array([low, high]))
    assert compute_cov_interval(values) == pytest.approx(tuple(wanted))


@pytest.mark.parametrize("blocks", [2, 5, 24, 400])
@pytest.mark.parametrize("alpha", [0.2, 0.01, 1e-4])
def test_a_root_is_where_scipy_finds_it(blocks: int, alpha: float) -> None:
    critical = scipy.stats.t.isf(alpha / 2, blocks - 1)
    for power in (0.5, 0.8, 0.99):
        wanted = scipy.optimize.brentq(
            lambda effect, power=power: nctdtr(blocks - 1, effect, critical) - 1.0 + power,
            *(0.0, 3.0 * critical + 10.0),
        )
        assert solve_noncentrality(blocks, alpha, power) == pytest.approx(wanted, rel=1e-9)


def test_no_command_waits_for_scipy_s_statistics_or_searches() -> None:
    said = (
        "import sys, dyno.instruments.time.run, dyno.judge.analysis.judge;"
        " import dyno.judge.analysis.counts;"
        " from dyno.judge.audits import load_audits; load_audits();"
        " print({'scipy.stats', 'scipy.optimize'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "set()", done.stderr
