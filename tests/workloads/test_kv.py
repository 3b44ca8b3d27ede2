"""The key-value workload through the real driver, on SQLite and on null."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from played_workloads import NULL, assert_ledger_balances, failures, play

from dyno import driver, engines
from dyno.driver.plan import Session
from dyno.errors import DynoError, UsageError

SMALL: dict[str, Any] = {"records": 300, "events": 200, "warmup_time": 0}
#: Kinds of requests that each of YCSB's mixes has.
KINDS = {
    "a": {"read", "update"},
    "b": {"read", "update"},
    "d": {"read", "insert"},
    "E": {"scan", "insert"},
    "f": {"read", "modify"},
    "read=1, insert=2, delete=3": {"read", "insert", "delete"},
}


@pytest.fixture
def sqlite(tmp_path: Path) -> Session:
    """A session on the system's library, with the engine's default settings."""
    engine = engines.find_engine("sqlite", driver.ask)
    return engine.start(engine.program("system", {}, lambda _: None), tmp_path, {}).session


@pytest.mark.parametrize("mix", KINDS)
def test_a_mix_sends_its_kinds_and_its_ledger_balances(
    mix: str, sqlite: Session, tmp_path: Path
) -> None:
    played = play(sqlite, "kv", tmp_path, **SMALL, mix=mix)
    assert not failures(played)
    (tally,) = played.phases["run"].streams
    assert set(tally.transactions) == KINDS[mix]
    assert sum(each.count for each in tally.transactions.values()) == tally.done == 200
    assert_ledger_balances(played)
    if "delete" not in mix:
        assert played.number("select count(*) from kv where k <= 300") == 300


def test_one_kind_alone_has_no_types_and_sends_one_statement(
    sqlite: Session, tmp_path: Path
) -> None:
    (tally,) = play(sqlite, "kv", tmp_path, **SMALL).phases["run"].streams
    assert (tally.transactions, tally.queries, tally.rows_read) == ({}, 200, 200)


@pytest.mark.parametrize(("batch", "in_flight"), [(5, 1), (1, 4), (5, 4)])
def test_keys_in_a_statement_and_statements_in_flight_are_counted_in_keys(
    batch: int, in_flight: int, tmp_path: Path
) -> None:
    options = SMALL | {"mix": "insert=1", "batch": batch, "in_flight": in_flight}
    (tally,) = play(NULL, "kv", tmp_path, **options).phases["run"].streams
    assert (tally.units_per_event, tally.queries) == (batch * in_flight, 200 * in_flight)


def test_keys_that_are_inserted_in_batches_are_new_ones(sqlite: Session, tmp_path: Path) -> None:
    played = play(sqlite, "kv", tmp_path, **SMALL, mix="insert=1", batch=7)
    assert played.counters["inserted"] == 200 * 7
    assert played.number("select count(*) from kv") == 300 + 200 * 7
    assert played.number("select max(length(v)) + min(length(v)) from kv") == 200
    assert_ledger_balances(played)


def test_a_read_that_finds_nothing_ends_the_trial(sqlite: Session, tmp_path: Path) -> None:
    play(sqlite, "kv", tmp_path, **SMALL)
    driver.ask(sqlite, ["DELETE FROM kv WHERE k > 1"])
    with pytest.raises(DynoError, match="finds no row"):
        play(sqlite, "kv", tmp_path, commands=("run",), **SMALL)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mix": "g"}, "refuses this value of option mix"),
        ({"mix": "read=1,read=2"}, "refuses this value of option mix"),
        ({"mix": "read=0"}, "refuses this value of option mix"),
        ({"mix": "e", "batch": 2}, "scan takes one range"),
        ({"mix": "f", "in_flight": 2}, "modify writes what it has read"),
        ({"records": 0}, "refuses this value of option records"),
    ],
)
def test_what_cannot_be_played_is_refused(
    options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said):
        play(NULL, "kv", tmp_path, **SMALL | options)


def test_an_engine_without_batches_refuses_statements_in_flight(
    sqlite: Session, tmp_path: Path
) -> None:
    with pytest.raises(DynoError, match="takes no batches"):
        play(sqlite, "kv", tmp_path, **SMALL, in_flight=2)
