"""Which block comes next, as the trials on disk tell, and the order of the candidates in it."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from fakes import make_run, make_trial

from dyno.instruments.time.blocks import NextBlock, choose_next_block, draw_block_order


def test_the_next_block_is_read_off_the_trials() -> None:
    planned = make_run(("a", "b"))

    def after(*played: tuple[int, str, int, str]) -> NextBlock:
        trials = [
            make_trial(n, name, block, 1.0, attempt=attempt, status=status)
            for n, (block, name, attempt, status) in enumerate(played, 1)
        ]
        return choose_next_block(planned, "select", trials)

    assert after() == NextBlock(0, 1)
    assert after((0, "a", 1, "ok")) == NextBlock(0, 2)
    assert after((0, "a", 1, "ok"), (0, "b", 1, "ok")) == NextBlock(1, 1)
    assert after((0, "a", 1, "ok"), (0, "b", 1, "interrupted")) == NextBlock(0, 2)
    assert after((0, "a", 1, "failed")) == NextBlock(0, 2)
    assert after((0, "a", 1, "failed"), (0, "a", 2, "failed")) == NextBlock(1, 1)
    assert after((0, "a", 1, "failed"), (0, "a", 2, "ok")) == NextBlock(0, 3)
    assert after((0, "a", 1, "ok"), (0, "a", 2, "ok"), (0, "b", 2, "ok")) == NextBlock(1, 1)


@pytest.mark.parametrize("names", [("a",), ("a", "b"), ("a", "b", "c"), ("a", "b", "c", "d")])
def test_the_order_is_balanced_in_every_cycle_and_the_seed_s_own(names: tuple[str, ...]) -> None:
    cycle = len(names) * (2 if len(names) == 3 else 1)
    blocks = [draw_block_order(1, "w", block, names) for block in range(cycle)]
    assert all(sorted(block) == sorted(names) for block in blocks)
    for place in range(len(names)):
        assert len(set(Counter(block[place] for block in blocks).values())) == 1
    followers = Counter(pair for block in blocks for pair in pairwise(block))
    assert len(followers) == len(names) * (len(names) - 1)
    assert len(set(followers.values())) <= 1
    assert blocks == [draw_block_order(1, "w", block, names) for block in range(cycle)]
    longer = {
        seed: [draw_block_order(seed, "w", block, names) for block in range(24)]
        for seed in range(9)
    }
    assert len(names) == 1 or len({str(blocks) for blocks in longer.values()}) > 1
