"""`sys_history` on real servers: its reports are the sys schema's as of a time, and add up."""

from __future__ import annotations

import os
import re
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kit_parts import KitParts
from kit_servers import SETTINGS, WITH_SYS, KitServer, sys_schema

from dyno import driver
from dyno.engines import find_engine
from dyno.errors import TrialFailed

pytestmark = [pytest.mark.timeout(300)]

FIRST = "(SELECT MIN(ts) FROM ps_history.psh_collections)"
FREEZE = (
    "UPDATE performance_schema.setup_consumers SET enabled = '{}'"
    " WHERE name = 'global_instrumentation'"
)
#: By what a report's rows are told apart.
KEYS = {
    "statement_analysis": ("digest", "db"),
    "statements_with_errors_or_warnings": ("digest", "db"),
    "waits_global_by_latency": ("events",),
    "io_global_by_file_by_bytes": ("file",),
    "io_global_by_file_by_latency": ("file",),
    "schema_table_statistics": ("table_schema", "table_name"),
    "schema_index_statistics": ("table_schema", "table_name", "index_name"),
    "host_summary": ("host",),
    "user_summary": ("user",),
    "host_summary_by_statement_type": ("host", "statement"),
    "user_summary_by_statement_type": ("user", "statement"),
    "statements_with_full_table_scans": ("digest", "db"),
    "statements_with_sorting": ("digest", "db"),
    "statements_with_temp_tables": ("digest", "db"),
    "schema_tables_with_full_table_scans": ("object_schema", "object_name"),
    "io_global_by_wait_by_bytes": ("event_name",),
    "io_global_by_wait_by_latency": ("event_name",),
    "wait_classes_global_by_latency": ("event_class",),
    "wait_classes_global_by_avg_latency": ("event_class",),
    "waits_by_host_by_latency": ("host", "event"),
    "waits_by_user_by_latency": ("user", "event"),
    "host_summary_by_file_io": ("host",),
    "user_summary_by_file_io": ("user",),
    "host_summary_by_file_io_type": ("host", "event_name"),
    "user_summary_by_file_io_type": ("user", "event_name"),
    "host_summary_by_stages": ("host", "event_name"),
    "user_summary_by_stages": ("user", "event_name"),
    "host_summary_by_statement_latency": ("host",),
    "user_summary_by_statement_latency": ("user",),
    "statements_with_runtimes_in_95th_percentile": ("digest", "db"),
    "memory_by_host_by_current_bytes": ("host",),
    "memory_by_user_by_current_bytes": ("user",),
    "memory_global_by_current_bytes": ("event_name",),
    "memory_global_total": ("total_allocated",),
    "metrics": ("variable_name",),
    "ps_check_lost_instrumentation": ("variable_name",),
    "schema_unused_indexes": ("object_schema", "object_name", "index_name"),
}
#: Reports that are held against no view, and why.
WITHOUT = {
    "memory_global_total": "memory moves when it is asked",
    "memory_global_by_current_bytes": "memory moves when it is asked",
    "metrics": "status variables move when they are asked",
    "ps_check_lost_instrumentation": "nothing is lost",
    "schema_unused_indexes": "the view knows no table that was not opened yet",
}
#: MySQL counts stages where it is told to.
STAGES = (
    "UPDATE performance_schema.setup_instruments SET enabled = '{0}', timed = '{0}'"
    " WHERE name LIKE 'stage/%'"
)
#: This view adds the longest of each kind of statement up, and calls the sum the longest.
LONGEST_ADDED_UP = {"user_summary_by_statement_latency"}
#: What moves although the counters stand still.
MOVING = {
    *("current_connections", "total_connections", "current_memory", "total_memory_allocated"),
    *("current_count_used", "current_allocated", "current_avg_alloc", "current_max_alloc"),
}
WORK = [
    "CREATE TABLE dyno.shop (nr INT PRIMARY KEY, kind INT, KEY (kind))",
    "INSERT INTO dyno.shop VALUES (1, 1), (2, 1), (3, 2)",
    *["SELECT COUNT(*) FROM dyno.shop WHERE nr + 0 > 1"] * 5,
    "SELECT * FROM dyno.shop WHERE kind = 1",
    "SELECT kind, COUNT(*) FROM dyno.shop GROUP BY kind ORDER BY COUNT(*)",
    "SELECT MAX(kind + nr) FROM dyno.shop IGNORE INDEX (kind)",
    "UPDATE dyno.shop SET kind = 3 WHERE nr = 2",
    "INSERT IGNORE INTO dyno.shop VALUES (1, 1)",
]
COUNTED = ("exec_count", "total_latency", "rows_examined", "rows_affected", "tmp_tables")
Row = dict[str, str | None]


@pytest.fixture
def server(kit_parts: KitParts) -> Iterator[KitServer]:
    """One that collects when it is told, once before and once after some work."""
    server = kit_parts.hold("history")
    server.ask("ALTER EVENT ps_history.snapshot_performance_schema DISABLE")
    server.ask("CALL ps_history.collect()")
    server.ask(*WORK, "CALL ps_history.collect()")
    yield server
    server.ask("DROP TABLE dyno.shop")


def report(server: KitServer, call: str, name: str) -> dict[tuple[str | None, ...], Row]:
    """The rows that `sys_history` answers, by their keys."""
    (text,) = server.ask(f"SELECT as_of_sql FROM sys_history.reports WHERE name = '{name}'")[0]
    columns = server.ask(
        f"CREATE TABLE dyno.columns_of AS {str(text).replace('{until}', '2000-01-01')}",
        "SHOW COLUMNS FROM dyno.columns_of",
    )
    server.ask("DROP TABLE dyno.columns_of")
    rows = server.ask("SET time_zone = '+00:00'", f"CALL sys_history.{call.format(name)}")
    return by_key(name, [str(row[0]).lower() for row in columns], rows)


def by_key(
    name: str, columns: list[str], rows: list[list[str | None]]
) -> dict[tuple[str | None, ...], Row]:
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    keyed = {tuple(row[key] for key in KEYS[name]): row for row in found}
    assert len(keyed) == len(found), name
    return keyed


def same(column: str, mine: str | None, its: str | None) -> bool:
    """The server makes its averages in whole units of its timers, 1 us at most; others are rounded
    otherwise by some views.
    """
    rounding = 1e6 if column == "avg_latency" else 0.01
    try:
        return abs(float(mine or 0) - float(its or 0)) <= rounding
    except ValueError:
        return mine == its


@pytest.fixture
def with_sys(server: KitServer) -> Iterator[KitServer]:
    """With the sys schema, which MySQL 5.6 has not."""
    made = not server.ask("SHOW DATABASES LIKE 'sys'")
    if made:
        server.ask(*sys_schema(server))
    yield server
    if made:
        server.ask("DROP DATABASE sys")


@pytest.mark.usefixtures("installed_anew")
@pytest.mark.parametrize("kit_parts", WITH_SYS, indirect=True)
def test_reports_are_the_views_of_the_server_while_nothing_counts(with_sys: KitServer) -> None:
    server = with_sys
    names = [str(name) for (name,) in server.ask("SELECT name FROM sys_history.reports")]
    assert set(names) == set(KEYS)
    # a table that is open while nothing counts loses its counters as it is closed
    server.ask(STAGES.format("YES"), *WORK[2:-1], "FLUSH TABLES", FREEZE.format("NO"))
    try:
        server.ask("CALL ps_history.collect()")
        for name in set(names) - WITHOUT.keys():
            check_report(server, name)
    finally:
        server.ask(FREEZE.format("YES"), STAGES.format("NO"))


def check_report(server: KitServer, name: str) -> None:
    """Holds each row against the view's; what is only there, nothing was counted of."""
    ours = report(server, "as_of(NULL, '{}')", name)
    view = f"sys.`x${name}`"
    columns = [str(row[0]).lower() for row in server.ask(f"SHOW COLUMNS FROM {view}")]
    rows = server.ask("SET time_zone = '+00:00'", f"SELECT * FROM {view}")
    # MySQL 8.0 has a redo log's file once for each name that it had; ours adds them up
    places = [columns.index(it) for it in KEYS[name]]
    times = Counter(tuple(row[it] for it in places) for row in rows)
    twice = {key for key, n in times.items() if n > 1}
    rows = [row for row in rows if tuple(row[it] for it in places) not in twice]
    theirs = by_key(name, columns, rows)
    if not name.startswith("memory_") or counts_memory(server):
        assert ours.keys() - twice, name
    left_out = {"max_latency"} if name in LONGEST_ADDED_UP else set()
    for key, mine in ours.items():
        if key[0] == "ps_history" or key in twice:
            continue  # whose files are left out
        its = theirs[key] | once_for_each(server, name, key, theirs[key])
        unlike = {
            it: (mine[it], its[it])
            for it in its
            if it not in MOVING | left_out and not same(it, mine[it], its[it])
        }
        assert not unlike, (name, key, unlike)
    latency = next((it for it in columns if it.endswith(("latency", "allocated"))), "total")
    for key in theirs.keys() - ours.keys():
        # of memory that nothing was counted of some is freed
        own = "/ps_history/" in str(key[0]) or name.startswith("memory_")
        assert own or float(theirs[key][latency] or 0) == 0, (name, key)


def counts_memory(server: KitServer) -> bool:
    """MySQL 5.6 does not, and MariaDB where it is told to."""
    if server.is_mysql_5:
        return False
    counted = "SELECT SUM(count_alloc) FROM performance_schema.memory_summary_by_user_by_event_name"
    return server.one(counted) != "0"


def once_for_each(server: KitServer, name: str, key: tuple[str | None, ...], its: Row) -> Row:
    """The views host_summary and user_summary count all once for each account of a host or user."""
    if name not in ("host_summary", "user_summary"):
        return {}
    whose = name.partition("_")[0]
    accounts = int(
        server.one(
            "SELECT COUNT(*) FROM performance_schema.accounts"
            f" WHERE IFNULL({whose}, 'background') = '{key[0]}'"
        )
        or 1
    )
    summed = ("statements", "statement_latency", "table_scans", "file_ios", "file_io_latency")
    return {it: str(int(float(its[it] or 0)) // accounts) for it in summed}


def test_every_report_answers_as_of_a_time_and_between_two(server: KitServer) -> None:
    # by versions and settings
    some = ("_stages", "_warnings", "_temp_tables", "_lost_instrumentation", "_unused_indexes")
    lacking = ("metrics",) if server.is_mysql_5 else ()
    lacking = lacking if counts_memory(server) else ("memory_", *lacking)
    for name in KEYS:
        server.ask(f"CALL sys_history.as_of(NULL, '{name}')")
        rows = server.ask(f"CALL sys_history.diff({FIRST}, NULL, '{name}')")
        assert rows or name.endswith(some) or name.startswith(lacking), name


@pytest.mark.usefixtures("installed_anew")
def test_what_was_counted_between_collections_adds_up_to_the_counters(server: KitServer) -> None:
    again = [it for it in WORK if not it.startswith(("CREATE", "INSERT INTO"))]
    server.ask(*again, *again, "CALL ps_history.collect()")
    (first,), (middle,), (last,) = server.ask(
        "SELECT ts FROM (SELECT ts FROM ps_history.psh_collections ORDER BY ts DESC LIMIT 3) a"
        " ORDER BY ts"
    )
    name = "statement_analysis"
    spans = ((first, middle), (middle, last), (first, last))
    one, two, both = (report(server, f"diff('{a}', '{b}', '{{}}')", name) for a, b in spans)
    before, after = (report(server, f"as_of('{it}', '{{}}')", name) for it in (first, last))
    assert both.keys() == one.keys() | two.keys()
    for key, row in both.items():
        for column in COUNTED:
            parts = sum(int(it[key][column] or 0) for it in (one, two) if key in it)
            counters = [int(it[key][column] or 0) if key in it else 0 for it in (before, after)]
            grown = counters[1] - counters[0]
            assert int(row[column] or 0) == parts == grown, (key, column)
    full = [row for row in both.values() if "`nr` +" in str(row["query"])]
    assert [row["exec_count"] for row in full] == ["15"]


@pytest.mark.usefixtures("installed_anew")
def test_status_variables_grow_and_fall_by_what_is_between(server: KitServer) -> None:
    if server.is_mysql_5:
        pytest.skip("its performance_schema has no status variables")
    gone = "FROM ps_history.global_status WHERE variable_name"
    last = "ts = (SELECT MAX(ts) FROM ps_history.psh_collections)"
    # what fell to 0 has no row; what a server has lost is seldom so, and may be more than this
    server.ask(
        f"DELETE {gone} = 'Open_tables' AND {last}",
        "UPDATE ps_history.global_status SET variable_name = 'Performance_schema_digest_lost',"
        f" variable_value = '3' WHERE variable_name = 'Queries' AND {last}",
    )
    before, after = (report(server, f"as_of({it}, '{{}}')", "metrics") for it in (FIRST, "NULL"))
    grown = report(server, f"diff({FIRST}, NULL, '{{}}')", "metrics")
    value = "variable_value"
    for key in before.keys() | after.keys():
        first, now = (str(it.get(key, {value: "0"})[value]) for it in (before, after))
        if all(re.fullmatch("-?[0-9]{1,18}", it) for it in (first, now)):
            assert int(grown.get(key, {value: "0"})[value] or 0) == int(now) - int(first), key
        else:
            assert grown[key][value] == now
    assert int(grown["open_tables",][value] or 0) < 0
    lost = "ps_check_lost_instrumentation"
    told = server.ask(f"CALL sys_history.as_of(NULL, '{lost}')")
    assert ["Performance_schema_digest_lost", "3"] in told
    assert all(str(name).endswith("_lost") and value != "0" for name, value in told)


@pytest.mark.usefixtures("installed_anew")
def test_an_index_that_nothing_used_is_told(server: KitServer) -> None:
    server.ask(
        "ALTER TABLE dyno.shop ADD KEY idle (kind, nr)",
        "SELECT kind FROM dyno.shop FORCE INDEX (kind) WHERE kind = 1",
        "CALL ps_history.collect()",
    )
    indexes = ("as_of(NULL, '{}')", f"diff({FIRST}, NULL, '{{}}')")
    for call in indexes:
        found = report(server, call, "schema_unused_indexes")
        assert [key[2] for key in found if key[1] == "shop"] == ["idle"], call


@pytest.mark.usefixtures("installed_anew")
def test_a_table_that_was_emptied_counts_from_nothing(server: KitServer) -> None:
    count = WORK[2]
    server.ask(
        "TRUNCATE TABLE performance_schema.events_statements_summary_by_digest", *[count] * 2
    )
    server.ask("CALL ps_history.collect()")
    found = report(server, f"diff({FIRST}, NULL, '{{}}')", "statement_analysis")
    (row,) = [row for row in found.values() if "`nr` +" in str(row["query"])]
    assert row["exec_count"] == "7"


def test_a_restart_of_the_server_is_a_reset() -> None:
    engine = find_engine("mariadb", driver.ask)
    program = engine.program("debian", {}, lambda _: None)
    with tempfile.TemporaryDirectory(prefix="dyno-test-", dir="/var/tmp") as folder:
        # the server's user is not ours, and has to pass through
        Path(folder).chmod(0o755)
        home = Path(folder) / "home"
        home.mkdir()
        running = engine.start(program, home, SETTINGS)
        try:
            server = KitServer("mariadb@debian", running, home)
            assert server.kit("install", "history") == 0
            server.ask("CALL ps_history.set_collect_interval(86400)", "CALL ps_history.collect()")
            server.ask(*WORK, "CALL ps_history.collect()")
            handle: Any = running.handle
            os.kill(handle.process.pid, signal.SIGKILL)
            engine.stop(running)
            running = engine.start(program, home, SETTINGS)
            server = KitServer("mariadb@debian", running, home)
            server.ask(*[WORK[2]] * 4, "CALL ps_history.collect()")
            # the mark of a start goes on a replica, too, as its source restarts
            again = ["DELETE FROM ps_history.psh_boot", "CALL ps_history.collect()"]
            server.ask("DO SLEEP(2.5)", again[1], *again)
            rows = server.ask(
                "SELECT COUNT(DISTINCT server_start), COUNT(*) FROM ps_history.psh_collections"
            )
            found = report(server, f"diff({FIRST}, NULL, '{{}}')", "statement_analysis")
        finally:
            engine.stop(running)
    assert rows[0][0] == "2"
    (row,) = [row for row in found.values() if "`nr` +" in str(row["query"])]
    assert row["exec_count"] == "9"


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("as_of(NULL, 'nothing')", "no such report"),
        ("as_of('2001-01-01', 'host_summary')", "nothing was collected until then"),
        ("diff('2001-01-01', NULL, 'host_summary')", "nothing was collected until then"),
        ("diff(NULL, NULL, 'host_summary')", "nothing was collected between"),
        ("diff(NULL, '2001-01-01', 'host_summary')", "nothing was collected until then"),
    ],
)
def test_what_cannot_be_told_is_refused(server: KitServer, call: str, why: str) -> None:
    with pytest.raises(TrialFailed, match=why):
        server.ask(f"CALL sys_history.{call}")


def test_whoever_may_read_and_execute_asks(server: KitServer) -> None:
    server.ask(
        "CREATE USER 'weak'@'localhost' IDENTIFIED BY 'Weak-1'",
        "GRANT SELECT, EXECUTE ON sys_history.* TO 'weak'@'localhost'",
    )
    weak = {"user": "weak", "password": "Weak-1", "database": "sys_history"}
    try:
        with pytest.raises(TrialFailed, match="denied"):
            server.ask("CALL sys_history.as_of(NULL, 'user_summary')", **weak)
        server.ask("GRANT SELECT ON ps_history.* TO 'weak'@'localhost'")
        assert server.ask("CALL sys_history.as_of(NULL, 'user_summary')", **weak)
        with pytest.raises(TrialFailed, match="denied"):
            server.ask("CALL ps_history.collect()", **weak)
    finally:
        server.ask("DROP USER 'weak'@'localhost'")
