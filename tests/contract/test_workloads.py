"""Our own workloads through the real driver: on null, and on the system's SQLite."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dyno import driver, engines, workloads
from dyno.errors import UsageError
from dyno.plan import Description, Plan, Script, Session
from dyno.record import PhaseRecord

ROOT = Path(__file__).resolve().parents[2]
NULL: Session = {"kind": "null", "delay_ns": 0}
SMALL_INSERT = {"load_rows": 2000, "write_rows": 1000, "query_seconds": 0.1, "query_rates": "500"}
SMALL_OLTP = {"table_size": 500, "events": 60, "warmup_time": 0}
SMALL: dict[str, dict[str, Any]] = {
    "insert": SMALL_INSERT,
    "lineitem_load": {"scale": 0.001, "threads": 2},
}
OLTP = sorted(name for name in workloads.every() if name.startswith("oltp_"))
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


@dataclass(frozen=True)
class Played:
    """What a trial left: its records by phase, the script's counters, where the data is."""

    phases: dict[str, PhaseRecord]
    counters: dict[str, int]
    session: Session
    description: Description

    def number(self, sql: str) -> int:
        return int(self.text(sql))

    def text(self, sql: str) -> str:
        return str(driver.ask(self.session, [sql])[0][0][0])

    def claimed(self, counters: dict[str, int]) -> int:
        return sum(factor * self.counters.get(name, 0) for name, factor in counters.items())


def make_plan(session: Session, workload: str, seed: int = 7, **options: Any) -> Plan:
    texts = {name: str(value) for name, value in options.items()}
    return Plan(session, Script(str(workloads.find(workload)), texts), seed, progress_s=0)


def described(workload: str, **options: Any) -> Description:
    return driver.describe(make_plan(NULL, workload, **options))


def play(session: Session, workload: str, home: Path, **options: Any) -> Played:
    plan = make_plan(session, workload, **options)
    phases: dict[str, PhaseRecord] = {}
    with driver.Process(plan, driver.Launch(home / "driver.log")) as process:
        while not isinstance(event := process.next(driver.Limit("a phase", 30)), driver.End):
            if isinstance(event, PhaseRecord):
                phases[event.phase] = event
            process.go()
    return Played(phases, event.counters, session, driver.describe(plan))


@pytest.fixture
def sqlite(tmp_path: Path) -> Session:
    """A session on the system's library, with the engine's default settings."""
    engine = engines.find("sqlite", driver.ask)
    return engine.start(engine.program("system", {}, lambda _: None), tmp_path, {}).session


def failures(played: Played) -> dict[str, dict[str, int]]:
    return {
        f"{phase}/{tally.name}": tally.errors
        for phase, record in played.phases.items()
        for tally in record.streams
        if tally.failed
    }


def assert_ledger_balances(played: Played) -> None:
    assert played.description.ledger
    for entry in played.description.ledger:
        if entry.counters:
            assert played.number(entry.sql) == played.claimed(entry.counters), entry.name


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


@pytest.mark.parametrize("workload", workloads.every())
def test_every_workload_plays_on_null_for_the_drivers_floor(workload: str, tmp_path: Path) -> None:
    small = {"events": 60} if workload.startswith("pgbench_") else SMALL_OLTP
    played = play(NULL, workload, tmp_path, **SMALL.get(workload, small))
    assert not failures(played)
    assert all(tally.done for phase in played.phases.values() for tally in phase.streams)


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
    options = SMALL_INSERT | {"clients": 2, "shared_table": shared, "queries": "range"}
    played = play(sqlite, "insert", tmp_path, **options)
    assert played.number("select count(*) from sqlite_master where type = 'table'") == tables
    assert_ledger_balances(played)


def test_users_share_out_the_parts_of_a_bulk_load(tmp_path: Path) -> None:
    for threads, parts in ((1, 1), (3, 7)):
        options = {"scale": 0.001, "threads": threads, "parts": parts}
        played = play(NULL, "lineitem_load", tmp_path, **options)
        assert played.counters == {"loaded": 6005}
        (tally,) = played.phases["load"].streams
        assert (tally.done, tally.units_per_event) == (parts, 1500 // parts)


def test_an_engine_without_a_bulk_command_refuses_the_bulk_load(
    sqlite: Session, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="this engine has no bulk load"):
        play(sqlite, "lineitem_load", tmp_path, scale=0.001)


def test_the_insert_benchmark_has_the_originals_phases_and_three_primaries() -> None:
    phases = described("insert").phases
    names = "l.i0 l.x l.i1 l.i2 qr100 qp100 qr500 qp500 qr1000 qp1000"
    assert [phase.name for phase in phases] == names.split()
    assert [phase.name for phase in phases if phase.settle] == ["qr100"]
    primaries = [(p.name, m.stream, m.metric, m.margin_percent) for p in phases for m in p.primary]
    assert primaries == [
        ("l.i0", "insert", "rate_per_s", 5),
        ("l.i1", "insert", "rate_per_s", 5),
        ("qr100", "query", "rate_per_s", 5),
    ]


@pytest.mark.parametrize(
    ("workload", "option"),
    [("insert", "clients"), ("insert", "load_batch"), ("oltp_read_only", "tables")],
)
def test_a_workload_without_work_is_refused_before_it_is_played(workload: str, option: str) -> None:
    with pytest.raises(UsageError, match=f"refuses this value of option {option}(.|\n)*default"):
        described(workload, **{option: 0})


@pytest.mark.parametrize("option", [{"query_rates": "100,abc"}, {"queries": "range,all"}])
def test_a_list_of_query_phases_is_refused_by_its_option_s_name(option: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=f"refuses this value of option {next(iter(option))}"):
        described("insert", **option)


def test_query_phases_can_be_chosen_and_their_writers_are_paced_in_rows() -> None:
    phases = described("insert", query_rates="250", queries="point", clients=2).phases
    assert [phase.name for phase in phases[4:]] == ["qp250"]
    queries, inserts = phases[4].streams
    assert queries.pace == {"kind": "closed"}
    assert inserts.units_per_event * inserts.pace["rate_per_s"] == 2 * 250
    assert (queries.role, inserts.role) == ("reader", "writer")


def test_an_open_loop_is_judged_by_latency_and_a_closed_one_by_rate() -> None:
    closed = described("oltp_point_select").phases[0]
    paced = described("oltp_point_select", rate=100).phases[0]
    assert closed.streams[0].pace == {"kind": "closed"}
    assert paced.streams[0].pace == {"kind": "uniform", "rate_per_s": 100}
    metrics = [phase.primary[0].metric for phase in (closed, paced)]
    assert metrics == ["rate_per_s", "latency_ns_p99"]


def test_only_workloads_that_keep_their_tables_size_are_stationary() -> None:
    drifting = {name for name in OLTP if not described(name).phases[0].stationary}
    assert drifting == {"oltp_insert", "oltp_delete"}


@pytest.mark.parametrize("workload", OLTP)
def test_the_distribution_of_keys_is_said_and_uniform_by_default(workload: str) -> None:
    options = {option.name: option for option in described(workload).options}
    assert (options["rand_type"].value, options["rand_type"].owner) == ("uniform", "script")


def test_uniform_keys_reach_every_row(sqlite: Session, tmp_path: Path) -> None:
    # twenty draws a row: about one of 10^6 uniform trials leaves a row, and any skew leaves many
    played = play(sqlite, "oltp_delete", tmp_path, table_size=100, events=2000, warmup_time=0)
    assert played.number("select count(*) from sbtest1") == 0


@pytest.mark.parametrize("name", ["event-rate", "point-select", "row-cost"])
def test_a_bench_ends_in_one_line_of_json_with_its_ratio(name: str) -> None:
    done = subprocess.run(
        [ROOT / "bench" / "run", name, "--quick"],
        env={**os.environ, "PYTHON": sys.executable, "DYNO_DRIVER": str(driver.locate())},
        capture_output=True,
        text=True,
        check=True,
    )
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["bench"] == name
    assert any(key.endswith("ratio") and value > 0 for key, value in figures.items())
