"""Which share plays which blocks of which cell: a function of the experiments and of the number of
shares, so that every host works it out for itself.

Where there are at least as many cells as shares, a cell is dealt whole: it is judged on one host,
as ever. Else the blocks of every cell are cut into as many stretches as there are shares, which
differ by one block at most; the hosts then enter the judgement (docs/decisions/0031). A block is
never cut.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dyno.errors import UsageError
from dyno.record import DealtBlocks, DealtShare, Split
from dyno.record.decode import encode
from dyno.runs.experiment import Experiment, Workload
from dyno.workloads import find_workload

#: Blocks beyond those that a share is due, which stand in for dropped ones: the share of MAX that a
#: run may replay.
SPARE_SHARE = 0.5
#: More shares than any cell has blocks leave some without any.
SHARES_MAX = 10_000


@dataclass(frozen=True)
class SharePlace:
    """Which share of how many this is, by which way of dealing (None: what the cells suggest), and
    on which host (`record.DealtShare`).
    """

    index: int
    of: int
    split: Split | None = None
    host: str = ""
    boot: str = ""
    label: str = ""

    def __post_init__(self) -> None:
        """`UsageError` for a share that there is not."""
        if not 1 <= self.index <= self.of <= SHARES_MAX:
            hint = f"1/4 to 4/4 are four shares; {SHARES_MAX:,} at most"
            raise UsageError(f"there is no share {self.index} of {self.of}", hint=hint)


def name_cell(workload: Workload) -> str:
    """The name of a cell, which is that of its workload plan."""
    words = (f"{name}={value}" for name, value in workload.sweep.items())
    return " ".join((find_workload(workload.name).stem, *words))


def compute_digest(experiment: Experiment) -> str:
    """The digest of an experiment as data: all that is asked, and neither how its file is written
    nor where it lies.
    """
    asked = encode(experiment)
    for gone in ("command", "question", "published"):
        del asked[gone]
    for workload in asked["workloads"]:
        workload["name"] = Path(workload["name"]).name
    text = json.dumps(asked, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def choose_seed(experiment: Experiment) -> int:
    """The seed that the experiment names; else one that is made of its digest, which is the same on
    every host.
    """
    own = experiment.measuring.seed
    return int(compute_digest(experiment)[:8], 16) >> 1 if own is None else own


def deal_blocks(cells: Sequence[int], of: int, split: Split) -> list[list[range]]:
    """The first to last block of each cell, of so many blocks, for each of `of` shares.

    `cells` deals them whole, in turn; `blocks` cuts each into stretches, the longer ones in turn.
    """
    if split == "cells":
        return [
            [range(blocks) if at % of == share else range(0) for share in range(of)]
            for at, blocks in enumerate(cells)
        ]
    dealt, turn = [], 0
    for blocks in cells:
        least, more = divmod(blocks, of)
        lengths = [least + ((share - turn) % of < more) for share in range(of)]
        starts = [sum(lengths[:share]) for share in range(of)]
        dealt.append([range(a, a + n) for a, n in zip(starts, lengths, strict=True)])
        turn += more
    return dealt


def deal_shares(
    experiments: Sequence[Experiment], blocks: Sequence[int], place: SharePlace
) -> list[DealtShare]:
    """The share of each experiment that is played in `place`; `blocks` is the MAX of each.

    All are dealt together, in the order of their digests: it does not matter in which they were
    named.
    """
    for each in experiments:
        each.require_blocks("dyno shard")
    if counted := next((it.name for it in experiments if it.measuring.count_events), ""):
        raise UsageError(f"a share of {counted} counts nothing", hint="leave out count_events")
    digests = [compute_digest(each) for each in experiments]
    if len(set(digests)) < len(digests):
        raise UsageError("an experiment is named twice", hint="name each once")
    order = sorted(range(len(experiments)), key=lambda at: digests[at])
    cells = [
        (at, name_cell(workload), blocks[at])
        for at in order
        for workload in experiments[at].workloads
    ]
    split = place.split or ("cells" if len(cells) >= place.of else "blocks")
    dealt = deal_blocks([count for _, _, count in cells], place.of, split)
    words = [*(digests[at] for at in order), str(place.of), split]
    suite = hashlib.sha256("\n".join(words).encode()).hexdigest()
    rows: dict[int, dict[str, list[range]]] = {at: {} for at in order}
    for (at, name, _), own in zip(cells, dealt, strict=True):
        rows[at][name] = own
    return [
        _make_share(place, split, (digests[at], suite), rows[at]) for at in range(len(experiments))
    ]


def _make_share(
    place: SharePlace, split: Split, digests: tuple[str, str], cells: Mapping[str, Sequence[range]]
) -> DealtShare:
    return DealtShare(
        index=place.index,
        of=place.of,
        split=split,
        experiment_sha256=digests[0],
        suite_sha256=digests[1],
        host=place.host,
        boot=place.boot,
        label=place.label,
        blocks={
            name: number_blocks(own, place.index - 1)
            for name, own in cells.items()
            if own[place.index - 1]
        },
        dealt={name: tuple(map(len, own)) for name, own in cells.items()},
    )


def number_blocks(own: Sequence[range], share: int) -> DealtBlocks:
    """The blocks of a cell that the share at `share` (from 0) plays: its stretch, then spare ones
    with numbers that no other share has.
    """
    every = sum(map(len, own))
    spare = [math.ceil(SPARE_SHARE * len(each)) for each in own]
    first = every + sum(spare[:share])
    numbers = (*own[share], *range(first, first + spare[share]))
    return DealtBlocks(len(own[share]), tuple(numbers))
