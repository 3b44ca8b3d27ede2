"""Events at the ends of turns: do they move a ratio?

Those that outlast a turn gain time while their engine is suspended. Those in step with the turns
fill more or less of the time that counts than they took.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dyno.judge.stats.histogram import decode_histogram
from dyno.judge.stats.turn_ends import Turn
from dyno.record import Phase, PhaseRecord, Run, Tally, Trial


@dataclass(frozen=True)
class TurnEnds:
    """Of the events of a stream in a restart: the share of their time that passed while others had
    their turn, what it would be if all of them waited, and the share of users' time that they fill.
    """

    gained: float
    gained_most: float
    filled: float


def count_turn_ends(run: Run, trial: Trial, phase: str) -> dict[str, TurnEnds]:
    """For each stream of a phase that plays as fast as it can; none without turns, or where its
    histogram cannot be read.
    """
    record = next((each for each in trial.phases if each.phase == phase), None)
    if (turns := run.design.interleaving) is None or record is None:
        return {}
    time_slice = turns.find_slice(trial.workload)
    others_s = (time_slice.length_s + time_slice.drain_s) * (len(run.candidates) - 1)
    turn = Turn(1e9 * time_slice.length_s, 1e9 * time_slice.drain_s, 1e9 * others_s)
    found = {tally.name: _count_stream(record, tally, turn) for tally in record.streams}
    return {name: each for name, each in found.items() if each is not None}


def _count_stream(record: PhaseRecord, tally: Tally, turn: Turn) -> TurnEnds | None:
    users_ns = tally.connections * (record.counted_ns or 0)
    took_ns = tally.latency.count * tally.latency.mean_ns
    if tally.rests_on_purpose or not users_ns or not took_ns:
        return None
    filled = took_ns / users_ns
    if tally.latency.max_ns <= turn.drain_ns:
        return TurnEnds(0.0, 0.0, filled)
    try:
        histogram = decode_histogram(tally.latency.hdr)
    except ValueError:
        return None
    values_ns, counts = histogram.list_values()
    outlasting = turn.compute_outlasting_share(values_ns, counts) * counts.sum()
    waiting = 1.0 - min(1.0, tally.overrun / outlasting) if outlasting else 0.0
    gained = turn.compute_gained_share(values_ns, counts)
    return TurnEnds(waiting * gained, gained, filled)


@dataclass(frozen=True)
class MovedByTurnEnds:
    """Block by block, by how much the log of a stream's rate may be off more than the base's, by
    either account; and the larger share of time that a side gains, at most, over the blocks.
    """

    gained: tuple[float, ...]
    filled: tuple[float, ...]
    most: float


def estimate_moved(
    run: Run, blocks: Sequence[Mapping[str, Trial]], phase: Phase, names: tuple[str, str]
) -> dict[str, MovedByTurnEnds]:
    """For each stream that both sides (the base first) have in every block. Users whose phase ends
    by count have nothing to do at its end, so that what their events fill says nothing.
    """
    both = [
        tuple(count_turn_ends(run, block[name], phase.name) for name in names)
        for block in blocks
        if block.keys() >= set(names)
    ]
    if not both:
        return {}
    streams = set.intersection(*(set(side) for pair in both for side in pair))
    found = {}
    for stream in sorted(streams):
        pairs = [(base[stream], side[stream]) for base, side in both]
        found[stream] = MovedByTurnEnds(
            gained=tuple(side.gained - base.gained for base, side in pairs),
            filled=tuple(
                math.log(side.filled / base.filled)
                for base, side in pairs
                if phase.stop.kind == "time"
            ),
            most=max(float(np.mean([pair[at].gained_most for pair in pairs])) for at in (0, 1)),
        )
    return found
