"""The order of a block's turns. A record does not hold it, since the run's seed gives it again: who
plays must ask here, and who judges slices by what was played before them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

from dyno.record.run import Interleaving, Run
from dyno.record.workload import WorkloadPlan

#: Turns after which an order comes again: more than most phases have.
ORDER_TURNS = 1024
#: What connecting anew may take: so much, and so much more for each connection (PostgreSQL starts a
#: process).
CONNECT_S, CONNECTION_S = 0.01, 0.003
#: An epoch is so much longer at least than what its beginning takes.
EPOCH_TIMES_CONNECT = 10


def draw_turn_order(
    run: Run, workload: WorkloadPlan, block: int, candidates: int
) -> tuple[int, ...]:
    """Whose turn each turn of a block is, by the candidates' places in it (`Trial.order`); it comes
    again after the last one.
    """
    rng = random.Random(f"{run.seed}/turns/{workload.name}/{block}")
    return tuple(islice(_draw_rows(candidates, rng), ORDER_TURNS // candidates * candidates))


def _draw_rows(candidates: int, rng: random.Random) -> Iterator[int]:
    """Every candidate once in random order, then once more in the reverse: ABBA or BAAB. A drift of
    the host that is straight over such a round cancels.
    """
    while True:
        row = list(range(candidates))
        rng.shuffle(row)
        yield from row
        yield from reversed(row)


def connect_s(workload: WorkloadPlan) -> float:
    """What each candidate is given to connect its users anew."""
    return CONNECT_S + CONNECTION_S * workload.most_connections


def count_epoch_turns(design: Interleaving, workload: WorkloadPlan, candidates: int) -> int:
    """After how many turns of all candidates their users connect anew; 0: never."""
    if design.epoch_s <= 0:
        return 0
    own_s = max(design.epoch_s, EPOCH_TIMES_CONNECT * connect_s(workload))
    return max(2, 2 * round(own_s / design.find_slice(workload.name).length_s / 2)) * candidates
