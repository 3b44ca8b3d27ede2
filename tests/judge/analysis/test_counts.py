"""Counts judged: exact ones by their difference alone, others by an interval."""

from __future__ import annotations

import numpy as np
import pytest
from counts import make_candidate_count, make_count
from msgspec import structs

from dyno.judge.analysis.counts import compare_counts, judge_change, judge_counts
from dyno.judge.analysis.effect_words import describe_verdict
from dyno.record.count import CountComparison, CountedFunction


def compare(base: tuple[float, ...], other: tuple[float, ...], inputs: int = 1) -> CountComparison:
    (row,) = compare_counts(make_count({"a": base, "b": other}, inputs=inputs))
    return row


@pytest.mark.parametrize(
    ("base", "other", "word"),
    [
        ((1000.0, 1000.0), (1010.0, 1010.0), "heavier"),
        ((1000.0, 1000.0), (1001.0, 1001.0), "not heavier"),
        ((1000.0, 1000.0), (990.0, 990.0), "lighter"),
        ((1000.0, 1000.0), (999.0, 999.0), "not heavier"),
        ((1000.0, 1004.0), (1004.0, 1010.0), "inconclusive"),
        ((1000.0, 1000.2), (1010.0, 1010.2), "heavier"),
        ((1000.0,), (1010.0,), "inconclusive"),
        ((1000.0,), (1010.0, 1010.0), "inconclusive"),
    ],
)
def test_the_word_follows_from_change_interval_and_margin(
    base: tuple[float, ...], other: tuple[float, ...], word: str
) -> None:
    assert describe_verdict(compare(base, other)) == word


def test_counts_that_agree_exactly_have_an_interval_of_no_width() -> None:
    row = compare((1000.0, 1000.0), (1001.0, 1001.0))
    assert row.low_percent == row.change_percent == row.high_percent == pytest.approx(0.1)


def test_one_repetition_that_differs_from_another_widens_the_interval() -> None:
    row = compare((1000.0, 1001.0), (1010.0, 1010.0))
    assert row.low_percent < row.change_percent - 0.1


@pytest.mark.parametrize("repeats", [(2, 2), (3, 3), (2, 5), (5, 5)])
@pytest.mark.parametrize("spread", [0.0, 0.1, 0.5, 1.0])
def test_whichever_side_varies_the_interval_holds_a_change_of_none_in_95_of_100(
    repeats: tuple[int, int], spread: float
) -> None:
    rng = np.random.default_rng(5)
    sides = [
        rng.normal(1000.0, sd, (1500, n)) for sd, n in zip((1.0, spread), repeats, strict=True)
    ]
    held = 0
    for one, two in zip(*(side.tolist() for side in sides), strict=True):
        base, other = (make_candidate_count("a", tuple(it)) for it in (one, two))
        found = judge_change(base, other, 0.5)
        held += found.low <= 0.0 <= found.high
    assert held / 1500 >= 0.95 - 0.014, "two and a half standard errors of 1,500 counts"


def test_of_several_inputs_the_interval_is_over_inputs_and_each_is_held_against_itself() -> None:
    inputs = (1000.0, 1100.0, 1250.0)
    same = compare(inputs, tuple(each + 10.0 for each in inputs), inputs=3)
    assert same.low_percent == same.high_percent == pytest.approx(100 * 10 / (3350 / 3))
    (row,) = [compare(inputs, (1010.0, 1108.0, 1263.0), inputs=3)]
    half = 4.302653 * 2.516611 / 3**0.5  # t of 2 degrees × the standard deviation of 10, 8, 13
    assert row.high_percent - row.change_percent == pytest.approx(100 * half / (3350 / 3), rel=1e-4)


def test_restarts_of_one_input_vary_less_than_inputs_do() -> None:
    count = make_count({"a": (1000.0, 1001.0, 1500.0, 1501.0)}, inputs=2)
    assert count.counts[0].spread_percent == pytest.approx(100 / 1250.5)


def test_the_function_that_changed_most_stands_first_and_layers_add_up() -> None:
    row = compare((1000.0, 1000.0), (1030.0, 1030.0))
    assert [(each.name, each.change) for each in row.changes] == [("find", 30.0)]
    assert [(each.layer, each.change) for each in row.layers] == [("b-tree", 30.0), ("parser", 0.0)]
    assert sum(each.after for each in row.layers) == 1030.0


def test_a_layers_change_has_its_own_interval_where_repetitions_are_on_record() -> None:
    count = make_count({"a": (1000.0, 1000.0), "b": (1030.0, 1034.0)})
    sides = tuple(
        structs.replace(side, layer_repeats={"parser": (100.0, 100.0), "b-tree": own})
        for side, own in zip(count.counts, ((900.0, 900.0), (930.0, 934.0)), strict=True)
    )
    (row,) = compare_counts(structs.replace(count, counts=sides))
    tree, parser = row.layers
    assert (tree.layer, parser.layer) == ("b-tree", "parser")
    half = 12.706205 * 2.0  # t of 1 degree, for one side alone varies: by √(8 / 2)
    assert (tree.low, tree.high) == pytest.approx((32.0 - half, 32.0 + half), rel=1e-4)
    assert parser.low == parser.high == 0.0
    (plain,) = compare_counts(count)
    assert plain.layers[0].low is None


def test_a_function_whose_parts_are_of_two_layers_changes_as_a_whole() -> None:
    count = make_count({"a": (1000.0, 1000.0), "b": (1450.0, 1450.0)})
    base, other = count.counts
    parts = (("find", "b-tree", 20.0), ("find", "other", 1330.0), ("parse", "parser", 100.0))
    split = tuple(CountedFunction(name, "lib.so", layer, n) for name, layer, n in parts)
    sides = (base, structs.replace(other, functions=split))
    (row,) = compare_counts(structs.replace(count, counts=sides))
    assert [(it.name, it.before, it.after) for it in row.changes] == [("find", 900.0, 1350.0)]


def test_the_worst_word_of_all_decides() -> None:
    sides: dict[str, tuple[float, ...]] = {str(n): (n, n) for n in (1000.0, 990.0, 1010.0, 1001.0)}
    assert judge_counts(make_count(sides)).overall == "slower"
    del sides["1010.0"]
    assert judge_counts(make_count(sides)).overall == "not slower"
