"""The calls that lead to what changed: callers first, what a function calls divided among them."""

from __future__ import annotations

from counts import make_candidate_count
from msgspec import structs

from dyno.judge.analysis.call_tree import build_call_tree
from dyno.record.count import CandidateCount, CountedCall

Calls = dict[tuple[str, str], float]


def make_side(calls: Calls) -> CandidateCount:
    counted = tuple(CountedCall(*pair, n) for pair, n in calls.items())
    return structs.replace(make_candidate_count("a", (1000.0,)), calls=counted)


BEFORE: Calls = {("main", "run"): 900.0, ("run", "parse"): 300.0, ("run", "find"): 500.0}


def test_the_way_to_a_change_is_told_from_its_outermost_caller() -> None:
    after = BEFORE | {("main", "run"): 960.0, ("run", "find"): 560.0, ("find", "spin"): 60.0}
    tree = build_call_tree(make_side(BEFORE), make_side(after))
    assert [(it.depth, it.name, it.change) for it in tree] == [
        (0, "main", 60.0),
        (1, "run", 60.0),
        (2, "find", 60.0),
        (3, "spin", 60.0),
    ]


def test_what_a_function_calls_is_divided_among_its_callers() -> None:
    before = {("main", "a"): 100.0, ("main", "b"): 300.0, ("a", "c"): 100.0, ("b", "c"): 300.0}
    before |= {("c", "d"): 400.0}
    after = {pair: 2 * n for pair, n in before.items()}
    tree = build_call_tree(make_side(before), make_side(after))
    assert [(it.depth, it.name, it.after) for it in tree] == [
        (0, "main", 800.0),
        (1, "b", 600.0),
        (2, "c", 600.0),
        (3, "d", 600.0),
        (1, "a", 200.0),
        (2, "c", 200.0),
        (3, "d", 200.0),
    ]


def test_a_function_that_calls_itself_by_another_ends_the_way() -> None:
    after = BEFORE | {("main", "run"): 990.0, ("run", "find"): 590.0, ("find", "run"): 90.0}
    names = [it.name for it in build_call_tree(make_side(BEFORE), make_side(after))]
    assert names.count("run") == 1


def test_without_calls_there_is_no_tree() -> None:
    assert build_call_tree(make_side({}), make_side({})) == ()
