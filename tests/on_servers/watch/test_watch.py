"""`dyno watch` on real servers: what it records is what they count, through restarts and kills."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import private_servers
import pytest
from kit_servers import VERSIONS, WITH_SYS, WITHOUT_SYS, KitServer, serving, sys_schema

from dyno import driver
from dyno.cli import run_words
from dyno.driver.plan import Session
from dyno.engines import find_engine
from dyno.errors import TrialFailed, UsageError
from dyno.servers.watch import servers, store
from dyno.servers.watch.reading import WatchRecord, list_reports
from dyno.servers.watch.recorder import Recorder, RecorderOptions

pytestmark = [pytest.mark.timeout(300)]

#: Reports that have no view of the server's to be held against, and why.
WITHOUT = {
    "processlist": "sessions of a moment",
    "metrics": "a status variable moves when it is asked",
    "schema_unused_indexes": "the view leaves out unique indexes",
    "memory_global_total": "memory moves when it is asked",
    "memory_global_by_current_bytes": "memory moves when it is asked",
    "ps_check_lost_instrumentation": "the view has no twin in plain numbers",
}
#: Views of the schema, of a moment, of single threads (docs/guides/kit/watch.md).
NOT_OVER_TIME = {
    *("innodb_buffer_stats_by_schema", "innodb_buffer_stats_by_table", "innodb_lock_waits"),
    *("io_by_thread_by_latency", "latest_file_io", "memory_by_thread_by_current_bytes"),
    *("schema_auto_increment_columns", "schema_object_overview", "schema_redundant_indexes"),
    *("schema_table_lock_waits", "schema_table_statistics_with_buffer", "session"),
    *("session_ssl_status", "version", "privileges_by_table_by_level"),
}
#: Where a view is wrong, and ours is not.
DEVIATES = {
    # the view adds the longest latencies up
    "user_summary_by_statement_latency": {"max_latency"},
}
#: What moves although the counters stand still.
MOVING = {"current_memory", "total_memory_allocated", "current_connections", "total_connections"}
WORK = [
    "CREATE DATABASE shop",
    "CREATE TABLE shop.item (id INT PRIMARY KEY, kind INT, name VARCHAR(20), KEY kind (kind))",
    "INSERT INTO shop.item SELECT seq, seq % 7, CONCAT('n', seq) FROM numbers.n",
    *["SELECT COUNT(*) FROM shop.item WHERE name LIKE 'n1%'"] * 3,
    *[f"SELECT * FROM shop.item WHERE kind = {n}" for n in range(5)],
    "SELECT name, COUNT(*) FROM shop.item GROUP BY name ORDER BY name DESC",
    "UPDATE shop.item SET name = 'x' WHERE kind = 3",
    "INSERT IGNORE INTO shop.item VALUES (1, 1, 'there')",
]


@pytest.fixture(scope="module")
def duckdb() -> Session:
    return store.open_library(driver.ask, lambda _: None)


@pytest.fixture(scope="module", params=VERSIONS)
def server(request: pytest.FixtureRequest) -> Iterator[KitServer]:
    # room for 20 files only, so that something is lost
    few = {"performance_schema_max_file_instances": "20"}
    with serving(str(request.param), performance_schema="ON", **few) as made:
        # MySQL 5.6 has none
        if not (made.is_mysql_5 or made.ask("SHOW DATABASES LIKE 'sys'")):
            made.ask(*sys_schema(made))
        made.ask("CREATE DATABASE numbers")
        values = ", ".join(f"({n})" for n in range(1, 301))
        made.ask("CREATE TABLE numbers.n (seq INT)", f"INSERT INTO numbers.n VALUES {values}")
        yield made


@contextmanager
def recording(
    url: str, folder: Path, duckdb: Session, options: RecorderOptions | None = None
) -> Iterator[Recorder]:
    """A recorder that takes a sample when it is told to."""
    watched = servers.reach_server(driver.ask, url)
    with store.open_folder(folder, watched.kind, watched.name), driver.Conversation(60) as ask:
        writer = store.WatchStore(folder, driver.ask, duckdb)
        recorder = Recorder(ask, watched, writer, options or RecorderOptions(), lambda _: None)
        recorder.sample()
        yield recorder
        recorder.sample()
        recorder.flush()


def opened(folder: Path, duckdb: Session) -> WatchRecord:
    return WatchRecord(folder, driver.ask, duckdb)


def rows_of(
    record: WatchRecord, report: str, since: datetime | None = None
) -> list[dict[str, str]]:
    span = record.find_span(datetime.now(UTC), since)
    answer = record.ask(record.find_report(report), span)
    return [
        {name.lower(): str(it) for name, it in zip(answer.columns, row, strict=True)}
        for row in answer.rows
    ]


def same(column: str, ours: str, theirs: str) -> bool:
    """Numbers with the servers' own rounding: four digits of a quotient.

    An average time is a whole number of its timer's units: nanoseconds, or cycles, which are
    shorter. The views' times are picoseconds.
    """
    mine, its = number(ours), number(theirs)
    if mine is None or its is None:
        return ours == theirs
    unit = 1000 if column == "avg_latency" else 0.011
    return math.isclose(mine, its, rel_tol=1e-3, abs_tol=unit)


def freeze(server: KitServer) -> None:
    server.ask(
        "UPDATE performance_schema.setup_consumers SET ENABLED = 'NO'"
        " WHERE NAME = 'global_instrumentation'"
    )
    wait_for_counts(server)


def wait_for_counts(server: KitServer) -> None:
    """Wait for the end of all other sessions: a statement is counted a moment after its answer."""
    sessions = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'root'"
    until = datetime.now(UTC) + timedelta(seconds=20)
    while int(server.one(sessions) or 0) > 2:
        assert datetime.now(UTC) < until


def thaw(server: KitServer) -> None:
    server.ask(
        "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES'"
        " WHERE NAME = 'global_instrumentation'"
    )


@pytest.mark.parametrize("server", WITH_SYS, indirect=True)
def test_as_of_is_what_the_sys_views_say_of_frozen_counters(
    server: KitServer, tmp_path: Path, duckdb: Session
) -> None:
    with recording(server.url, tmp_path, duckdb) as recorder:
        server.ask(*WORK)
        recorder.sample()
        server.ask("DELETE FROM shop.item WHERE kind = 2", "DROP DATABASE shop")
        freeze(server)
        # not all sources are asked in each sample
        recorder._anew = True
    try:
        record = opened(tmp_path, duckdb)
        for report in list_reports("mysql").keys() - WITHOUT:
            check_report(server, record, report)
    finally:
        thaw(server)


@pytest.mark.parametrize("server", WITH_SYS, indirect=True)
def test_every_view_of_the_server_is_a_report_or_does_not_make_sense_over_time(
    server: KitServer,
) -> None:
    views = server.ask(
        "SELECT table_name FROM information_schema.views WHERE table_schema = 'sys'"
        " AND table_name NOT LIKE 'x$%'"
    )
    assert {str(name) for (name,) in views} - list_reports("mysql").keys() <= NOT_OVER_TIME


@pytest.mark.parametrize("server", WITHOUT_SYS, indirect=True)
def test_as_of_is_what_a_server_without_the_views_has_counted(
    server: KitServer, tmp_path: Path, duckdb: Session
) -> None:
    with recording(server.url, tmp_path, duckdb) as recorder:
        since = datetime.now(UTC)
        server.ask(*WORK, "DROP DATABASE shop")
        recorder.sample()
        freeze(server)
        recorder._anew = True
    try:
        record = opened(tmp_path, duckdb)
        for report in list_reports("mysql"):
            rows_of(record, report)
            rows_of(record, report, since)
        tables = {
            ("io_global_by_file_by_bytes", "file", "total"): "SELECT file_name,"
            " sum_number_of_bytes_read + sum_number_of_bytes_write"
            " FROM performance_schema.file_summary_by_instance",
            ("io_global_by_wait_by_latency", "event_name", "total_latency"): "SELECT"
            " SUBSTRING(event_name, 14), sum_timer_wait"
            " FROM performance_schema.file_summary_by_event_name WHERE count_star > 0",
            ("waits_global_by_latency", "events", "total"): "SELECT event_name, count_star FROM"
            " performance_schema.events_waits_summary_global_by_event_name"
            " WHERE sum_timer_wait > 0 AND event_name <> 'idle'",
        }
        for (report, key, value), asked in tables.items():
            ours = {it[key]: float(it[value]) for it in rows_of(record, report)}
            theirs = {str(name): float(number or 0) for name, number in server.ask(asked)}
            assert ours
            assert ours == {name: theirs[name] for name in ours}, report
        assert grown(record, None) == counters(server)
        assert {it["cpu_latency"] for it in rows_of(record, "statement_analysis")} == {"None"}
    finally:
        thaw(server)


def test_what_a_server_had_no_room_to_count_is_told(
    server: KitServer, tmp_path: Path, duckdb: Session
) -> None:
    schema = "performance" if server.is_mysql_8 else "information"
    asked = (
        f"SELECT LOWER(variable_name), variable_value FROM {schema}_schema.global_status"
        " WHERE variable_name LIKE 'perf%lost' AND variable_value > 0"
    )
    before = {str(name): int(lost or 0) for name, lost in server.ask(asked)}
    with recording(server.url, tmp_path, duckdb):
        pass
    after = {str(name): int(lost or 0) for name, lost in server.ask(asked)}
    rows = rows_of(opened(tmp_path, duckdb), "ps_check_lost_instrumentation")
    found = {it["variable_name"]: int(it["variable_value"]) for it in rows}
    assert found.keys() == before.keys() == after.keys() != set()
    assert all(before[name] <= lost <= after[name] for name, lost in found.items())


def test_a_watcher_locks_no_table(server: KitServer, tmp_path: Path, duckdb: Session) -> None:
    server.ask("SET GLOBAL autocommit = 0")
    try:
        with recording(server.url, tmp_path, duckdb):
            server.ask(
                "SET SESSION lock_wait_timeout = 2",
                "TRUNCATE performance_schema.events_waits_summary_global_by_event_name",
            )
    finally:
        server.ask("SET GLOBAL autocommit = 1")


def test_a_server_tells_one_row_of_each_key(server: KitServer) -> None:
    for each in servers.reach_server(driver.ask, server.url).questions:
        if keys := len(each.source.keys):
            told = [tuple(row[:keys]) for row in server.ask(each.whole)]
            assert len(set(told)) == len(told), each.source.name


def counters(server: KitServer) -> dict[str, tuple[int, int]]:
    """What the server has counted of each statement, by its text."""
    rows = server.ask(
        "SELECT digest_text, SUM(count_star), SUM(sum_rows_sent) FROM"
        " performance_schema.events_statements_summary_by_digest GROUP BY 1"
    )
    return {str(text).strip(): (int(n or 0), int(sent or 0)) for text, n, sent in rows}


def grown(record: WatchRecord, since: datetime | None) -> dict[str, tuple[int, int]]:
    """What the record says that they grew by, or have counted."""
    found: dict[str, tuple[int, int]] = {}
    for row in rows_of(record, "statement_analysis", since):
        text = row["query"].strip()
        n, sent = found.get(text, (0, 0))
        found[text] = n + int(row["exec_count"]), sent + int(row["rows_sent"])
    return found


def test_changes_add_up_to_the_counters(server: KitServer, tmp_path: Path, duckdb: Session) -> None:
    with recording(server.url, tmp_path, duckdb) as recorder:
        before, since = counters(server), datetime.now(UTC)
        for _ in range(3):
            server.ask(*WORK, "DROP DATABASE shop")
            recorder.sample()
            recorder.flush()
        after = counters(server)
    record = opened(tmp_path, duckdb)
    found = grown(record, since)
    selects = [text for text in after if "`item`" in text and "LIKE" in text]
    assert selects
    for text in selects:
        (n, sent), (n0, sent0) = after[text], before.get(text, (0, 0))
        assert found[text] == (n - n0, sent - sent0) == (9, 9)


def test_a_table_of_counters_that_is_emptied_is_a_reset(
    server: KitServer, tmp_path: Path, duckdb: Session
) -> None:
    # where times are in whole seconds, a row that is born again in the same one must count less
    before = 20 if server.is_mysql_8 else 50
    server.ask(*[f"SELECT {n} + {n}" for n in range(before)])
    with recording(server.url, tmp_path, duckdb) as recorder:
        since = datetime.now(UTC)
        server.ask("TRUNCATE performance_schema.events_statements_summary_by_digest")
        server.ask(*[f"SELECT {n} + {n}" for n in range(30)])
        recorder.sample()
        server.ask("SELECT 1 + 1")
        wait_for_counts(server)
    record = opened(tmp_path, duckdb)
    assert grown(record, since)["SELECT ? + ?"] == (31, 31)
    now = rows_of(record, "statement_analysis")
    assert {it["query"].strip(): it["exec_count"] for it in now}["SELECT ? + ?"] == "31"


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that the server's user, who is not ours, may pass through to."""
    with tempfile.TemporaryDirectory(prefix="dyno-test-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        (Path(folder) / "home").mkdir()
        yield Path(folder) / "home"


def test_a_restart_of_the_server_is_a_reset_and_no_fall(
    home: Path, tmp_path: Path, duckdb: Session
) -> None:
    engine = find_engine("mariadb", driver.ask)
    program = engine.program("debian", {}, lambda _: None)
    folder = tmp_path / "record"
    settings = {"performance_schema": "ON"}
    first = engine.start(program, home, settings)
    try:
        one = KitServer("mariadb@debian", first, tmp_path)
        with recording(one.url, folder, duckdb) as recorder:
            one.ask(*["SELECT 1 + 1"] * 50)
            recorder.sample()
            since = datetime.now(UTC)
            assert recorder._uptime
            # uptimes are in whole seconds, and this server's is short
            recorder._uptime.up_s += 1000
            engine.stop(first)
            with pytest.raises(TrialFailed):
                recorder.sample()
            first = engine.start(program, home, settings)
            recorder._connect = True
            two = KitServer("mariadb@debian", first, tmp_path)
            object.__setattr__(
                recorder.watched, "session", servers.reach_server(driver.ask, two.url).session
            )
            two.ask(*["SELECT 1 + 1"] * 7)
            recorder.sample()
        record = opened(folder, duckdb)
        assert record.find_span(datetime.now(UTC), since).restarts == 1
        assert grown(record, since)["SELECT ? + ?"] == (7, 7)
        counts = {
            row["variable_name"]: float(row["variable_value"])
            for row in rows_of(record, "metrics", since)
            if row["type"] == "Global Status" and row["variable_name"].startswith("com_")
        }
        assert counts["com_select"] >= 7
        assert min(counts.values()) >= 0
    finally:
        engine.stop(first)


def test_a_kill_leaves_a_record_that_can_be_read_and_gone_on_with(
    server: KitServer, tmp_path: Path, duckdb: Session
) -> None:
    words = [sys.executable, "-m", "dyno.cli", "watch", "--dsn", server.url]
    words += ["--into", str(tmp_path / "r"), "--every", "20ms", "--flush", "100ms"]
    for _ in range(3):
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            while not process.stdout.readline().startswith("recording"):
                assert process.poll() is None
            # a server on the same machine comes first
            assert os.getpriority(os.PRIO_PROCESS, process.pid) > os.nice(0)
            wait_for_parts(tmp_path / "r", store.measure_size_bytes(tmp_path / "r"))
            os.kill(process.pid, signal.SIGKILL)
        record = opened(tmp_path / "r", duckdb)
        assert rows_of(record, "statement_analysis")
        (tmp_path / "r" / store.ASIDE).mkdir(exist_ok=True)
    with recording(server.url, tmp_path / "r", duckdb):
        pass
    assert not (tmp_path / "r" / store.ASIDE).exists()


def wait_for_parts(folder: Path, more_than: int) -> None:
    until = datetime.now(UTC) + timedelta(seconds=60)
    while store.measure_size_bytes(folder) <= more_than:
        assert datetime.now(UTC) < until


def test_every_command_reads_a_record(
    server: KitServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_words(["watch", "--dsn", server.url, "--for", "1s", "--every", "20ms"]) == 0
    assert "samples" in capsys.readouterr().out
    assert run_words(["watch", "as-of", "now", "host_summary", "--json"]) == 0
    assert "localhost" in {row["host"] for row in json.loads(capsys.readouterr().out)}
    assert run_words(["watch", "as-of", "now", "no_such_report"]) == 64
    assert run_words(["watch", "as-of", "2000-01-01", "metrics"]) == 64
    assert "nothing is recorded before" in capsys.readouterr().err
    for words in (["top"], ["plot", "1h", "now"], ["as-of", "now"], ["as-of", "now", "metrics"]):
        assert run_words(["watch", *words]) == 0
    assert (tmp_path / "watched.html").stat().st_size > 10_000


def test_what_keeps_a_server_from_being_recorded_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], server: KitServer
) -> None:
    server.ask("CREATE USER 'weak'@'localhost' IDENTIFIED BY 'Weak-1'")
    weak = server.url_of("weak", "Weak-1")
    assert run_words(["watch", "--dsn", weak, "--into", str(tmp_path / "w")]) == 64
    said = capsys.readouterr().err
    assert "GRANT SELECT ON performance_schema.*" in said and "Weak-1" not in said
    server.ask("DROP USER 'weak'@'localhost'")
    (tmp_path / "other").write_text("")
    assert run_words(["watch", "--dsn", server.url, "--into", str(tmp_path)]) == 64
    assert "holds other files than a record" in capsys.readouterr().err


def test_performance_schema_off_is_said() -> None:
    off = serving("mariadb@debian", performance_schema="OFF")
    with off as server, pytest.raises(UsageError, match="is off") as refused:
        servers.reach_server(driver.ask, server.url)
    assert "performance_schema = ON" in refused.value.hint


def check_report(server: KitServer, record: WatchRecord, report: str) -> None:
    view = f"sys.`x${report}`"
    columns = [str(row[0]).lower() for row in server.ask(f"SHOW COLUMNS FROM {view}")]
    theirs = [
        dict(zip(columns, map(str, row), strict=True))
        for row in server.ask("SET time_zone = '+00:00'", f"SELECT * FROM {view}")
    ]
    ours = rows_of(record, report)
    left_out = MOVING | DEVIATES.get(report, set())
    shared = [it for it in columns if it not in left_out and not it.startswith("current_")]
    assert not ours or set(shared) <= set(ours[0]), report
    keys = [it for it in shared if any(number(row[it]) is None for row in theirs)]

    def by_key(row: dict[str, str]) -> list[object]:
        numbers = [number(row[it]) or 0.0 for it in shared if it not in keys]
        return [*(row[it] for it in keys), *numbers]

    for mine, its in zip(sorted(ours, key=by_key), sorted(theirs, key=by_key), strict=True):
        unlike = {it: (mine[it], its[it]) for it in shared if not same(it, mine[it], its[it])}
        assert not unlike, (report, unlike)


def number(text: str) -> float | None:
    """A field's number; that of NULL is 0."""
    try:
        return 0.0 if text == "None" else float(text)
    except ValueError:
        return None


def test_a_postgres_is_recorded_behind_the_same_door(tmp_path: Path, duckdb: Session) -> None:
    settings = {"shared_preload_libraries": "pg_stat_statements"}
    with private_servers.serving("postgres-18", **settings) as server:
        socket = quote(str(server.session["host"]).rpartition("/")[0], safe="")
        url = f"postgres://{private_servers.login(server.session)}@{socket}/dyno"

        def ask(*statements: str) -> list[list[str | None]]:
            return driver.ask(server.session, statements, 60)[-1]

        ask("CREATE EXTENSION pg_stat_statements")
        with recording(url, tmp_path, duckdb) as recorder:
            since = datetime.now(UTC)
            ask("CREATE TABLE t (n int)", "INSERT INTO t SELECT generate_series(1, 1000)")
            # a session tells what it did a moment after its end
            until = since + timedelta(seconds=30)
            while ask("SELECT n_tup_ins FROM pg_stat_user_tables") != [["1000"]]:
                assert datetime.now(UTC) < until
            recorder._anew = True
        record = opened(tmp_path, duckdb)
        assert [(it["relname"], it["n_tup_ins"]) for it in rows_of(record, "tables", since)] == [
            ("t", "1000")
        ]
        statements = {it["query"]: it for it in rows_of(record, "statements", since)}
        assert statements["INSERT INTO t SELECT generate_series($1, $2)"]["rows"] == "1000"
        assert not [text for text in statements if "query_key" in text or "chr(" in text]
        assert int(rows_of(record, "databases", since)[0]["xact_commit"]) >= 2
        for report in list_reports("postgres"):
            rows_of(record, report)
            rows_of(record, report, since)
        for plot in list_reports("postgres", "plot").values():
            record.read_curves(plot, record.find_span(datetime.now(UTC), since))
