"""Workload `dbt3` on real servers and on DuckDB: all answers as known, all rows accounted for."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from private_servers import SERVERS, serving

from dyno import driver, workloads
from dyno.driver.plan import Plan, Script, Session
from dyno.engines import Server, find_engine
from dyno.errors import DynoError
from dyno.record import PhaseRecord

pytestmark = [pytest.mark.timeout(400)]

BRIEF = {"runs": 1, "discard": 0}


def play(session: Session, commands: str, **options: Any) -> dict[str, PhaseRecord]:
    texts = {key: str(value) for key, value in (BRIEF | options).items()}
    script = Script(str(workloads.find_workload("dbt3")), texts)
    plan = Plan(session, script, 7, tuple(commands.split()), progress_s=0)
    phases = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        driver.DriverProcess(plan, driver.DriverLaunch(Path(folder) / "log")) as process,
    ):
        while not isinstance(event := process.read_event(driver.Limit("it", 120)), driver.End):
            if isinstance(event, PhaseRecord):
                phases[event.phase] = event
            process.go()
    if commands == "prepare run":
        assert_ledger_balances(session, plan, event.counters)
    return phases


def assert_ledger_balances(session: Session, plan: Plan, counters: dict[str, int]) -> None:
    ledger = [entry for entry in driver.describe(plan).ledger if entry.counters]
    answers = driver.ask(session, [entry.sql for entry in ledger])
    for entry, rows in zip(ledger, answers, strict=True):
        claimed = sum(f * counters.get(name, 0) for name, f in entry.counters.items())
        assert int(rows[0][0] or 0) == claimed > 0, entry.name


def assert_all_played(phases: dict[str, PhaseRecord]) -> None:
    for name, record in phases.items():
        assert not [tally.errors for tally in record.streams if tally.failed], name
    assert phases["answers"].streams[0].done == 22
    assert [tally.done for tally in phases["throughput"].streams] == [23, 23]


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with serving(str(request.param)) as server:
        yield server


def test_all_answers_are_right_and_all_rows_accounted_for(server: Server) -> None:
    try:
        assert_all_played(play(server.session, "prepare run", streams=2))
    finally:
        play(server.session, "cleanup")


@pytest.mark.parametrize("version", ["1.1.3", "1.5.6"])
def test_all_answers_are_right_on_duckdb(version: str, tmp_path: Path) -> None:
    engine = find_engine("duckdb", driver.ask)
    server = engine.start(engine.program(version, {}, lambda _: None), tmp_path, {})
    assert_all_played(play(server.session, "prepare run", streams=2))


def test_a_query_over_the_limit_is_marked_and_the_next_is_played() -> None:
    with serving("postgres-18") as server:
        phases = play(server.session, "prepare run", query_limit=0.001, check="off", refresh="off")
    cut = {name for name, it in phases.items() if it.streams[0].errors == {"57014": 1}}
    assert len(phases) == 23 and {"q01", "q18", "q21"} <= cut
    assert phases["q12"].streams[0].done + phases["q12"].streams[0].failed == 1


def test_a_server_that_gives_no_query_up_refuses_the_limit() -> None:
    with (
        serving("mysql-5.6") as server,
        pytest.raises(DynoError, match=r"mysql 5\.6.*gives no query up"),
    ):
        play(server.session, "run", query_limit=1)
