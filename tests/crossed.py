"""Crossed runs made of numbers, for tests of the judge and of the report."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Mapping
from typing import Any

from fakes import make_candidate, make_run, make_trial
from msgspec import structs

from dyno.record import Crossing, Factor, Run, Trial

SIZES = {"aslr": ("on", "off"), "preload": ("off", "on")}


def crossed(
    levels: Mapping[str, tuple[str, ...]] = SIZES, crossing: Crossing = "factorial", **design: Any
) -> Run:
    """A run whose candidates are the cells of these factors."""
    made = [dict(zip(levels, some, strict=True)) for some in itertools.product(*levels.values())]
    if crossing == "one at a time":
        made = [cell for cell in made if sum(v != levels[n][0] for n, v in cell.items()) < 2]
    names = [" ".join(f"{n}={v}" for n, v in cell.items()) for cell in made]
    sides = tuple(
        structs.replace(make_candidate(name), levels=cell)
        for name, cell in zip(names, made, strict=True)
    )
    factors = tuple(Factor(name, "control", found) for name, found in levels.items())
    run = make_run(names, crossing=crossing, **design)
    return structs.replace(run, candidates=sides, factors=factors)


def played(
    run: Run, slowdown: Callable[[dict[str, str]], float], blocks: int = 10, sd: float = 0.003
) -> list[Trial]:
    """Trials whose log slowdown is a function of the cell's levels, with noise on top."""
    rng = random.Random(3)
    trials: list[Trial] = []
    for block in range(blocks):
        drift = rng.gauss(0, 0.05)
        for side in run.candidates:
            log = slowdown(side.levels) + drift + rng.gauss(0, sd)
            trials.append(make_trial(len(trials) + 1, side.name, block, 1e6 * math.exp(-log)))
    return trials
