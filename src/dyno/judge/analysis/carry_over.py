"""Compares slices after one's own with slices after another's: does the previous slice carry over?

A block's order is a row of all candidates and its reverse, so that each round holds two slices of
each. Where one of them follows the candidate's own and the other follows another's, both met the
same host, and what differs is what came before: cold caches, a disk that still writes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dyno.judge.stats.log_ratio import Floats
from dyno.record import PhaseRecord, Run, Trial, WorkloadPlan
from dyno.record.turn_order import count_epoch_turns, draw_turn_order

#: Fewer events, in the slices of a kind, say nothing in a block: their log leans, and spreads.
EVENTS_LEAST = 30
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Turns:
    """The order of a block's turns, which candidate's are meant, and the turns of an epoch."""

    order: Ints
    own: int
    epoch: int

    def follow(self, count: int) -> tuple[Floats, Ints]:
        """For each of the side's first `count` slices: 1 where it follows one of its own, 0 where
        it follows another's, NaN where users connected anew before it; and which round it is of.
        """
        places = np.flatnonzero(self.order == self.own)
        after = np.where(self.order[places - 1] == self.own, 1.0, 0.0)
        numbers = np.arange(count)
        at = numbers % places.size
        side_turns = numbers // places.size * self.order.size + places[at]
        follows = after[at]
        follows[side_turns % self.epoch == 0 if self.epoch else side_turns == 0] = math.nan
        return follows, numbers // places.size * places.size + at // 2


def carry_over(
    run: Run, plan: WorkloadPlan, phase: str, block: Mapping[str, Trial]
) -> dict[str, float]:
    """For each candidate of a block how many more events (a log) its slices hold that follow its
    own than those of the same rounds that follow another's. None of a candidate whose rate is set,
    or that has too few events or no counts by slice.

    A phase that ends by count is looked at up to where the first side ended it.
    """
    if (turns := run.design.interleaving) is None:
        return {}
    number = next(iter(block.values())).block
    order = np.array(draw_turn_order(run, plan, number, len(block)))
    epoch = count_epoch_turns(turns, plan, len(block))
    slice_s = turns.find_slice(plan.name).length_s
    counts = {name: _count_slices(trial, phase) for name, trial in block.items()}
    length = min(each.size for each in counts.values())
    found = {}
    for name, trial in block.items():
        declared = next(
            (p for p in plan.with_options(trial.options).phases if p.name == phase), None
        )
        if declared is None:
            continue
        by_time = declared.stop.kind == "time"
        before = math.ceil(round(declared.warmup_s * 1e9) / round(slice_s * 1e9))
        own = counts[name][: length if by_time else max(0, length - 1)]
        side_turns = _Turns(order, trial.order, epoch)
        if (contrast := _compute_contrast(own, before, side_turns)) is not None:
            found[name] = contrast
    return found


def _count_slices(trial: Trial, phase: str) -> Floats:
    """Events done in each slice after the warm-up, of all streams that play as fast as they can."""
    record: PhaseRecord | None = next((r for r in trial.phases if r.phase == phase), None)
    free = [t.slices for t in record.streams if not t.rests_on_purpose] if record else []
    found = np.zeros(max(map(len, free), default=0))
    for slices in free:
        found[: len(slices)] += slices
    return found


def _compute_contrast(counts: Floats, before: int, side_turns: _Turns) -> float | None:
    """Of the slices counted, `before` others of the warm-up aside."""
    follows, rounds = (each[before:] for each in side_turns.follow(before + counts.size))
    first = np.flatnonzero(rounds[:-1] == rounds[1:])
    # one of a round after its own, one after another's; NaN is neither
    first = first[np.abs(follows[first] - follows[first + 1]) == 1.0]
    both = np.stack([counts[first], counts[first + 1]])
    is_own = np.stack([follows[first], follows[first + 1]]) == 1.0
    after_own, after_others = float(both[is_own].sum()), float(both[~is_own].sum())
    if min(after_own, after_others) < EVENTS_LEAST:
        return None
    return math.log(after_own / after_others)
