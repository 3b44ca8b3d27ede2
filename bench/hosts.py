"""How often do intervals over blocks of several hosts hold the true mean effect, and how wide are
they? Made-up blocks whose between-host spread of the effect is known, and five ways to an interval.

`between` is the standard deviation of the effect from host to host, `blocks` those of each host.
Coverage is of 95 % intervals; `half width` is the median, in percent. `slower` is the share of
truly slower runs whose whole interval lies above 0 (the effect is `--slower` percent).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from paired import table
from scipy.special import ndtri, stdtrit

from dyno.judge.stats.interval import compute_t_interval, extract_independent_data
from dyno.judge.stats.log_ratio import Floats

RUNS, QUICK_RUNS = 20_000, 1_000
LEVEL = 0.05
#: Of a block's log within one host, in percent.
WITHIN_PERCENT = 2.0
BETWEEN_PERCENT = (0.0, 0.5, 1.0, 2.0, 4.0)
#: Blocks of each host.
LAYOUTS = (
    (12, 12),
    (8, 8, 8),
    (6, 6, 6, 6),
    (4,) * 6,
    (3,) * 8,
    (2,) * 12,
    (10, 10, 2, 2),
    (12, 4, 4, 4),
)


@dataclass(frozen=True)
class HostLogs:
    """Block logs (runs, blocks), and the host of each block."""

    logs: Floats
    hosts: tuple[int, ...]

    @property
    def sizes(self) -> Floats:
        """Blocks of each host."""
        return np.bincount(self.hosts).astype(float)

    @property
    def means(self) -> Floats:
        """The mean of each host: (runs, hosts)."""
        return np.asarray(extract_independent_data(self.logs, self.hosts))

    @property
    def within(self) -> Floats:
        """The pooled variance of a block within its host."""
        left = self.logs - self.means[:, self.hosts]
        return np.asarray((left**2).sum(axis=1) / (len(self.hosts) - self.sizes.size))


#: Estimate, standard error, and the quantile: each of the shape (runs).
Estimated = tuple[Floats, Floats, Floats]


def ignore_hosts(data: HostLogs) -> Estimated:
    """Every block a datum, whatever its host."""
    n = data.logs.shape[1]
    error = data.logs.std(axis=1, ddof=1) / np.sqrt(n)
    return data.logs.mean(axis=1), error, _t(n - 1, error)


def _t(df: Floats | float, like: Floats) -> Floats:
    return np.asarray(-stdtrit(df, LEVEL / 2) * np.ones_like(like))


def _weigh(data: HostLogs) -> tuple[Floats, Floats, Floats]:
    """Estimate, weights and between-host variance of DerSimonian and Laird (1986)."""
    errors = data.within[:, None] / data.sizes
    plain = 1 / errors
    middle = (plain * data.means).sum(1) / plain.sum(1)
    spread = (plain * (data.means - middle[:, None]) ** 2).sum(1)
    scale = plain.sum(1) - (plain**2).sum(1) / plain.sum(1)
    between = np.maximum(0.0, (spread - (data.sizes.size - 1)) / scale)
    weights = 1 / (errors + between[:, None])
    return (weights * data.means).sum(1) / weights.sum(1), weights, between


def derive_laird(data: HostLogs) -> Estimated:
    """Random effects with a normal quantile."""
    estimate, weights, _ = _weigh(data)
    error = np.sqrt(1 / weights.sum(1))
    return estimate, error, np.full_like(error, -ndtri(LEVEL / 2))


def knapp_hartung(data: HostLogs) -> Estimated:
    """The same weights, with Hartung's and Knapp's error and t of hosts − 1 degrees of freedom."""
    estimate, weights, _ = _weigh(data)
    df = data.sizes.size - 1
    square = (weights * (data.means - estimate[:, None]) ** 2).sum(1) / df
    error = np.sqrt(square / weights.sum(1))
    return estimate, error, _t(df, error)


def satterthwaite(data: HostLogs) -> Estimated:
    """REML of balanced blocks: where the hosts do not differ by more than blocks do, all blocks are
    pooled, as a component of 0 says; else the hosts' means. Degrees of freedom follow.
    """
    hosts, blocks = data.sizes.size, len(data.hosts)
    estimate = data.logs.mean(1)
    square = (data.sizes * (data.means - estimate[:, None]) ** 2).sum(1) / (hosts - 1)
    pooled = data.logs.var(axis=1, ddof=1)
    differ = square > data.within
    error = np.sqrt(np.where(differ, square, pooled) / blocks)
    return estimate, error, _t(np.where(differ, hosts - 1.0, blocks - 1.0), error)


def average_hosts(data: HostLogs) -> Estimated:
    """Dyno's: a host's mean is a datum, and Student's t of them."""
    found = compute_t_interval(data.means, LEVEL)
    error = found.sd / np.sqrt(data.sizes.size)
    return found.estimate, error, _t(data.sizes.size - 1, error)


RULES: dict[str, Callable[[HostLogs], Estimated]] = {
    "blocks alone, t": ignore_hosts,
    "DerSimonian-Laird, normal": derive_laird,
    "DerSimonian-Laird, Hartung-Knapp": knapp_hartung,
    "REML, Satterthwaite": satterthwaite,
    "means of hosts, t (Dyno)": average_hosts,
}


def simulate(sizes: Sequence[int], between: float, runs: int, effect: float, seed: int) -> HostLogs:
    """Runs of a true mean effect; all in logs."""
    rng = np.random.default_rng(seed)
    hosts = tuple(np.repeat(np.arange(len(sizes)), sizes).tolist())
    own = rng.normal(effect, between, (runs, len(sizes)))
    return HostLogs(own[:, hosts] + rng.normal(0, WITHIN_PERCENT / 100, (runs, len(hosts))), hosts)


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--slower", type=float, default=2.0, metavar="PERCENT")
    asked = parser.parse_args()
    runs = QUICK_RUNS if asked.quick else RUNS
    rows = []
    for sizes in LAYOUTS:
        for between in BETWEEN_PERCENT:
            data = simulate(sizes, between / 100, runs, asked.slower / 100, seed=11)
            for name, rule in RULES.items():
                estimate, error, quantile = rule(data)
                half = error * quantile
                covers = (np.abs(estimate - asked.slower / 100) <= half).mean()
                found = (estimate - half > 0).mean()
                blocks = "+".join(map(str, sizes)) if len(set(sizes)) > 1 else ""
                layout = blocks or f"{len(sizes)} × {sizes[0]}"
                figures = (100 * covers, 100 * np.median(half), 100 * found)
                rows.append([layout, f"{between:g} %", name, *(f"{it:.1f}" for it in figures)])
    heads = ["blocks", "between", "interval", "coverage", "half width", "slower"]
    table([heads, *rows])
    print(
        json.dumps({"bench": "hosts", "rows": [dict(zip(heads, row, strict=True)) for row in rows]})
    )


if __name__ == "__main__":
    main()
