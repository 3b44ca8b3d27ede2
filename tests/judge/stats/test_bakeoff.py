"""The rules of the bake-off, on logs whose answer is known, and the logs that are made up."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from repository import ROOT

BENCH = ROOT / "bench"
POOLED = ("welch_pooled", "mann_whitney_pooled")


@pytest.fixture(autouse=True)
def bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


def rules() -> Any:
    return importlib.import_module("rules")


def log(percent: float, sd: float, restarts: int = 10) -> Any:
    """Restarts of five slices each, a second long, the candidate's `percent` slower."""
    rng = np.random.default_rng(3)
    base, candidate = (rng.normal(100.0, sd, (restarts, 5)) for _ in range(2))
    return rules().Log(base, candidate * (1.0 + percent / 100.0), 1.0)


def test_every_rule_sees_what_is_large_and_nothing_where_it_is_faster() -> None:
    for rule in rules().RULES.values():
        assert rule(log(150.0, 1.0))
        assert not rule(log(-20.0, 1.0))


@pytest.mark.parametrize(
    ("rule", "percent"),
    [
        ("one_run", 2.5641),
        ("old_and_a_tenth", 15.5),
        ("randomised_medians", 5.0),
        ("over_five_percent", 5.0),
        ("twice_as_slow", 100.0),
    ],
)
def test_a_threshold_lies_where_its_tool_has_it(rule: str, percent: float) -> None:
    is_slower = getattr(rules(), rule)
    assert not is_slower(log(percent - 0.1, 1e-4))
    assert is_slower(log(percent + 0.1, 1e-4))


def test_one_run_is_all_that_one_rule_looks_at_and_five_another() -> None:
    some = log(0.0, 1e-4)
    some.candidate[0] *= 1.5
    assert rules().one_run(some) and not rules().old_and_a_tenth(some)
    some.candidate[1:5] *= 1.5
    assert rules().old_and_a_tenth(some)


def test_what_chance_makes_of_medians_hides_a_difference_as_large() -> None:
    """Slices of two modes: seven cannot tell what five times as many can."""
    times = np.array([[1.0, 1.2, 1.2, 1.0, 1.2, 1.0, 1.2]])
    for restarts, told in ((1, False), (5, True)):
        many = np.tile(times, (restarts, 1))
        assert rules().randomised_medians(rules().Log(many * 0.9, many, 1.0)) is told


def test_a_ratio_knows_no_number_of_restarts() -> None:
    assert rules().ratio_and_sd(log(3.0, 0.1))
    many = log(3.0, 10.0, restarts=2000)
    assert not rules().ratio_and_sd(many)
    assert rules().welch_pooled(many)


@pytest.mark.parametrize("name", POOLED)
def test_pooling_takes_slices_of_one_restart_for_independent(name: str) -> None:
    """Six restarts of 20 slices that differ as restarts do: the same build, called slower."""
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(200):
        sides = rng.normal(100.0, 1.5, (2, 6, 1)) + rng.normal(0.0, 1.0, (2, 6, 20))
        wrong += getattr(rules(), name)(rules().Log(*sides, 1.0))
    assert wrong > 0.15 * 200


def test_made_up_comparisons_are_judged_by_dyno_s_rule_as_their_components_have_it() -> None:
    made = importlib.import_module("made_up")
    same = made.made_up(made.KINDS[1], 100)
    assert same.base.shape == same.candidate.shape == (100, 24, made.SLICES)
    assert same.judged().compute_share("slower") <= 0.03
    found = same.injected(5.0).judged()
    assert found.compute_share("slower") >= 0.97
    assert set(found.blocks.tolist()) <= {6, 10, 14, 18, 24}
    seen = same.injected(5.0).logs(6)
    slow = np.mean([each.candidate.mean() / each.base.mean() for each in seen])
    assert slow == pytest.approx(1.05, abs=0.01) and seen[0].base.shape == (6, made.SLICES)


def test_comparisons_drawn_from_a_log_keep_its_pairs_and_neighbours_and_no_difference() -> None:
    made = importlib.import_module("made_up")
    first = np.arange(30.0)[:, None] + 1.0
    found = made.of_log(first, first + 100.0, 1.0, 50)
    assert found.base.shape == (50, 24, 1) and found.pairs == 30
    assert np.all(abs(found.candidate - found.base) == 100.0)
    numbers = np.minimum(found.base, found.candidate)[..., 0].reshape(50, 4, made.FOLLOWING)
    assert np.all(np.diff(numbers) % 30 == 1)
    assert 0.4 < (found.candidate > found.base).mean() < 0.6


def test_every_rule_has_as_many_restarts_as_dyno_took() -> None:
    bakeoff = importlib.import_module("verdict_bakeoff")
    made = importlib.import_module("made_up")
    rng = np.random.default_rng(5)
    same = made.of_log(*rng.normal(100.0, 0.1, (2, 40, 10)), 1.0, 80)
    rows = list(bakeoff.judged("calm", same, 0.0))
    assert [row.rule for row in rows] == [bakeoff.DYNO, *rules().RULES]
    assert {(row.pairs, row.restarts, row.n) for row in rows} == {(40, 10, 80)}
    assert rows[0].slower == 0 and rows[0].figures["high_percent"] == 4.5


def test_turns_of_a_log_are_joined_to_slices() -> None:
    logs = importlib.import_module("restart_logs")
    assert logs.join_turns([2] * 45 + [0] * 5 + [9], 0.004) == [500.0, 400.0]
    assert logs.join_turns([7, 0, 9], 0.2) == [35.0, 0.0, 45.0]


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_logs_are_played_kept_and_read_again(tmp_path: Path) -> None:
    """A block in which a crowded host let Dyno stand still is in no log, and slices are missing
    where it did.
    """
    logs = importlib.import_module("restart_logs")
    for order in logs.ORDERS.values():
        logs.play(tmp_path, "null@500us", order, 3)
    lines = [json.loads(line) for line in (tmp_path / logs.FILE).read_text().splitlines()]
    assert [line["order"] for line in lines] == ["sequential", "interleaved"]
    for line in lines:
        assert len(line["a"]) == len(line["b"]) <= 3
    restarts = [slices for line in lines for side in logs.SIDES for slices in line[side]]
    assert max(map(len, restarts)) <= logs.SECONDS / logs.SLICE_S + 1
    # an event takes 500 us at least, and a slice in which the host stood still has none
    rates = [rate for slices in restarts for rate in slices]
    assert 0 < np.median(rates) < 2500
    assert logs.stored(tmp_path, 20) == {}, "three pairs hold no comparison"
    with (tmp_path / logs.FILE).open("a") as kept:
        kept.write((json.dumps(lines[1]) + "\n") * 23)
    ((name, found),) = logs.stored(tmp_path, 20).items()
    assert name == ("null@500us", "interleaved") and found.pairs == 24 * len(lines[1]["a"])
    assert found.base.min() > 400e-6, "an answer takes 500 µs at least"
