"""CPU time of an operation by function, block by block, from samples taken beside the phases.

A function's datum in a block is its CPU time of an operation ÷ that of the base's whole in the same
block. That is additive, zeros are allowed, and a host that was slower for a block cancels. Samples
are never data points: a block is one datum, however many it had.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from dyno.judge.analysis.blocks import group_dependent_blocks
from dyno.judge.analysis.measures import count_operations
from dyno.judge.analysis.run_view import RunView
from dyno.judge.stats.interval import Interval, compute_t_interval, extract_independent_data
from dyno.judge.stats.log_ratio import Floats
from dyno.record import PhaseRecord, Trial
from dyno.record.profile import CpuProfile, ProfiledFunction

#: Fewer blocks have no spread, hence no interval.
BLOCKS_LEAST = 2
#: The layer of functions of which nobody knows it, and that of named ones that no table lists.
UNKNOWN, OTHER = "unknown", "other"
#: The layer of an embedded engine's driver, which is none of the engine's.
DRIVER = "driver"
#: The layer of shared objects that are neither the engine's nor the system's.
EXTENSIONS = "libraries and extensions"
#: Functions without a symbol, by file.
UNNAMED = "(no symbol)"


@dataclass(frozen=True, order=True)
class CodePlace:
    """A function by the names that it has in other builds, too: its layer and its own."""

    layer: str
    name: str


class CpuTime(NamedTuple):
    """CPU time of an operation on both sides, their difference, and what bounds that; in ns."""

    base_ns: float
    candidate_ns: float
    difference_ns: float
    low_ns: float
    high_ns: float


Label = TypeVar("Label", bound=Hashable)
#: By what is told apart, the shares of both sides, each of shape (what, blocks).
Shares = tuple[list[Label], Floats, Floats]


@dataclass(frozen=True)
class SampledPhase:
    """Both sides' CPU time of an operation in a phase, as shares of the base's whole.

    `base_shares` and `shares` have the shape (places, blocks); `base_ns` is the whole of the base,
    the mean over the blocks. `groups` are the loads that blocks share. `trials` are both sides',
    block by block. Across engines their own layers are one.
    """

    workload: str
    phase: str
    places: tuple[CodePlace, ...]
    base_shares: Floats
    shares: Floats
    base_ns: float
    groups: tuple[int, ...] | None
    trials: tuple[tuple[Trial, Trial], ...]
    is_across_engines: bool

    @property
    def blocks(self) -> int:
        """How many there are."""
        return int(self.shares.shape[-1])

    def sum_by(self, labels: Sequence[Label]) -> Shares[Label]:
        """Both sides' shares by `labels`, one for each place: added up, in sorted order."""
        known = sorted(set(labels), key=str)
        at = {label: row for row, label in enumerate(known)}
        rows = [at[label] for label in labels]
        sums = np.zeros((2, len(known), self.blocks))
        np.add.at(sums[0], rows, self.base_shares)
        np.add.at(sums[1], rows, self.shares)
        return known, sums[0], sums[1]

    def compare(self, base_shares: Floats, shares: Floats, level: float) -> Interval:
        """The interval of the difference, as shares of the base's whole."""
        data = extract_independent_data(shares - base_shares, self.groups)
        return compute_t_interval(data, level)

    def list_times(self, base_shares: Floats, shares: Floats, interval: Interval) -> list[CpuTime]:
        """Each row of both sides, and the `interval` of their difference, in ns an operation."""
        base, own = (
            extract_independent_data(side, self.groups).mean(axis=-1)
            for side in (base_shares, shares)
        )
        columns = np.array([base, own, own - base, interval.low, interval.high]) * self.base_ns
        return [CpuTime(*row) for row in columns.T.tolist()]


def list_sampled_phases(view: RunView, candidate: str) -> Iterator[SampledPhase]:
    """The phases that are judged and were sampled on both sides, in enough blocks."""
    analyses = view.analyses
    sides = view.run.design.base, candidate
    for workload in view.run.workloads:
        for phase in dict.fromkeys(each.phase for each in view.list_primaries(workload.name)):
            sampled = [
                block
                for block in view.blocks[workload.name].valid
                if _is_sampled(block, sides, phase)
            ]
            blocks = sampled[: analyses.find_last_reached(len(sampled)) or len(sampled)]
            if len(blocks) >= BLOCKS_LEAST:
                yield _build_phase(view, workload.name, phase, blocks, sides)


def _is_sampled(block: Mapping[str, Trial], sides: tuple[str, str], phase: str) -> bool:
    """Were both sides sampled alike in it, and some samples met on both, for which the kernel
    charged CPU time?
    """
    found = [_find_profile(block[side], phase) for side in sides]
    base, own = found
    if base is None or own is None:
        return False
    seen = [(it.event, it.scope, it.kernel) for _, it in (base, own)]
    if min(base[1].samples, own[1].samples) == 0 or seen[0] != seen[1]:
        return False
    return all(sum(_compute_costs(block[side], phase).values()) > 0.0 for side in sides)


def _find_profile(trial: Trial, phase: str) -> tuple[PhaseRecord, CpuProfile] | None:
    """The phase's record and profile, where it was sampled and something was done."""
    for record in trial.phases:
        if record.phase == phase and record.profile and count_operations(record):
            return record, record.profile
    return None


def _build_phase(
    view: RunView,
    workload: str,
    phase: str,
    blocks: Sequence[Mapping[str, Trial]],
    sides: tuple[str, str],
) -> SampledPhase:
    engines = {side.name: side.engine for side in view.run.candidates}
    base, candidate = sides
    costs = [[_compute_costs(block[side], phase) for block in blocks] for side in sides]
    is_across_engines = engines[base] != engines[candidate]
    if is_across_engines:
        costs = [[_merge_own_layers(cost) for cost in side] for side in costs]
    places = tuple(sorted({place for side in costs for cost in side for place in cost}))
    table = np.array(
        [[[cost.get(place, 0.0) for cost in side] for place in places] for side in costs]
    )
    totals = table[0].sum(axis=0)
    return SampledPhase(
        workload,
        phase,
        places,
        table[0] / totals,
        table[1] / totals,
        float(totals.mean()),
        group_dependent_blocks([dict(block) for block in blocks], sides),
        tuple((block[base], block[candidate]) for block in blocks),
        is_across_engines,
    )


def _compute_costs(trial: Trial, phase: str) -> dict[CodePlace, float]:
    """CPU time of an operation in ns by function of the engine's."""
    costs: dict[CodePlace, float] = defaultdict(float)
    if found := _find_profile(trial, phase):
        record, profile = found
        operations = count_operations(record)
        for function in (each for each in profile.functions if each.layer != DRIVER):
            costs[name_place(function)] += function.samples * record.sample_ns / operations
    return costs


def name_place(function: ProfiledFunction) -> CodePlace:
    """The function as it is told in a table: code without a symbol goes by its file, an extension's
    function by both.
    """
    file = function.module.rpartition("/")[2] or "code made at run time"
    name = function.name or f"{UNNAMED} {file}"
    if function.layer == EXTENSIONS and function.name:
        name = f"{name} ({file})"
    return CodePlace(function.layer or UNKNOWN, name)


#: The layer of all that is an engine's own, where two engines are compared.
ENGINES_OWN = "the engine itself"
#: Layers that engines share: the kernel's, by their beginning, those of libraries, and what nobody
#: knows.
KERNEL = "kernel"
LIBRARIES = ("allocation", "C library", "loader", EXTENSIONS, "vDSO", UNKNOWN)


def _merge_own_layers(costs: Mapping[CodePlace, float]) -> dict[CodePlace, float]:
    """The same with the layers of the engines' own tables as one: they are not comparable."""
    merged: dict[CodePlace, float] = defaultdict(float)
    for place, cost in costs.items():
        is_shared = place.layer.startswith(KERNEL) or place.layer in LIBRARIES
        merged[place if is_shared else CodePlace(ENGINES_OWN, place.name)] += cost
    return merged
