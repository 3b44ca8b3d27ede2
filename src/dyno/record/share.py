"""A share of an experiment: the blocks that one of several hosts plays, by number.

Shares need no coordinator: each knows from the experiment and their number which blocks are whose.
"""

from __future__ import annotations

from typing import Literal

from dyno.record.schema import Int64, Record

#: How an experiment is dealt: whole cells, or the blocks of every cell over all shares.
Split = Literal["cells", "blocks"]


class DealtBlocks(Record):
    """Blocks of a cell that a share plays: `due` valid ones, with `numbers` in this order. Those
    beyond the first `due` stand in for what is dropped.
    """

    due: Int64
    numbers: tuple[Int64, ...]


class DealtShare(Record):
    """The `index`th (from 1) `of` so many shares.

    `experiment_sha256` is the digest of the experiment as data, `suite_sha256` that of all that
    were dealt together. `host` tells this host from those of other shares, `boot` one start of its
    kernel from another, and `label` is how its user calls it. `blocks` are this share's by cell (a
    workload's name), `dealt` how many blocks of each cell every share is due, in their order.
    """

    index: Int64
    of: Int64
    split: Split
    experiment_sha256: str
    suite_sha256: str
    host: str
    boot: str
    label: str
    blocks: dict[str, DealtBlocks]
    dealt: dict[str, tuple[Int64, ...]]

    def find_next_block(self, workload: str, block: int) -> int | None:
        """The number of the block of `workload` that follows `block` (below 0: the first); None
        after the last one.
        """
        return next((n for n in self.blocks[workload].numbers if n > block), None)
