"""Ten records each of counts, capacities and runs of disks, drawn by a seed: what verdicts of an
older Dyno and of this one are held against each other on (`tests/golden/verdicts_of_kinds.json`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from counts import make_count
from disk_runs import LOG, READ, make_run, make_side
from made_rates import make_blocks, make_plan

from dyno.judge.stats.log_ratio import Floats
from dyno.record.capacity import CapacityBlock, CapacityPlan
from dyno.record.count import Count
from dyno.record.disk import DiskRun

SEEDS = range(10)
#: How far the candidates of a record lie off the base, in log; some are apart, some are not.
EFFECTS = (-0.2, -0.02, 0.0, 0.02, 0.2)


def draw_counts() -> Iterator[Count]:
    """Of one or two candidates, exact or not, one or several inputs."""
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        inputs = 3 if seed % 3 == 2 else 1
        noise = 0.0 if seed % 2 else 0.002
        sides = {
            name: tuple(
                float(1000.0 * np.exp(effect + noise * rng.normal()))
                for _ in range(1 if seed == 9 else max(2, inputs))
            )
            for name, effect in (("a", 0.0), ("b", EFFECTS[seed % 5]), ("c", rng.normal(0, 0.01)))
        }
        yield make_count(sides, inputs=inputs)


def draw_capacities() -> Iterator[tuple[CapacityPlan, list[CapacityBlock]]]:
    """Of one to three candidates, some of which hold the limit at no rate."""
    for seed in SEEDS:
        rng = np.random.default_rng(100 + seed)
        names = ("A", "B", "C")[: 1 + seed % 3]
        rates = {
            name: [float(1000.0 * np.exp(at * EFFECTS[seed % 5] + rng.normal(0, 0.02)))
                   for _ in range(2 + seed % 6)]
            for at, name in enumerate(names)
        }  # fmt: skip
        if seed == 7:
            rates[names[-1]] = [0.0] * len(rates[names[-1]])
        yield make_plan(names, blocks=2 + seed % 6), make_blocks(rates)


def draw_disks() -> Iterator[DiskRun]:
    """Of one to three paths, two jobs."""
    for seed in SEEDS:
        rng = np.random.default_rng(200 + seed)
        effect = EFFECTS[seed % 5]
        sides = [make_side(f"/{name}") for name in "abc"[: 1 + seed % 3]]
        drawn = [rng.normal(0, 0.02, 6) - at * effect for at in range(len(sides))]
        names = [side.name for side in sides]

        def find_rate(
            name: str, block: int, logs: list[Floats] = drawn, known: list[str] = names
        ) -> float:
            return float(10_000.0 * np.exp(logs[known.index(name)][block]))

        yield make_run(sides, (READ, LOG), 2 + seed % 5, find_rate)
