"""The order of the candidates within each block."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from dyno.play.blocks import block_order


@pytest.mark.parametrize("names", [("a",), ("a", "b"), ("a", "b", "c"), ("a", "b", "c", "d")])
def test_the_order_is_balanced_in_every_cycle_and_the_seed_s_own(names: tuple[str, ...]) -> None:
    cycle = len(names) * (2 if len(names) == 3 else 1)
    blocks = [block_order(1, "w", block, names) for block in range(cycle)]
    assert all(sorted(block) == sorted(names) for block in blocks)
    for place in range(len(names)):
        assert len(set(Counter(block[place] for block in blocks).values())) == 1
    followers = Counter(pair for block in blocks for pair in pairwise(block))
    assert len(followers) == len(names) * (len(names) - 1)
    assert len(set(followers.values())) <= 1
    assert blocks == [block_order(1, "w", block, names) for block in range(cycle)]
    longer = {
        seed: [block_order(seed, "w", block, names) for block in range(24)] for seed in range(9)
    }
    assert len(names) == 1 or len({str(blocks) for blocks in longer.values()}) > 1
