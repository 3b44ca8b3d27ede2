"""Every column that a workload writes is covered by its ledger, or is said not to be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from played_workloads import play, wrong_entries

from dyno import driver
from dyno.driver.plan import Session
from dyno.instruments.time.evidence import read_ledger
from dyno.instruments.time.job import Tools

#: Another day, a letter more, one more.
CHANGED = (
    "CASE WHEN {0} GLOB '????-??-??' THEN DATE({0}, '+1 day') "
    "WHEN TYPEOF({0}) = 'text' THEN {0} || '1' ELSE {0} + 1 END"
)


@pytest.mark.parametrize(
    ("workload", "column", "options"),
    [
        ("oltp_update_non_index", "c", {"table_size": 200}),
        ("oltp_write_only", "pad", {"table_size": 200, "threads": 3}),
        ("kv", "v", {"mix": "update=100", "records": 200, "batch": 2}),
        ("kv", "v", {"mix": "f", "records": 200, "threads": 3}),
    ],
)
def test_a_row_that_is_put_back_after_the_run_is_found(
    workload: str, column: str, options: dict[str, Any], sqlite: Session, tmp_path: Path
) -> None:
    played = play(sqlite, workload, tmp_path, events=400, warmup_time=0, **options)
    assert not wrong_entries(played.plan, played.counters, played.written)
    keys = [it.key for each in played.written for it in each.keys]
    table, key = ("kv", "k") if workload == "kv" else ("sbtest1", "id")
    other = f"UPDATE {table} SET {column} = REPLACE({column}, SUBSTR({column}, 1, 1), '+')"
    driver.ask(sqlite, [f"{other} WHERE {key} = {keys[0]}"])
    (wrong,) = wrong_entries(played.plan, played.counters, played.written)
    assert "written last" in wrong


@pytest.mark.parametrize(
    ("workload", "table", "options"),
    [
        ("load", "lineorder_load", {"rows": 300, "parts": 3}),
        ("lineitem_load", "lineitem", {"scale": 0.001, "primary_key": "off"}),
    ],
)
def test_a_loads_checksum_tells_of_each_column(
    workload: str, table: str, options: dict[str, Any], sqlite: Session, tmp_path: Path
) -> None:
    played = play(sqlite, workload, tmp_path, **options)
    columns = [str(row[1]) for row in driver.ask(sqlite, [f"PRAGMA table_info({table})"])[0]]

    def checksums() -> set[str]:
        found = read_ledger(played.plan, played.counters, played.written, Tools())
        return {entry.digest for entry in found if entry.digest}

    assert len(columns) >= 16
    known = [checksums()]
    for column in columns:
        changed = CHANGED.format(column)
        driver.ask(sqlite, [f"UPDATE {table} SET {column} = {changed} WHERE rowid = 7"])
        known.append(checksums())
        assert known[-1] != known[-2], column


def test_a_row_that_holds_another_id_is_found(sqlite: Session, tmp_path: Path) -> None:
    played = play(sqlite, "types", tmp_path, rows=200, batch=20, events=20, warmup_time=0)
    assert not wrong_entries(played.plan, played.counters)
    swapped = "UPDATE ids_by_type SET id = 'none' WHERE n = 200"
    driver.ask(sqlite, [swapped])
    assert wrong_entries(played.plan, played.counters) == ["rows with their id and number"]
