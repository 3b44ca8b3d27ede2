"""A book whose CPU time was sampled: some layers changed, a function vanished, one is new."""

from __future__ import annotations

import random
from pathlib import Path

from fakes import make_run, make_trials
from judging import judge_unaudited
from msgspec import structs
from sampled_trials import add_profile, change, vary

from dyno.record import Conditions, PinningCondition, Trial
from dyno.report import Book

LAYERS = {
    "tokenizer and parser": 6_000.0,
    "code generator": 9_000.0,
    "virtual machine": 14_000.0,
    "b-tree": 12_000.0,
    "page cache and pager": 5_000.0,
    "memory and mutexes": 4_000.0,
    "C library": 6_000.0,
    "kernel: file system and block": 8_000.0,
    "kernel: memory": 2_000.0,
    "unknown": 1_500.0,
}


VERBS = ("Find", "Get", "Put", "Cursor", "Next", "Step")


def make_costs(functions: int = 60, seed: int = 3) -> dict[tuple[str, str], float]:
    """So many functions in each layer, few of them heavy."""
    rng = random.Random(seed)
    costs = {}
    for layer, total in LAYERS.items():
        shares = sorted((rng.paretovariate(0.9) for _ in range(functions)), reverse=True)
        word = layer.split()[-1].replace("-", "")
        for at, share in enumerate(shares):
            name = f"{word}{VERBS[at % len(VERBS)]}{at}"
            costs[layer, name] = total * share / sum(shares)
    return costs


def make_sampled_book(folder: Path, functions: int = 60) -> Book:
    """Six blocks: the new side's parser costs 4 µs more, its pager 1 µs less; time is slower."""
    old = make_costs(functions)
    new = change(old, parserFind0=3_000.0, parserGet1=1_000.0, pagerFind0=-1_000.0)
    gone, name = next(place for place in old if place[1] == "machinePut2")
    new[gone, "machineRewritten"] = 1.3 * new.pop((gone, name))
    noise, sides = vary(4, 1.5), {"old": old, "new": new}
    slowdowns = [0.045 + 0.002 * (at % 3) for at in range(6)]
    trials = [
        _place(add_profile(trial, sides[trial.candidate], noise))
        for trial in make_trials({"new": slowdowns}, per_s=14_000)
    ]
    run = make_run(analyses=(6,))
    return Book(folder, run, trials, judge_unaudited(run, trials))


def _place(trial: Trial) -> Trial:
    return structs.replace(trial, conditions=Conditions(pinning=PinningCondition((0,), (0,))))
