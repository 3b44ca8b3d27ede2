"""Trials whose CPU time was sampled: so many ns an operation by function, as a test says."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from fakes import make_trials
from msgspec import structs

from dyno.judge.analysis.measures import count_operations
from dyno.record import PhaseRecord, Trial
from dyno.record.profile import CpuProfile, ProfiledFunction

PERIOD_NS = 1_000
#: Layer and function to CPU time of an operation in ns.
Costs = Mapping[tuple[str, str], float]

#: An engine of five layers, 10 µs an operation.
ENGINE = {
    ("parser", "yyparse"): 2_000.0,
    ("parser", "lex"): 1_000.0,
    ("optimizer", "choose_plan"): 1_500.0,
    ("b-tree", "search"): 3_000.0,
    ("kernel: network", "tcp_sendmsg"): 2_000.0,
    ("unknown", ""): 500.0,
}


def make_sampled(
    old: Costs,
    new: Costs,
    blocks: int = 6,
    slowdown: float = 0.0,
    noise: Callable[[], float] | None = None,
) -> list[Trial]:
    """Blocks of two sides, `old` and `new`; `noise` multiplies each function's time anew."""
    sides = {"old": old, "new": new}
    slowdowns = [slowdown + 0.001 * (at % 2) for at in range(blocks)]
    trials = make_trials({"new": slowdowns})
    return [add_profile(trial, sides[trial.candidate], noise) for trial in trials]


def add_profile(trial: Trial, costs: Costs, noise: Callable[[], float] | None = None) -> Trial:
    """The trial with samples of its only phase."""
    (record,) = trial.phases
    noisy = {place: ns * (noise() if noise else 1.0) for place, ns in costs.items()}
    return structs.replace(
        trial, phases=(structs.replace(record, profile=make_profile(record, noisy)),)
    )


def make_profile(record: PhaseRecord, costs: Costs) -> CpuProfile:
    """A profile that says so much of an operation."""
    operations = count_operations(record)
    functions = tuple(
        ProfiledFunction(
            name, "/usr/lib/engine.so", 16 * at, "", round(ns * operations / PERIOD_NS), layer
        )
        for at, ((layer, name), ns) in enumerate(costs.items())
    )
    return CpuProfile(sum(it.samples for it in functions), 0, PERIOD_NS, functions)


def vary(seed: int, percent: float) -> Callable[[], float]:
    """Noise of so many percent, normal."""
    rng = random.Random(seed)
    return lambda: max(0.0, rng.gauss(1.0, percent / 100))


def change(costs: Costs, **more: float) -> dict[tuple[str, str], float]:
    """The same with so many ns more in the functions named."""
    return {(layer, name): ns + more.get(name, 0.0) for (layer, name), ns in costs.items()}


def list_layers(trials: Sequence[Trial]) -> set[str]:
    """The layers that were met."""
    profiles = [record.profile for trial in trials for record in trial.phases if record.profile]
    return {function.layer for profile in profiles for function in profile.functions}
