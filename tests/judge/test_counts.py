"""Counts judged: exact ones by their difference alone, others by an interval."""

from __future__ import annotations

import pytest

from dyno.judge.counts import compare_counts, judge_overall
from dyno.record.count import CandidateCount, Count, CountComparison, CountedFunction


def make_count(base: tuple[float, ...], other: tuple[float, ...], margin: float = 0.5) -> Count:
    counts = tuple(
        CandidateCount(
            name,
            repeats,
            (0.0,) * len(repeats),
            (
                CountedFunction("parse", "lib.so", "parser", 100.0),
                CountedFunction("find", "lib.so", "b-tree", repeats[0] - 100.0),
            ),
        )
        for name, repeats in (("a", base), ("b", other))
    )
    return Count(
        *("a vs b", "", "dyno count", 1, "w", "run", "event", {}, 1000, 11_000, margin),
        candidates=(),
        counts=counts,
        valgrind="valgrind-3.19.0",
    )


def compare(base: tuple[float, ...], other: tuple[float, ...]) -> CountComparison:
    (row,) = compare_counts(make_count(base, other))
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
    ],
)
def test_the_word_follows_from_change_interval_and_margin(
    base: tuple[float, ...], other: tuple[float, ...], word: str
) -> None:
    assert compare(base, other).word == word


def test_counts_that_agree_exactly_have_an_interval_of_no_width() -> None:
    row = compare((1000.0, 1000.0), (1001.0, 1001.0))
    assert row.low_percent == row.change_percent == row.high_percent == pytest.approx(0.1)


def test_one_repetition_that_differs_from_another_widens_the_interval() -> None:
    row = compare((1000.0, 1001.0), (1010.0, 1010.0))
    assert row.low_percent < row.change_percent - 0.1


def test_the_function_that_changed_most_stands_first_and_layers_add_up() -> None:
    row = compare((1000.0, 1000.0), (1030.0, 1030.0))
    assert [(each.name, each.change) for each in row.changes] == [("find", 30.0)]
    assert [(each.layer, each.change) for each in row.layers] == [("b-tree", 30.0), ("parser", 0.0)]
    assert sum(each.after for each in row.layers) == 1030.0


def test_the_worst_word_of_all_decides() -> None:
    rows = [compare((1000.0, 1000.0), (n, n)) for n in (990.0, 1010.0, 1001.0)]
    assert judge_overall(rows) == "heavier"
    assert judge_overall(rows[::2]) == "not heavier"
