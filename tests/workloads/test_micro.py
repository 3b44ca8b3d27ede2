"""The suite of small tests through the real driver, on SQLite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from played_workloads import NULL, assert_ledger_balances, described, failures, play

from dyno import driver
from dyno.driver.plan import Session
from dyno.errors import DynoError

SMALL: dict[str, Any] = {"table_size": 1500, "events": 3, "warmup_time": 0}


def test_each_test_is_a_phase_with_a_verdict_in_one_of_four_groups() -> None:
    phases = described("micro").phases
    assert len(phases) == len({phase.name for phase in phases}) == 42
    assert all(phase.primary and phase.stop.kind == "time" for phase in phases)
    sizes: dict[str, int] = {}
    for phase in phases:
        sizes[phase.group] = sizes.get(phase.group, 0) + 1
    assert sorted(sizes.values()) == [7, 10, 11, 14]
    assert {p.name for p in phases if p.settle} == {"point-query.pre", "point-query.post"}
    # whatever followed it would find as many rows more as the engine is faster
    assert {p.name for p in phases if not p.stationary} == {phases[-1].name} == {"insert"}


def test_every_test_plays_its_rows_and_the_ledger_balances(sqlite: Session, tmp_path: Path) -> None:
    played = play(sqlite, "micro", tmp_path, **SMALL)
    assert not failures(played)
    assert_ledger_balances(played)
    rows = {
        name: (record.streams[0].rows_read, record.streams[0].rows_changed)
        for name, record in played.phases.items()
    }
    assert rows["point-query.pre"] == (3, 0)
    assert rows["hot-points"] == (30, 0)
    assert rows["update-index"] == (0, 3)
    assert rows["scan.pre"] == rows["scan.post"] == (0, 0)
    assert rows["delete"] == (0, 6)
    assert played.counters["inserted"] == 3 + 3 * 4
    # lists draw keys that may be there twice; ranges may begin near the end
    assert 250 < rows["points-notcovered-pk.pre"][0] <= 300
    assert rows["range-covered-si.post"][0] > 0


def test_some_tests_alone_over_several_tables(sqlite: Session, tmp_path: Path) -> None:
    options = SMALL | {"tests": "insert, scan.pre", "tables": 2, "events": 20}
    played = play(sqlite, "micro", tmp_path, **options)
    assert [name for name in played.phases if name != "prepare"] == ["scan.pre", "insert"]
    assert played.number("SELECT COUNT(*) FROM sbtest1") > 1500
    assert played.number("SELECT COUNT(*) FROM sbtest2") > 1500
    assert_ledger_balances(played)


def test_its_reads_can_be_explained_each_once(sqlite: Session, tmp_path: Path) -> None:
    plans = described("micro").plans
    assert len({plan.name for plan in plans}) == len(plans) == 18
    assert not any("?" in plan.sql or "%d" in plan.sql for plan in plans)
    play(sqlite, "micro", tmp_path, ("prepare",), **SMALL)
    driver.ask(sqlite, [f"EXPLAIN {plan.sql}" for plan in plans])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"tests": "hot-pints"}, "tests"),
        ({"tests": ","}, "tests"),
        ({"rate": 10}, "rate has to be 0"),
    ],
)
def test_what_it_cannot_play_is_refused(options: dict[str, Any], why: str, tmp_path: Path) -> None:
    with pytest.raises(DynoError, match=why):
        play(NULL, "micro", tmp_path, **options)
