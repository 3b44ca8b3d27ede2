"""Blocks of several hosts: the interval holds the mean effect over hosts, however these differ."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from dyno.judge.stats.hosts import align_hosts, estimate_heterogeneity
from dyno.judge.stats.interval import compute_t_interval, extract_independent_data
from dyno.judge.stats.log_ratio import Floats

RUNS = 20_000
#: Blocks of each host.
LAYOUTS = [(12, 12), (8, 8, 8), (6, 6, 6, 6), (3,) * 8, (10, 10, 2, 2), (12, 4, 4, 4)]


def make_logs(sizes: tuple[int, ...], between: float, runs: int, seed: int = 5) -> Floats:
    """Block logs around a mean effect of 0, of hosts one after the other: (runs, blocks)."""
    rng = np.random.default_rng(seed)
    own = rng.normal(0.0, between, (runs, len(sizes)))
    return np.asarray(np.repeat(own, sizes, axis=1) + rng.normal(0, 0.02, (runs, sum(sizes))))


def list_hosts(sizes: tuple[int, ...]) -> list[int]:
    return [host for host, blocks in enumerate(sizes) for _ in range(blocks)]


@pytest.mark.slow
@pytest.mark.parametrize("between", [0.0, 0.005, 0.02, 0.08])
@pytest.mark.parametrize("sizes", LAYOUTS)
def test_the_interval_over_hosts_holds_the_mean_effect_whatever_their_spread(
    sizes: tuple[int, ...], between: float
) -> None:
    data = extract_independent_data(make_logs(sizes, between, RUNS), list_hosts(sizes))
    found = compute_t_interval(data, 0.05)
    covered = float(((found.low <= 0) & (found.high >= 0)).mean())
    assert 0.944 <= covered <= 0.966


@pytest.mark.slow
def test_blocks_taken_alone_would_leave_the_truth_out_in_half_of_runs() -> None:
    found = compute_t_interval(make_logs((12, 12), 0.02, RUNS), 0.05)
    assert float(((found.low <= 0) & (found.high >= 0)).mean()) < 0.6


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sizes", [(6, 6, 6, 6), (3,) * 8])
def test_of_balanced_blocks_mean_error_and_spread_are_those_of_reml(
    sizes: tuple[int, ...], seed: int
) -> None:
    from statsmodels.regression.mixed_linear_model import MixedLM  # loads pandas

    (logs,), hosts = make_logs(sizes, 0.05, 1, seed), list_hosts(sizes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = MixedLM(logs, np.ones(logs.size), groups=hosts).fit(reml=True, method="powell")
    data = extract_independent_data(logs, hosts)
    found = compute_t_interval(data, 0.05)
    assert float(found.estimate) == pytest.approx(float(fitted.fe_params[0]), abs=1e-6)
    error = float(found.sd) / np.sqrt(data.size)
    assert error == pytest.approx(float(fitted.bse_fe[0]), rel=0.01)
    spread = estimate_heterogeneity(logs, hosts)
    assert spread
    assert spread.sd == pytest.approx(float(np.sqrt(fitted.cov_re[0, 0])), rel=0.02)


def test_hosts_that_are_alike_have_no_spread_and_hosts_apart_are_nearly_all_of_it() -> None:
    blocks = np.tile([-0.01, 0.01], 8)
    hosts = list_hosts((4, 4, 4, 4))
    alike = estimate_heterogeneity(blocks, hosts)
    assert alike
    assert (alike.sd, alike.share) == (0.0, 0.0)
    apart = estimate_heterogeneity(blocks + np.repeat([0, 0.1, 0.2, 0.3], 4), hosts)
    assert apart
    assert apart.sd == pytest.approx(np.std([0, 0.1, 0.2, 0.3], ddof=1), rel=0.01)
    assert apart.share > 0.99


def test_one_host_and_single_blocks_have_no_spread_between_hosts() -> None:
    assert estimate_heterogeneity(np.array([0.1, 0.2]), ["a", "a"]) is None
    assert estimate_heterogeneity(np.array([0.1, 0.2]), ["a", "b"]) is None


def test_a_hosts_own_speed_is_no_spread_of_restarts() -> None:
    hosts = list_hosts((4, 4))
    blocks = np.tile([-0.01, 0.01], 4)
    moved = align_hosts(blocks + np.repeat([0.0, 1.0], 4), hosts)
    assert moved.mean() == pytest.approx(0.5)
    assert moved.std() == pytest.approx(0.01 * np.sqrt(7 / 6))
    assert (align_hosts(blocks, ["a"] * 8) == blocks).all()
