"""Which stage of two explanations is the first that differs."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from dyno.cli.terminal.explanation import describe_first
from dyno.record.explanation import REST, Explanation, PathStage, StageName
from dyno.servers.explain.differences import compare_bare, compare_stages, find_first

STAGES: dict[StageName, float] = {"connection": 20.0, "parse": 10.0, "execute": 100.0, "reply": 5.0}


def explained(
    rng: random.Random, grown: Mapping[StageName, float], rounds: int = 30
) -> Explanation:
    """An explanation whose stages vary by a tenth; some of them are longer by a factor."""
    times: dict[StageName, tuple[float, ...]] = {
        name: tuple(us * grown.get(name, 1.0) * rng.uniform(0.9, 1.1) for _ in range(rounds))
        for name, us in STAGES.items()
    }
    sums = tuple(map(sum, zip(*times.values(), strict=True)))
    bare = tuple(each * rng.uniform(0.98, 1.02) for each in sums)
    rest = tuple(b - s for b, s in zip(bare, sums, strict=True))
    stages = (*(PathStage(name, us) for name, us in times.items()), PathStage(REST, rest))
    return Explanation("e", "1", "//s", "SELECT 1", "2026", stages=stages, bare_us=bare)


@pytest.mark.parametrize("is_paired", [True, False])
def test_the_first_stage_that_differs_is_named_and_later_ones_are_not(
    rng: random.Random, is_paired: bool
) -> None:
    before = explained(rng, {})
    rows = compare_stages(
        before, explained(rng, {"parse": 3.0, "execute": 2.0}), is_paired=is_paired
    )
    first = find_first(rows)
    assert first is not None and first.name == "parse"
    assert first.low_us is not None and first.low_us > 0 and first.difference_us is not None
    assert first.difference_us == pytest.approx(20, abs=3)
    assert {row.name for row in rows if row.matters} >= {"parse", "execute"}


@pytest.mark.parametrize("is_paired", [True, False])
def test_alike_explanations_differ_in_no_stage(rng: random.Random, is_paired: bool) -> None:
    wrong = 0
    for _ in range(100):
        rows = compare_stages(explained(rng, {}), explained(rng, {}), is_paired=is_paired)
        wrong += find_first(rows) is not None
    assert wrong <= 3


def test_where_no_stage_is_certain_none_is_told_as_equal() -> None:
    rng = random.Random(1)
    sides = explained(rng, {}), explained(rng, {})
    rows, whole = compare_stages(*sides, is_paired=True), compare_bare(*sides, is_paired=True)
    assert find_first(rows) is None
    assert describe_first(rows, whole).startswith("No stage is shown to differ by")


def test_a_difference_that_is_certain_and_small_is_not_named(rng: random.Random) -> None:
    rows = compare_stages(explained(rng, {}), explained(rng, {"reply": 1.6}), is_paired=True)
    (reply,) = [row for row in rows if row.name == "reply"]
    assert reply.low_us is not None and reply.low_us > 0 and not reply.matters


def test_a_few_rounds_have_no_interval_and_name_nothing(rng: random.Random) -> None:
    sides = explained(rng, {}, 4), explained(rng, {"execute": 9.0}, 4)
    for is_paired in (True, False):
        rows = compare_stages(*sides, is_paired=is_paired)
        assert find_first(rows) is None and all(row.low_us is None for row in rows)
        assert compare_bare(*sides, is_paired=is_paired).low_us is None


def test_a_stage_that_one_side_does_not_tell_is_not_compared(rng: random.Random) -> None:
    before, after = explained(rng, {}), explained(rng, {"parse": 5.0})
    stages = tuple(PathStage(it.name, ()) if it.name == "parse" else it for it in before.stages)
    rows = compare_stages(
        Explanation("e", "1", "//s", "SELECT 1", "2026", stages=stages, bare_us=before.bare_us),
        after,
        is_paired=True,
    )
    (parse,) = [row for row in rows if row.name == "parse"]
    assert parse.difference_us is None and not parse.matters
