"""Dyno's own workloads on real servers: nothing fails, every ledger balances, sizes are as said."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from played_workloads import SMALL_TPCC, wrong_entries
from private_servers import SERVERS, serving

from dyno import driver, workloads
from dyno.driver.plan import Description, Plan, Script, Session
from dyno.engines import Server
from dyno.record import PhaseRecord

pytestmark = [pytest.mark.timeout(300)]

SMALL: dict[str, dict[str, Any]] = {
    "insert": {
        "load_rows": 2000,
        "write_rows": 1000,
        "query_seconds": 0.2,
        "query_rates": "500",
    },
    "kv": {"records": 500, "events": 60, "threads": 2, "warmup_time": 0},
    "lineitem_load": {"scale": 0.002, "threads": 2},
    "dbt3": {"runs": 1, "discard": 0},
    "ssb": {"runs": 1, "discard": 0},
    "load": {"rows": 2000, "threads": 2},
    "micro": {"table_size": 1000, "events": 10, "threads": 2, "warmup_time": 0},
    "tpcc": SMALL_TPCC | {"events": 200, "threads": 2},
    "types": {"rows": 2000, "events": 60, "threads": 2, "warmup_time": 0},
}
OLTP = {"table_size": 2000, "tables": 2, "events": 60, "threads": 2, "warmup_time": 0}
#: What two users may meet who delete a row and insert it again, each in one transaction: who waits
#: for the other's deletes nothing and finds the new row (PostgreSQL), or both wait for each other.
#: sysbench begins such an event anew, and so do we. MyRocks looks for no deadlock: a wait ends.
COLLISIONS = {"23505", "40P01", "1213", "1205"}
PGBENCH = [name for name in workloads.list_workloads() if name.startswith("pgbench_")]
ANYWHERE = [name for name in workloads.list_workloads() if name not in PGBENCH]


@dataclass(frozen=True)
class Played:
    """What a trial left."""

    phases: dict[str, PhaseRecord]
    counters: dict[str, int]
    described: Description
    plan: Plan


@pytest.fixture(scope="module", params=SERVERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def server(name: str) -> Iterator[Server]:
    with serving(name) as server:
        yield server


def play(session: Session, workload: str, commands: str, **options: Any) -> Played:
    texts = {key: str(value) for key, value in options.items()}
    script = Script(str(workloads.find_workload(workload)), texts)
    plan = Plan(session, script, 7, tuple(commands.split()), progress_s=0)
    phases = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        driver.DriverProcess(plan, driver.DriverLaunch(Path(folder) / "log")) as process,
    ):
        while not isinstance(event := process.read_event(driver.Limit("it", 60)), driver.End):
            if isinstance(event, PhaseRecord):
                phases[event.phase] = event
            process.go()
    return Played(phases, event.counters, driver.describe(plan), plan)


def number(session: Session, statement: str) -> int:
    (((found,),),) = driver.ask(session, [statement])
    return int(found or 0)


def assert_sound(played: Played) -> None:
    for phase, record in played.phases.items():
        for tally in record.streams:
            assert not tally.failed and set(tally.errors) <= COLLISIONS, f"{phase}: {tally.errors}"
            assert tally.restarted == sum(tally.errors.values())
    assert not wrong_entries(played.plan, played.counters)


@pytest.mark.parametrize("workload", ANYWHERE)
def test_a_workload_plays_and_its_ledger_balances(server: Server, workload: str) -> None:
    options = SMALL.get(workload, OLTP)
    try:
        played = play(server.session, workload, "prepare run", **options)
        assert played.described.ledger and any(played.counters.values())
        assert_sound(played)
    finally:
        play(server.session, workload, "cleanup", **options)


@pytest.mark.parametrize("protocol", ["auto", "disable"])
def test_tpcc_in_batches_keeps_every_condition_though_its_users_collide(
    server: Server, protocol: str
) -> None:
    options = SMALL_TPCC | {"events": 400, "threads": 4, "batched": True, "db_ps_mode": protocol}
    try:
        played = play(server.session, "tpcc", "prepare run", **options)
        assert_sound(played)
        (tally,) = played.phases["run"].streams
        assert tally.done == 400
        kinds = {"new_order", "payment", "order_status", "delivery", "stock_level"}
        assert kinds <= set(tally.transactions)
    finally:
        play(server.session, "tpcc", "cleanup", **options)


@pytest.mark.parametrize("mix", ["a", "d", "e", "f", "read=1,update=1,insert=1,delete=1"])
@pytest.mark.parametrize("in_flight", [1, 8])
def test_key_value_requests_of_each_kind_one_by_one_and_together(
    server: Server, mix: str, in_flight: int
) -> None:
    together = {"batch": 4, "in_flight": 8} if in_flight > 1 else {}
    if together and mix in "ef":
        pytest.skip("a scan and a read that is written back are one at a time")
    options = SMALL["kv"] | {"mix": mix} | together
    try:
        played = play(server.session, "kv", "prepare run", **options)
        assert_sound(played)
        (tally,) = played.phases["run"].streams
        assert (tally.done, tally.units_per_event) == (60, 32 if together else 1)
        if "delete" not in mix:
            assert number(server.session, "SELECT count(*) FROM kv WHERE k <= 500") == 500
    finally:
        play(server.session, "kv", "cleanup", **options)


def test_what_a_batch_changed_is_counted_although_one_of_its_requests_collided(
    server: Server,
) -> None:
    mix = {"mix": "read=1,update=1,insert=1,delete=1", "batch": 4, "in_flight": 8}
    options = SMALL["kv"] | mix | {"records": 2000, "events": 600, "threads": 8}
    try:
        played = play(server.session, "kv", "prepare run", **options)
        assert not wrong_entries(played.plan, played.counters)
    finally:
        play(server.session, "kv", "cleanup", **options)


@pytest.mark.parametrize("workload", PGBENCH)
def test_pgbenchs_own_scripts_play_on_its_own_server(
    server: Server, name: str, workload: str
) -> None:
    if not name.startswith("postgres"):
        pytest.skip("written for another server")
    try:
        played = play(server.session, workload, "prepare run", events=60, warmup_time=0)
        assert_sound(played)
        history = number(server.session, "SELECT count(*) FROM pgbench_history")
        assert history == (0 if workload.endswith("select_only") else 60)
        keys = "SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'pgbench%pkey'"
        assert number(server.session, keys) == 3
    finally:
        play(server.session, workload, "cleanup")


INDEXES = {
    "postgres": "SELECT count(*) FROM pg_indexes WHERE tablename = 'pi1'",
    "mysql": "SELECT count(DISTINCT index_name) FROM information_schema.statistics "
    "WHERE table_schema = database() AND table_name = 'pi1'",
}
BYTES = {
    "postgres": "SELECT pg_total_relation_size('sbtest1')",
    "mysql": "SELECT data_length + index_length FROM information_schema.tables "
    "WHERE table_schema = database() AND table_name = 'sbtest1'",
}


def test_the_insert_benchmark_makes_its_three_indexes(server: Server) -> None:
    kind = server.session["kind"]
    options = SMALL["insert"]
    play(server.session, "insert", "prepare run", **options)
    assert number(server.session, INDEXES[kind]) == 4
    play(server.session, "insert", "cleanup", **options)


def test_a_table_is_about_as_large_as_was_said(server: Server, name: str) -> None:
    if name == "mariadb-rocksdb":
        pytest.skip("what is not flushed yet has no size there")
    options = {**OLTP, "tables": 1, "table_size": 20000}
    played = play(server.session, "oltp_point_select", "prepare", **options)
    kind = server.session["kind"]
    driver.ask(server.session, ["ANALYZE" if kind == "postgres" else "ANALYZE TABLE sbtest1"])
    found = number(server.session, BYTES[kind])
    play(server.session, "oltp_point_select", "cleanup", **options)
    assert 0.5 < found / played.described.size_bytes < 2


def test_tables_are_kept_by_the_servers_default_engine(server: Server, name: str) -> None:
    if server.session["kind"] != "mysql":
        pytest.skip("has one storage engine")
    play(server.session, "oltp_point_select", "prepare", **OLTP)
    asked = "SELECT engine FROM information_schema.tables WHERE table_name = 'sbtest1'"
    (((engine,),),) = driver.ask(server.session, [asked])
    play(server.session, "oltp_point_select", "cleanup", **OLTP)
    assert str(engine).lower() == SERVERS[name][2].get("engine", "InnoDB").lower()
