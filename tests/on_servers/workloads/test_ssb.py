"""Workload `ssb` on real servers and on DuckDB: answers as known, and as another engine's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from played_workloads import assert_ledger_balances, failures, play
from private_servers import SERVERS, serving

from dyno import driver
from dyno.driver.plan import Session
from dyno.engines import Server, find_engine

pytestmark = [pytest.mark.timeout(400)]

BRIEF: dict[str, Any] = {"runs": 1, "discard": 0}
#: A scale at which no answers come along.
OTHER: dict[str, Any] = {"scale": 0.02}


def duckdb_session(version: str, home: Path) -> Session:
    engine = find_engine("duckdb", driver.ask)
    return engine.start(engine.program(version, {}, lambda _: None), home, {}).session


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """DuckDB's answers at the other scale."""
    home = tmp_path_factory.mktemp("duckdb")
    file = home / "answers.lua"
    session = duckdb_session("1.5.6", home)
    played = play(session, "ssb", home, **BRIEF, **OTHER, check="print", answers=file)
    assert not failures(played)
    return file


@pytest.fixture(scope="module", params=SERVERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def server(name: str) -> Iterator[Server]:
    with serving(name) as server:
        yield server


@pytest.mark.parametrize("more", [{"streams": 2}, OTHER])
def test_all_answers_are_right_and_all_rows_accounted_for(
    name: str, server: Server, answers: Path, tmp_path: Path, more: dict[str, Any]
) -> None:
    """Without statistics MyRocks joins in an order that takes half a minute for a query."""
    options = BRIEF | more | ({"answers": answers} if more == OTHER else {})
    try:
        loaded = play(server.session, "ssb", tmp_path, ("prepare",), **options)
        find_engine(SERVERS[name][0], driver.ask).settle(server)
        played = play(server.session, "ssb", tmp_path, ("run",), **options)
        assert not failures(played)
        assert played.phases["answers"].streams[0].done == 13
        assert_ledger_balances(replace(played, counters=loaded.counters))
    finally:
        play(server.session, "ssb", tmp_path, ("cleanup",))


@pytest.mark.parametrize("version", ["1.1.3", "1.5.6"])
def test_all_answers_are_right_on_duckdb(version: str, tmp_path: Path) -> None:
    played = play(duckdb_session(version, tmp_path), "ssb", tmp_path, **BRIEF, streams=2)
    assert not failures(played)
    assert played.phases["answers"].streams[0].done == 13
    assert_ledger_balances(played)
