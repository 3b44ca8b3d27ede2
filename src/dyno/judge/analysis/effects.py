"""What is compared with what: candidates with the base or, where factors are crossed, effects.

The main effects are primary: to compare every cell with the base would be many comparisons, and of
no use to somebody who asks what a factor does. Interactions are exploratory (docs/METHOD.md). Here
too: what a run is judged by, its primaries and the slowdown that matters in each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from msgspec.structs import replace

from dyno.judge.analysis.measures import CPU_PER_OP
from dyno.judge.stats.contrasts import Contrast, build_factorial, build_one_at_a_time
from dyno.judge.stats.log_ratio import Floats
from dyno.record import Comparison, Factor, Metric, Run, WorkloadPlan

#: What an interaction is compared with.
APART = "no interaction"


@dataclass(frozen=True)
class Effect:
    """A comparison that is still to be made: two names, and what the logs of which cell weigh.

    `weights` sum to the log ratio, `corner` to the log of the candidate's own value; both by
    cell. `levels` are those of `record.Comparison`.
    """

    base: str
    candidate: str
    weights: dict[str, float]
    corner: dict[str, float]
    levels: dict[str, str] = field(default_factory=dict)

    @property
    def interaction(self) -> bool:
        """It tells how several factors act on each other."""
        return len(self.levels) > 1

    @property
    def cells(self) -> tuple[str, ...]:
        """Every cell that it rests on."""
        return tuple(self.weights)

    @property
    def norm(self) -> float:
        """Its sd in a block, in sds of a restart: √2 of two cells; of more in balance, less."""
        return math.hypot(*self.weights.values())

    def compute_values(self, found: Mapping[str, Floats]) -> tuple[Floats, Floats]:
        """The numbers of base and candidate in each block, from those of the cells.

        Over several cells they are geometric means. An interaction's base is what the cells at
        its levels would have, if the effects of fewer factors were all.
        """
        if sorted(self.weights.values()) == [-1.0, 1.0]:
            first, second = sorted(self.weights, key=lambda cell: self.weights[cell])
            return found[first], found[second]
        own = sum(weight * np.log(found[cell]) for cell, weight in self.corner.items())
        ratio = sum(weight * np.log(found[cell]) for cell, weight in self.weights.items())
        return np.exp(own - ratio), np.exp(own)


def list_effects(run: Run) -> list[Effect]:
    """Every comparison of the run, the main effects before the interactions."""
    if not run.factors:
        base = run.design.base
        others = [side.name for side in run.candidates if side.name != base]
        return [Effect(base, name, {base: -1.0, name: 1.0}, {name: 1.0}) for name in others]
    sizes = [len(factor.levels) for factor in run.factors]
    found = (
        build_factorial(sizes) if run.design.crossing == "factorial" else build_one_at_a_time(sizes)
    )
    names = {tuple(side.levels[f.name] for f in run.factors): side.name for side in run.candidates}
    cells = [names[levels] for levels in _list_cells(run)]
    return [_build_effect(run.factors, cells, contrast) for contrast in found]


def _list_cells(run: Run) -> list[tuple[str, ...]]:
    """The levels of every cell, in the order of the contrasts."""
    every = list(product(*(factor.levels for factor in run.factors)))
    if run.design.crossing == "factorial":
        return every
    base = every[0]
    moves = [(at, level) for at, f in enumerate(run.factors) for level in f.levels[1:]]
    return [base, *((*base[:at], level, *base[at + 1 :]) for at, level in moves)]


def _build_effect(factors: Sequence[Factor], cells: Sequence[str], contrast: Contrast) -> Effect:
    moved = [(factors[f], at) for f, at in zip(contrast.factors, contrast.levels, strict=True)]
    levels = {factor.name: factor.levels[at] for factor, at in moved}
    first = {factor.name: factor.levels[0] for factor, _ in moved}
    return Effect(
        base=_format_label(first) if len(moved) == 1 else APART,
        candidate=_format_label(levels),
        weights=_weigh_cells(cells, contrast.weights),
        corner=_weigh_cells(cells, contrast.corner),
        levels=levels,
    )


def _format_label(levels: Mapping[str, str]) -> str:
    """`aslr=off × preload=on`; of the factor `candidate` the level alone."""
    words = (level if name == "candidate" else f"{name}={level}" for name, level in levels.items())
    return " × ".join(words)


def _weigh_cells(cells: Sequence[str], weights: Floats) -> dict[str, float]:
    return {cell: float(w) for cell, w in zip(cells, weights, strict=True) if w}


def note_interactions(rows: Sequence[Comparison], alpha: float) -> list[Comparison]:
    """The rows, with a note on every main effect whose size depends on another factor's level."""
    found = [row for row in rows if len(row.levels) > 1 and row.p_value <= alpha]
    return [_add_note(row, found) for row in rows]


def _add_note(row: Comparison, interactions: Sequence[Comparison]) -> Comparison:
    meant = [
        f"its size depends on the other factor: interaction {other.candidate}"
        for other in interactions
        if len(row.levels) == 1 and row.metric == other.metric
        if row.levels.items() <= other.levels.items()
    ]
    return replace(row, notes=(*row.notes, *meant)) if meant else row


@dataclass(frozen=True)
class DeclaredPrimary:
    """A primary as declared: a phase, a stream's metric, the slowdown that matters in it."""

    workload: str
    phase: str
    stream: str
    metric: str
    margin_percent: float

    def matches(self, metric: Metric) -> bool:
        """Is `metric` the one that this primary declares?"""
        ours = (self.workload, self.phase, self.stream, self.metric)
        return ours == (metric.workload, metric.phase, metric.transaction, metric.name)


def list_declared_primaries(run: Run, workload: WorkloadPlan) -> list[DeclaredPrimary]:
    """The primaries of a workload, each with its own margin or the run's.

    The throughput of a paced stream was set and not measured, so it is none. By CPU time it is that
    of an operation in each of their phases, with the run's margin.
    """
    if run.design.by == "cpu":
        return [
            DeclaredPrimary(workload.name, phase.name, "", CPU_PER_OP, run.design.margin_percent)
            for phase in workload.phases
            if phase.primary
        ]
    return [
        DeclaredPrimary(
            workload.name,
            phase.name,
            each.stream,
            each.metric,
            run.design.margin_percent if each.margin_percent is None else each.margin_percent,
        )
        for phase in workload.phases
        for each in phase.primary
        if each.metric != "rate_per_s" or each.stream not in phase.paced
    ]


def find_margin_percent(
    run: Run, workload: WorkloadPlan, phase: str | None = None, stream: str | None = None
) -> float:
    """The slowdown that matters in a workload, in one of its phases, or in a stream of that.

    The smallest margin of the primaries there; the run's where there is none, as in whatever is
    compared without being a primary. The run's counts too where the mean of all primaries decides.
    """
    own = [
        each.margin_percent
        for each in list_declared_primaries(run, workload)
        if phase in (None, each.phase) and stream in (None, each.stream)
    ]
    decides = [run.design.margin_percent] if run.design.gate == "mean" or not own else []
    return min(own + decides)
