"""Workload `load`: phases by option, rows and texts on SQLite, what cannot be loaded."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest
from played_workloads import NULL, assert_ledger_balances, described, failures, play

from dyno import driver, engines
from dyno.driver.plan import Session
from dyno.errors import DynoError, UsageError

SMALL: dict[str, Any] = {"rows": 3000, "parts": 3}
TABLE = "lineorder_load"


@pytest.fixture
def sqlite(tmp_path: Path) -> Session:
    engine = engines.find_engine("sqlite", driver.ask)
    return engine.start(engine.program("system", {}, lambda _: None), tmp_path, {}).session


@pytest.mark.parametrize(
    ("indexes", "phases", "made"),
    [
        ("none", ["load", "size"], 0),
        ("before", ["load", "size"], 4),
        ("after", ["load", "index", "size"], 4),
    ],
)
def test_a_table_is_loaded_with_the_indexes_asked_for(
    sqlite: Session, tmp_path: Path, indexes: str, phases: list[str], made: int
) -> None:
    played = play(sqlite, "load", tmp_path, **SMALL, indexes=indexes, threads=1)
    assert not failures(played)
    assert [name for name in played.phases if name != "prepare"] == phases
    (tally,) = played.phases["load"].streams
    assert (tally.unit, tally.done * tally.units_per_event) == ("row", 3000)
    assert played.number("SELECT COUNT(*) FROM sqlite_master WHERE type = 'index'") == made
    assert played.counters == {"loaded": 3000}
    assert_ledger_balances(played)


def test_parts_make_the_rows_of_lineorder_whoever_loads_them(
    sqlite: Session, tmp_path: Path
) -> None:
    key = "lo_orderkey || ' ' || lo_linenumber || ' ' || extra_data"
    text = f"SELECT GROUP_CONCAT(it, '|') FROM (SELECT {key} AS it FROM {TABLE} ORDER BY 1)"

    def loaded(name: str, parts: int) -> str:
        at = sqlite | {"database": str(tmp_path / name)}
        return play(at, "load", tmp_path, rows=600, parts=parts, threads=1).text(text)

    assert loaded("one", 1) == loaded("six", 6)


def test_words_hardly_compress_and_a_phrase_does(sqlite: Session, tmp_path: Path) -> None:
    def ratio(text: str) -> float:
        at = sqlite | {"database": str(tmp_path / text)}
        played = play(at, "load", tmp_path, rows=1000, parts=1, text=text)
        texts = played.text(f"SELECT GROUP_CONCAT(extra_data) FROM {TABLE}").encode()
        counts = "LENGTH(extra_data) - LENGTH(REPLACE(extra_data, ' ', '')) + 1"
        assert played.number(f"SELECT MIN({counts}) FROM {TABLE}") == (
            10 if text == "words" else 50
        )
        return len(texts) / len(zlib.compress(texts))

    assert ratio("words") < 2 < 4 < ratio("phrase")


def test_a_table_of_others_is_not_dropped(sqlite: Session, tmp_path: Path) -> None:
    driver.ask(sqlite, [f"CREATE TABLE {TABLE} (mine TEXT)"])
    with pytest.raises(DynoError, match=TABLE):
        play(sqlite, "load", tmp_path, ("prepare",))
    play(sqlite, "load", tmp_path, ("cleanup",))
    (rows,) = driver.ask(sqlite, ["SELECT name FROM sqlite_master WHERE type = 'table'"])
    assert rows == [[TABLE]]


@pytest.mark.parametrize(
    "options",
    [{"rows": 0}, {"rows": 1.5}, {"text": "novel"}, {"indexes": "some"}, {"key_block_size": 3}],
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(options))):
        described("load", **options)


def test_rows_that_parts_cannot_share_are_refused() -> None:
    with pytest.raises(DynoError, match="1000 rows cannot be loaded in 3 parts"):
        described("load", rows=1000, parts=3)


def test_compression_of_another_engine_is_refused(sqlite: Session, tmp_path: Path) -> None:
    with pytest.raises(DynoError, match="key_block_size is InnoDB's, and tables here are sqlite's"):
        play(sqlite, "load", tmp_path, key_block_size=8)


def test_an_unknown_dialect_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DynoError, match="no bulk load is known in the dialect 'oracle'"):
        play(NULL, "load", tmp_path, **SMALL, db_driver="oracle")
