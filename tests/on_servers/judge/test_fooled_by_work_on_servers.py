"""Ways to be fooled by other work than was asked for, injected on real servers."""

from __future__ import annotations

from pathlib import Path

import pytest
from injected_faults import findings, injected
from ways_to_be_fooled import assert_caught

pytestmark = [pytest.mark.timeout(300)]

BRIEF = {"time": "0.3", "warmup_time": "0", "table_size": "1000"}


@pytest.fixture(autouse=True)
def data(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_TMP", str(home))


@pytest.mark.parametrize(
    ("engine", "build"), [("mysql", "mysql@8.0.33"), ("mariadb", "mariadb@10.11")]
)
def test_a_server_without_autocommit(home: Path, engine: str, build: str) -> None:
    sides = f"old={build}", f"new={build}?autocommit=0"
    found = findings(home, sides, "oltp_update_non_index", BRIEF)
    assert_caught("autocommit-off", found, engine)


def test_reads_without_autocommit_are_one_endless_transaction(home: Path) -> None:
    sides = "old=mysql@8.0.33", "new=mysql@8.0.33?autocommit=0"
    assert_caught("open-ends", findings(home, sides, "oltp_point_select", BRIEF), "mysql")


def test_a_side_that_never_commits(home: Path) -> None:
    assert_caught("never-commits", injected(home, "never commits", "postgres"), "postgres")


@pytest.mark.parametrize("engine", ["postgres", "mysql"])
def test_inserts_of_what_is_there_already(home: Path, engine: str) -> None:
    found = injected(home, "ignored inserts", engine, everywhere=True)
    assert_caught("nothing-changed", found, engine)


def test_errors_that_the_script_catches(home: Path) -> None:
    assert_caught("caught-errors", injected(home, "caught errors", "postgres"), "postgres")


def test_a_side_that_always_asks_for_the_same_row(home: Path) -> None:
    assert_caught("same-row", injected(home, "always the same row", "postgres"), "postgres")


def test_a_side_that_works_on_another_table(home: Path) -> None:
    assert_caught("other-table", injected(home, "another table", "postgres"), "postgres")
