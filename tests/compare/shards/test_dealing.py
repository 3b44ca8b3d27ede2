"""Shares are dealt without a coordinator: each host works out the same parts, and they are all."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from dyno.compare.shards.dealing import (
    SharePlace,
    choose_seed,
    compute_digest,
    deal_blocks,
    deal_shares,
    number_blocks,
)
from dyno.errors import UsageError
from dyno.record import Split
from dyno.runs.experiment import Experiment, Measuring, Workload, compare_candidates

#: Cells with so many blocks each, and a number of shares.
CASES = [
    ([rng.randint(1, 200) for _ in range(rng.randint(1, 12))], rng.randint(1, 40))
    for rng in map(random.Random, range(200))
]


def make_experiment(cells: int = 1, **measuring: Any) -> Experiment:
    """Two candidates on so many values of a sweep."""
    made = compare_candidates(["null", "null@1us"], "oltp_point_select", {}, Measuring(**measuring))
    swept = [Workload("oltp_point_select", {}, (), {"threads": str(n)}) for n in range(cells)]
    return replace(made, workloads=tuple(swept))


@pytest.mark.parametrize("split", ["cells", "blocks"])
def test_every_block_of_every_cell_is_played_by_one_share(split: Split) -> None:
    for cells, of in CASES:
        check_partition(cells, of, split)


def check_partition(cells: list[int], of: int, split: Split) -> None:
    for blocks, own in zip(cells, deal_blocks(cells, of, split), strict=True):
        assert len(own) == of
        assert sorted(n for part in own for n in part) == list(range(blocks))
        dealt = [number_blocks(own, share) for share in range(of) if own[share]]
        often = Counter(n for each in dealt for n in each.numbers)
        assert set(often.values()) == {1}, "spare blocks have numbers of their own, too"
        assert all(list(each.numbers) == sorted(each.numbers) for each in dealt)
        assert all(2 * len(each.numbers) >= 3 * each.due for each in dealt)


@pytest.mark.parametrize(("cells", "of"), CASES[:40])
def test_shares_of_blocks_are_alike_and_whole_cells_are_whole(cells: list[int], of: int) -> None:
    by_blocks = deal_blocks(cells, of, "blocks")
    assert all(max(map(len, own)) - min(map(len, own)) <= 1 for own in by_blocks)
    sums = [sum(len(own[share]) for own in by_blocks) for share in range(of)]
    assert max(sums) - min(sums) <= 1, "longer stretches go round"
    whole = deal_blocks(cells, of, "cells")
    assert all(sum(bool(part) for part in own) == 1 for own in whole)


@pytest.mark.parametrize(("cells", "of"), [(1, 1), (1, 4), (2, 9), (3, 2), (5, 4)])
@pytest.mark.parametrize("order", [[2, 0, 1], [0, 2, 1]])
def test_experiments_are_dealt_together_in_whatever_order_they_are_named(
    cells: int, of: int, order: list[int]
) -> None:
    made = [replace(make_experiment(cells, blocks=3 + n), name=f"e{n}") for n in range(3)]
    blocks = [3 + n for n in range(3)]
    for index in range(1, of + 1):
        straight = deal_shares(made, blocks, SharePlace(index, of))
        turned = deal_shares(
            [made[n] for n in order], [blocks[n] for n in order], SharePlace(index, of)
        )
        assert [straight[n] for n in order] == turned
    shares = [deal_shares(made, blocks, SharePlace(index, of)) for index in range(1, of + 1)]
    for at in range(3):
        assert len({str(own[at].dealt) for own in shares}) == 1, "all know who plays what"
        for name, dealt in shares[0][at].dealt.items():
            due = [own[at].blocks[name].due if name in own[at].blocks else 0 for own in shares]
            assert due == list(dealt)
            assert sum(due) == blocks[at]


def test_cells_are_dealt_whole_where_there_are_enough() -> None:
    many, few = make_experiment(4, blocks=6), make_experiment(3, blocks=6)
    assert deal_shares([many], [6], SharePlace(1, 4))[0].split == "cells"
    assert deal_shares([few], [6], SharePlace(1, 4))[0].split == "blocks"
    assert deal_shares([many], [6], SharePlace(1, 4, "blocks"))[0].split == "blocks"


def test_the_digest_is_of_what_is_asked_and_not_of_where_it_lies() -> None:
    made = make_experiment()
    moved = replace(made, command="dyno shard 1/2 elsewhere/x.toml", question="why?")
    assert compute_digest(moved) == compute_digest(made)
    changed = replace(made, measuring=Measuring(margin_percent=3.0))
    assert compute_digest(changed) != compute_digest(made)
    assert choose_seed(made) == choose_seed(moved) != choose_seed(changed)
    assert choose_seed(make_experiment(seed=7)) == 7


@pytest.mark.parametrize(("index", "of"), [(0, 4), (5, 4), (1, 0), (1, 10_001)])
def test_a_share_that_there_is_not_is_refused(index: int, of: int) -> None:
    with pytest.raises(UsageError, match="no share"):
        SharePlace(index, of)
