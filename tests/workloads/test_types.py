"""Workload `types`: ids by type and order on SQLite, the two lookups, what is refused."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from played_workloads import NULL, Played, assert_ledger_balances, described, failures, play

from dyno import driver, engines
from dyno.driver.plan import Session
from dyno.errors import DynoError, UsageError

SMALL: dict[str, Any] = {"rows": 600, "batch": 20, "events": 60, "warmup_time": 0}
TABLE = "ids_by_type"


@pytest.fixture
def sqlite(tmp_path: Path) -> Session:
    engine = engines.find_engine("sqlite", driver.ask)
    return engine.start(engine.program("system", {}, lambda _: None), tmp_path, {}).session


def ids_of(played: Played) -> list[str]:
    ordered = f"SELECT GROUP_CONCAT(id) FROM (SELECT id FROM {TABLE} ORDER BY n)"
    return played.text(ordered).split(",")


@pytest.mark.parametrize("key", ["primary", "secondary"])
def test_each_row_is_inserted_once_and_found_by_key_and_by_index(
    sqlite: Session, tmp_path: Path, key: str
) -> None:
    played = play(sqlite, "types", tmp_path, **SMALL, key=key, threads=1)
    assert not failures(played)
    assert [*played.phases] == ["prepare", "insert", "by_key", "by_index", "size"]
    (inserts,) = played.phases["insert"].streams
    assert (inserts.unit, inserts.done * inserts.units_per_event) == ("row", 600)
    assert played.number(f"SELECT COUNT(DISTINCT id) FROM {TABLE}") == 600
    assert played.number(f"SELECT MIN(n) FROM {TABLE}") == 1
    assert played.number(f"SELECT MAX(n) FROM {TABLE}") == 600
    named = played.text(f"SELECT name FROM pragma_table_info('{TABLE}') WHERE pk = 1")
    assert named == ("id" if key == "primary" else "n")
    assert played.counters == {"inserted": 600, "numbers": 600 * 601 // 2, "asked": 100}
    assert_ledger_balances(played)


@pytest.mark.parametrize(("order", "version"), [("random", 4), ("time", 7)])
def test_ids_are_uuids_of_their_version(
    sqlite: Session, tmp_path: Path, order: str, version: int
) -> None:
    texts = ids_of(play(sqlite, "types", tmp_path, **SMALL, order=order, type="char36"))
    ids = [uuid.UUID(text) for text in texts]
    assert [str(each) for each in ids] == texts
    assert {(each.version, each.variant) for each in ids} == {(version, uuid.RFC_4122)}
    assert (ids == sorted(ids)) == (order == "time")


def test_a_type_changes_how_an_id_is_written_and_not_which_it_is(
    sqlite: Session, tmp_path: Path
) -> None:
    def ids(type_: str) -> list[str]:
        at = sqlite | {"database": str(tmp_path / type_)}
        return ids_of(play(at, "types", tmp_path, **SMALL, type=type_))

    assert ids("char32") == [each.replace("-", "") for each in ids("char36")]


def test_an_id_that_is_gone_ends_the_lookup(sqlite: Session, tmp_path: Path) -> None:
    play(sqlite, "types", tmp_path, ("prepare",), **SMALL)
    lost = f"CREATE TRIGGER lost AFTER INSERT ON {TABLE} BEGIN DELETE FROM {TABLE}; END"
    driver.ask(sqlite, [lost])
    with pytest.raises(DynoError, match="is in 0 rows"):
        play(sqlite, "types", tmp_path, ("run",), **SMALL)


def test_sqlite_has_no_type_of_its_own(sqlite: Session, tmp_path: Path) -> None:
    with pytest.raises(DynoError, match="SQLite has no type UUID; char32, char36 and binary16"):
        play(sqlite, "types", tmp_path, **SMALL, type="uuid")


def test_a_table_of_others_is_not_dropped(sqlite: Session, tmp_path: Path) -> None:
    driver.ask(sqlite, [f"CREATE TABLE {TABLE} (mine TEXT)"])
    with pytest.raises(DynoError, match=TABLE):
        play(sqlite, "types", tmp_path, ("prepare",))
    play(sqlite, "types", tmp_path, ("cleanup",))
    (rows,) = driver.ask(sqlite, ["SELECT name FROM sqlite_master WHERE type = 'table'"])
    assert rows == [[TABLE]]


@pytest.mark.parametrize(
    "options",
    [{"type": "char"}, {"order": "up"}, {"key": "both"}, {"rows": 0}, {"batch": 1.5}],
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(options))):
        described("types", **options)


def test_rows_that_are_no_whole_batches_are_refused() -> None:
    with pytest.raises(DynoError, match="30 rows cannot be inserted 20 at a time"):
        described("types", rows=30, batch=20)


def test_a_rate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DynoError, match="rate has to be 0"):
        play(NULL, "types", tmp_path, **SMALL, rate=10)
