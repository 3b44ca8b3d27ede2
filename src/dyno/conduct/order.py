"""Who plays when: a random, balanced order of the candidates in each block, from the seed."""

from __future__ import annotations

import random
from collections.abc import Sequence


def order(seed: int, workload: str, block: int, names: Sequence[str]) -> tuple[str, ...]:
    """The candidates of `block` in the order in which they play.

    Blocks come in cycles, within which every candidate stands equally often in every place and
    behind every other one (a Williams design: E. J. Williams, Aust. J. Sci. Res. A 2, 1949). Two
    candidates give AB and BA in random turn. Who is A, and the order of the rows, are drawn anew
    for every cycle.
    """
    rows = _williams(len(names))
    cycle, place = divmod(block, len(rows))
    dice = random.Random(f"{seed}/order/{workload}/{cycle}")
    labels, turns = list(names), list(range(len(rows)))
    dice.shuffle(labels)
    dice.shuffle(turns)
    return tuple(labels[i] for i in rows[turns[place]])


def _williams(count: int) -> list[list[int]]:
    """Rows of a Williams design: a Latin square, with its mirror where `count` is odd."""
    zigzag = [(i + 1) // 2 if i % 2 else (count - i // 2) % count for i in range(count)]
    square = [[(first + i) % count for first in zigzag] for i in range(count)]
    return square + [row[::-1] for row in square] if count % 2 and count > 1 else square
