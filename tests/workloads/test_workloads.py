"""Our own workloads through the real driver: on null, and on the system's SQLite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from played_workloads import (
    NULL,
    OLTP,
    SMALL_INSERT,
    SMALL_TPCC,
    assert_ledger_balances,
    failures,
    play,
)

from dyno import driver, workloads
from dyno.driver.plan import Session

SMALL_OLTP: dict[str, Any] = {"table_size": 500, "events": 60, "warmup_time": 0}
SMALL: dict[str, dict[str, Any]] = {
    "insert": SMALL_INSERT,
    "kv": {"records": 500, "events": 60, "warmup_time": 0},
    "lineitem_load": {"scale": 0.001, "threads": 2},
    "dbt3": {"runs": 1, "discard": 0},
    "ssb": {"runs": 1, "discard": 0},
    "load": {"rows": 2000, "threads": 2},
    "micro": {"table_size": 1000, "events": 3, "warmup_time": 0},
    "tpcc": SMALL_TPCC | {"events": 200},
    "types": {"rows": 2000, "events": 60, "warmup_time": 0},
}
#: Statements that one event sends, by sysbench's defaults.
STATEMENTS = {
    "oltp_point_select": 1,
    "oltp_read_only": 16,
    "oltp_read_write": 20,
    "oltp_write_only": 6,
    "oltp_insert": 1,
    "oltp_update_index": 1,
    "oltp_update_non_index": 1,
    "oltp_delete": 1,
}


def test_every_oltp_workload_has_a_count_of_its_statements_here() -> None:
    assert sorted(STATEMENTS) == OLTP


@pytest.mark.parametrize("workload", OLTP)
def test_an_oltp_event_sends_its_statements_and_its_ledger_balances(
    workload: str, sqlite: Session, tmp_path: Path
) -> None:
    played = play(sqlite, workload, tmp_path, **SMALL_OLTP)
    (tally,) = played.phases["run"].streams
    assert not failures(played)
    assert (tally.done, tally.queries) == (60, 60 * STATEMENTS[workload])
    assert_ledger_balances(played)


@pytest.mark.slow
@pytest.mark.parametrize("workload", workloads.list_workloads())
def test_every_workload_plays_on_null_for_the_client_only_baseline(
    workload: str, tmp_path: Path
) -> None:
    small = {"events": 60} if workload.startswith("pgbench_") else SMALL_OLTP
    played = play(NULL, workload, tmp_path, **SMALL.get(workload, small))
    assert not failures(played)
    assert all(tally.done for phase in played.phases.values() for tally in phase.streams)


@pytest.mark.slow
@pytest.mark.parametrize("workload", workloads.list_workloads())
def test_what_a_workload_loads_does_not_depend_on_its_threads(
    workload: str, sqlite: Session, tmp_path: Path
) -> None:
    if workload.startswith("pgbench_"):
        pytest.skip("its tables are PostgreSQL's; made by statements without threads in them")
    small = SMALL_OLTP | {"table_size": 50}
    options = (small if workload == "micro" else SMALL.get(workload, small)) | {"warmup_time": 0}

    def loaded(threads: int) -> list[str]:
        at = sqlite | {"database": str(tmp_path / str(threads))}
        played = play(at, workload, tmp_path, ("prepare",), **options | {"threads": threads})
        names = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        tables = [str(name) for (name,) in driver.ask(at, [names])[0]]
        rows = driver.ask(at, [f'SELECT * FROM "{table}"' for table in tables])
        return [*tables, *map(str, rows), str(played.counters)]

    assert loaded(1) == loaded(3)


def test_the_insert_benchmark_leaves_the_rows_and_index_entries_that_it_claims(
    sqlite: Session, tmp_path: Path
) -> None:
    played = play(sqlite, "insert", tmp_path, **SMALL_INSERT)
    assert not failures(played)
    assert played.claimed({"inserted": 1}) > 3000
    assert [entry.name.split()[0] for entry in played.description.ledger] == [
        "rows",
        "valid",
        "marketsegment",
        "registersegment",
        "pdc",
    ]
    assert_ledger_balances(played)


def test_each_insert_is_followed_by_a_delete_of_the_oldest_rows(
    sqlite: Session, tmp_path: Path
) -> None:
    played = play(sqlite, "insert", tmp_path, **SMALL_INSERT)
    rows, deleted = played.number("select count(*) from pi1"), played.counters["deleted"]
    assert rows == 2000 + 100
    assert played.number("select min(transactionid) from pi1") == deleted + 1


def test_without_deletes_the_table_grows(sqlite: Session, tmp_path: Path) -> None:
    played = play(sqlite, "insert", tmp_path, **SMALL_INSERT, delete_per_insert="off")
    assert played.counters["deleted"] == 0
    assert played.number("select count(*) from pi1") == played.counters["inserted"]


def test_rows_lie_in_their_domains(sqlite: Session, tmp_path: Path) -> None:
    played = play(sqlite, "insert", tmp_path, **SMALL_INSERT, products=7, data_length_max=12)
    outside = """select count(*) from pi1 where cashregisterid not between 0 and 999
      or customerid not between 0 and 99999 or productid not between 0 and 6
      or price not between 0 and 499 or length(data) not between 10 and 12
      or typeof(price) <> 'integer' or dateandtime not like '2010-01-01 00:00:0_'"""
    assert played.number(outside) == 0
    assert played.number("select count(distinct productid) from pi1") == 7


def test_the_same_seed_loads_the_same_rows_and_another_seed_others(
    sqlite: Session, tmp_path: Path
) -> None:
    def loaded(seed: int, name: str) -> str:
        at = sqlite | {"database": str(tmp_path / name)}
        played = play(at, "insert", tmp_path, seed=seed, **SMALL_INSERT, queries="")
        row = "dateandtime || cashregisterid || customerid || productid || price || data"
        return played.text(f"select group_concat({row}) from pi1 order by transactionid")

    first = loaded(1, "a")
    assert loaded(1, "b") == first
    assert loaded(2, "c") != first


@pytest.mark.parametrize(("shared", "tables"), [("off", 2), ("on", 1)])
def test_clients_have_a_table_each_unless_they_share_one(
    sqlite: Session, tmp_path: Path, shared: str, tables: int
) -> None:
    own: dict[str, Any] = {"clients": 2, "shared_table": shared, "queries": "range"}
    options = SMALL_INSERT | own
    played = play(sqlite, "insert", tmp_path, **options)
    assert played.number("select count(*) from sqlite_master where type = 'table'") == tables
    assert_ledger_balances(played)


def test_users_share_out_the_parts_of_a_bulk_load(tmp_path: Path) -> None:
    for threads, parts in ((1, 1), (3, 7)):
        options: dict[str, Any] = {"scale": 0.001, "threads": threads, "parts": parts}
        played = play(NULL, "lineitem_load", tmp_path, **options)
        assert played.counters == {"loaded": 6005}
        (tally,) = played.phases["load"].streams
        assert (tally.done, tally.units_per_event) == (parts, 1500 // parts)


def test_a_bulk_load_fills_a_table_in_the_drivers_process(sqlite: Session, tmp_path: Path) -> None:
    played = play(sqlite, "lineitem_load", tmp_path, scale=0.001, threads=2)
    assert played.counters == {"loaded": 6005}
    assert_ledger_balances(played)
    first = "l_partkey || ' ' || l_extendedprice || ' ' || l_shipdate || ' ' || l_shipmode"
    where = "l_orderkey = 1 AND l_linenumber = 1"
    found = played.text(f"SELECT {first} FROM lineitem WHERE {where}")
    assert found.split()[2:] == ["1996-03-13", "TRUCK"]
    assert played.number("SELECT COUNT(*) FROM lineitem WHERE typeof(l_tax) = 'text'") == 0


def test_uniform_keys_reach_every_row(sqlite: Session, tmp_path: Path) -> None:
    # twenty draws a row: about one of 10^6 uniform trials leaves a row, and any skew leaves many
    played = play(sqlite, "oltp_delete", tmp_path, table_size=100, events=2000, warmup_time=0)
    assert played.number("select count(*) from sbtest1") == 0
