"""The part `history` in real servers: what it collects is what they count, bounded, and gone."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from kit_parts import KitParts
from kit_servers import BETWEEN, KitServer, check_page, serving
from repository import ROOT

import dyno
from dyno import driver
from dyno.errors import DynoError, TrialFailed
from dyno.servers.kit import history
from dyno.servers.kit.collected import read_tables as tables_of
from dyno.servers.kit.rights import GRANTS
from dyno.servers.kit.verbs import ABSENT, DAMAGED, INSTALLED, read_status

pytestmark = [pytest.mark.timeout(300)]

PAGE = ROOT / "docs/guides/kit/history.md"
#: What a test waits for something to become so, at most.
PATIENCE_S = 60.0
DIGESTS = "events_statements_summary_by_digest"
EVENT = "ps_history.snapshot_performance_schema"
LAST = "(SELECT MAX(ts) FROM ps_history.psh_collections)"
RIGHTS = (
    "CREATE, DROP, ALTER, INDEX, SELECT, INSERT, UPDATE, DELETE, CREATE VIEW, CREATE ROUTINE,"
    " ALTER ROUTINE, EXECUTE, EVENT"
)
READING = "CREATE, DROP, SELECT, INSERT, UPDATE, CREATE ROUTINE, ALTER ROUTINE, EXECUTE"
#: A table's two names, there and back.
AWAY = (("psh_boot", "psh_away"), ("psh_away", "psh_boot"))
#: What moves while it is read, whatever the consumers say.
MOVING = re.compile(r"global_status|accounts|hosts|users|(memory|socket)_.*|file_.*")


@pytest.fixture
def server(kit_parts: KitParts) -> KitServer:
    """One that collects when it is told only."""
    server = kit_parts.hold("history")
    server.ask(f"ALTER EVENT {EVENT} DISABLE", "CALL ps_history.collect()")
    return server


def collect(server: KitServer) -> str:
    """Collects: the time of it."""
    return str(server.ask("CALL ps_history.collect()", f"SELECT {LAST}")[0][0])


def state(server: KitServer) -> str:
    (found,) = (it.state for it in read_status(server.reached()) if it.part.name == "history")
    return found


def until(server: KitServer, question: str) -> None:
    """Waits for an answer that is not 0."""
    until_s = time.monotonic() + PATIENCE_S
    while server.one(question) == "0":
        assert time.monotonic() < until_s, question
        time.sleep(0.05)


def partitions(server: KitServer) -> dict[str, list[str]]:
    rows = server.ask(
        "SELECT table_name, partition_description FROM information_schema.partitions WHERE"
        " table_schema = 'ps_history' AND partition_name IS NOT NULL"
        " ORDER BY 1, CAST(partition_description AS UNSIGNED)"
    )
    found: dict[str, list[str]] = {}
    for name, bound in rows:
        found.setdefault(str(name), []).append(str(bound))
    return found


@pytest.mark.usefixtures("installed_anew")
def test_the_page_is_as_it_says(server: KitServer) -> None:
    check_page(server, PAGE)


def test_a_collection_is_what_the_tables_hold_while_nothing_counts(server: KitServer) -> None:
    freeze = (
        "UPDATE performance_schema.setup_consumers SET enabled = '{}'"
        " WHERE name = 'global_instrumentation'"
    )
    server.ask(freeze.format("NO"))
    try:
        ts = collect(server)
        compared = 0
        for name, table in tables_of(server.reached()).items():
            if MOVING.fullmatch(name):
                continue
            columns = ", ".join(it.quoted for it in table.columns)
            kept = f"SELECT {columns} FROM ps_history.`{name}` WHERE ts = '{ts}'"
            where = table.collect(server.reached().build_hash).partition(
                " FROM performance_schema."
            )[2]
            there = f"SELECT {columns} FROM performance_schema.{where.partition(' ON DUPLI')[0]}"
            found, wanted = (sorted(map(str, server.ask(it))) for it in (kept, there))
            assert found == wanted, name
            compared += len(found)
    finally:
        server.ask(freeze.format("YES"))
    assert compared > 100


def test_counters_are_exact_and_values_are_left_out(server: KitServer) -> None:
    server.ask("CREATE TABLE dyno.counted (id INT)")
    asked = (
        f"SELECT COALESCE(SUM(count_star), 0) FROM ps_history.{DIGESTS}"
        " WHERE digest_text LIKE '%`counted`%' AND digest_text LIKE 'SELECT%' AND ts = '{}'"
    )
    before = server.one(asked.format(collect(server)))
    server.ask(*[f"SELECT * FROM dyno.counted WHERE id = {n}" for n in range(37)])
    after = server.one(asked.format(collect(server)))
    server.ask("DROP TABLE dyno.counted")
    assert (before, after) == ("0", "37")
    names = server.ask(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'ps_history'"
    )
    assert ["QUERY_SAMPLE_TEXT"] not in names and ["COUNT_STAR"] in names


def test_what_is_collected_is_told_of_each_collection(server: KitServer) -> None:
    first, second = collect(server), collect(server)
    rows = server.ask(
        "SELECT ts, previous_ts, row_count, server_start < ts"
        f" FROM ps_history.psh_collections WHERE ts = '{second}'"
    )
    tables = tables_of(server.reached())
    counts = (f"(SELECT COUNT(*) FROM ps_history.`{it}` WHERE ts = '{second}')" for it in tables)
    total = server.one(f"SELECT {' + '.join(counts)}")
    assert rows == [[second, first, total, "1"]]
    assert server.one("SELECT last_refreshed_at FROM ps_history.psh_last_refresh") == second


@pytest.mark.usefixtures("installed_anew")
def test_the_event_collects_by_itself(server: KitServer) -> None:
    last = collect(server)
    server.ask(f"ALTER EVENT {EVENT} ENABLE")
    assert server.ask("CALL ps_history.set_collection_interval(1)") == [
        ["Updated interval setting"]
    ]
    until(server, f"SELECT COUNT(*) >= 2 FROM ps_history.psh_collections WHERE ts > '{last}'")


@pytest.mark.usefixtures("installed_anew")
def test_what_is_too_old_goes_by_whole_partitions(server: KitServer) -> None:
    collect(server)
    tables = {*tables_of(server.reached()), "psh_collections"}
    found = partitions(server)
    assert found.keys() == tables and len({tuple(it) for it in found.values()}) == 1
    # two old partitions, of which one is older than the period
    ((now,),) = server.ask("SELECT TO_SECONDS(UTC_TIMESTAMP())")
    newest = int(found["psh_collections"][-1])
    old, young = int(str(now)) - 30 * 86400, int(str(now)) - 86400
    for name in tables:
        split = ", ".join(
            f"PARTITION p{bound} VALUES LESS THAN ({bound})" for bound in (old, young, newest)
        )
        server.ask(
            f"TRUNCATE TABLE ps_history.`{name}`",
            f"ALTER TABLE ps_history.`{name}` PARTITION BY RANGE (TO_SECONDS(ts)) ({split})",
        )
    server.ask(
        "INSERT INTO ps_history.psh_collections VALUES"
        " (UTC_TIMESTAMP(6) - INTERVAL 40 DAY, NOW(), NULL, 1, 1),"
        " (UTC_TIMESTAMP(6) - INTERVAL 10 DAY, NOW(), NULL, 1, 1)"
    )
    collect(server)
    assert partitions(server) == {name: [str(young), str(newest)] for name in tables}
    assert server.one("SELECT COUNT(*) FROM ps_history.psh_collections") == "2"
    server.ask("CALL ps_history.cleanup_history('1 HOUR')")
    assert partitions(server) == {name: [str(newest)] for name in tables}
    server.ask("CALL ps_history.auto_cleanup_history()", "CALL ps_history.truncate_tables()")
    assert server.one("SELECT COUNT(*) FROM ps_history.psh_collections") == "0"


@pytest.mark.usefixtures("installed_anew")
def test_what_is_too_much_is_refused(server: KitServer) -> None:
    server.ask("CALL ps_history.set_max_rows(10)")
    with pytest.raises(TrialFailed, match="the history is full"):
        collect(server)
    server.ask("CALL ps_history.truncate_tables()", "CALL ps_history.collect()")


@pytest.mark.usefixtures("installed_anew")
def test_collections_do_not_overlap(server: KitServer) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: collect(server), range(24)))
    rows = server.ask("SELECT ts, previous_ts FROM ps_history.psh_collections ORDER BY ts")
    assert [previous for _, previous in rows[1:]] == [ts for ts, _ in rows[:-1]]
    assert len(rows) >= 25


@pytest.mark.usefixtures("installed_anew")
def test_collections_that_a_reader_stops_are_told_and_go_on_afterwards(server: KitServer) -> None:
    """It reads with locks, and with just the rights of a reader."""
    (reading, *_) = GRANTS
    server.ask("CREATE USER 'reader'@'localhost' IDENTIFIED BY 'Reader-1'")
    server.ask(*reading.list_statements("'reader'@'localhost'"))
    server.ask("UPDATE ps_history.psh_collections SET ts = ts - INTERVAL 1 HOUR")
    user = {"user": "reader", "password": "Reader-1", "database": "ps_history"}
    held = (
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "START TRANSACTION",
        "SELECT COUNT(*) FROM psh_collections",
        "SELECT GET_LOCK('ps_history', 0)",
        "SELECT SLEEP(200)",
    )
    asleep = "FROM information_schema.processlist WHERE info = 'SELECT SLEEP(200)'"
    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(driver.ask, server.engine.session | user, held, 250)
        until(server, f"SELECT COUNT(*) {asleep}")
        with pytest.raises(TrialFailed, match="Lock wait timeout"):
            collect(server)
        (told,) = (it.detail for it in read_status(server.reached()) if it.part.name == "history")
        assert "nothing collected since" in told and "Lock wait timeout" in told
        server.ask(f"KILL {server.one(f'SELECT id {asleep}')}")
        with pytest.raises(DynoError):
            reader.result()
    collect(server)
    (told,) = (it.detail for it in read_status(server.reached()) if it.part.name == "history")
    assert "nothing collected" not in told
    server.ask("DROP USER 'reader'@'localhost'")


def test_a_table_that_is_away_for_a_moment_is_not_damage(server: KitServer) -> None:
    """As those are that MySQL 5.6 alters."""
    hide, show = ("RENAME TABLE ps_history.{} TO ps_history.{}".format(*it) for it in AWAY)
    turn = "UPDATE sys_history.psh_turn SET connection_id = {}"
    own = turn.format("CONNECTION_ID()")
    begin = "INSERT IGNORE INTO sys_history.psh_turn (one) VALUES (1)"
    statements = (begin, own, hide, "DO SLEEP(1)", show, turn.format(0))
    with ThreadPoolExecutor() as pool:
        altering = pool.submit(server.ask, *statements)
        gone = "information_schema.tables WHERE table_name = 'psh_away'"
        until(server, f"SELECT COUNT(*) FROM {gone}")
        assert state(server) == INSTALLED
        altering.result()


@pytest.mark.usefixtures("installed_anew")
def test_the_session_is_as_it_was(server: KitServer) -> None:
    asked = (
        "SELECT @@SESSION.time_zone, @@SESSION.sql_log_bin, instrumented,"
        " (SELECT connection_id FROM sys_history.psh_turn), @psh_command,"
        " @@SESSION.lock_wait_timeout = @@GLOBAL.lock_wait_timeout"
        " FROM performance_schema.threads"
        " WHERE processlist_id = CONNECTION_ID()"
    )
    for last in ("CALL ps_history.collect()", "CALL ps_history.cleanup_history('1 DAY')"):
        rows = server.ask("SET SESSION time_zone = '+05:00'", last, asked)
        assert rows == [["+05:00", "1", "YES", "0", None, "1"]]
    server.ask("DROP TABLE ps_history.accounts")
    for _ in range(2):
        with pytest.raises(TrialFailed, match="accounts"):
            collect(server)


@pytest.mark.parametrize(
    "period", ["NULL", "''", "'2'", "'WEEK'", "'0 DAY'", "'1 DAY; DROP'", "'11 YEAR'"]
)
def test_what_is_no_period_is_refused(server: KitServer, period: str) -> None:
    for procedure in ("set_retention_period", "test_retention_period", "cleanup_history"):
        with pytest.raises(TrialFailed, match="Invalid retention period"):
            server.ask(f"CALL ps_history.{procedure}({period})")


@pytest.mark.usefixtures("installed_anew")
def test_periods_intervals_and_bounds(server: KitServer) -> None:
    for period, seconds in (("2 WEEK", 1209600), ("7200 second", 7200), ("1 MONTH", 2678400)):
        assert server.one(f"CALL ps_history.test_retention_period('{period}')") == str(seconds)
    for call in ("set_collect_interval(0)", "set_collect_interval(NULL)", "set_max_rows(0)"):
        with pytest.raises(TrialFailed, match=r"Interval must be|at least one row"):
            server.ask(f"CALL ps_history.{call}")
    # one that somebody wrote into the table is refused before anything is collected
    count = "SELECT COUNT(*) FROM ps_history.psh_collections"
    before = server.one(count)
    server.ask("UPDATE ps_history.psh_settings SET value = 'x' WHERE variable = 'retention_period'")
    with pytest.raises(TrialFailed, match="Invalid retention period"):
        collect(server)
    assert server.one(count) == before


@pytest.mark.usefixtures("installed_anew")
def test_damage_is_told_and_mended_and_what_was_collected_stays(
    server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    ts, kit = collect(server), server.reached()
    for damage in (
        "DROP PROCEDURE ps_history.psh_clean",
        "DROP EVENT ps_history.snapshot_performance_schema",
        "DROP TABLE ps_history.accounts",
        "DROP TABLE ps_history.psh_boot",
        "DROP VIEW ps_history.psh_last_refresh",
        "DROP TABLE sys_history.reports",
        "DROP PROCEDURE sys_history.diff",
        f"ALTER TABLE ps_history.{DIGESTS} DROP COLUMN sum_errors",
    ):
        server.ask(damage)
        assert not history.is_whole(kit) and history.upgrade(kit)
        assert history.is_whole(kit)
        collect(server)
    server.ask("DROP PROCEDURE ps_history.psh_clean")
    assert state(server) == DAMAGED and server.kit("upgrade") == 0
    assert server.one(f"SELECT COUNT(*) > 0 FROM ps_history.{DIGESTS} WHERE ts = '{ts}'") == "1"
    assert f"history upgraded to {dyno.__version__}" in capsys.readouterr().out
    assert server.kit("upgrade") == 0 and server.kit("install", "history") == 0
    assert "already" in capsys.readouterr().out
    server.ask("UPDATE ps_history.psh_settings SET value = '0.0.1' WHERE variable = 'version'")
    assert server.kit("install", "history") == 64
    assert "dyno kit upgrade" in capsys.readouterr().err
    assert server.kit("upgrade") == 0 and state(server) == INSTALLED


def test_the_rights_that_the_page_names_are_needed_and_enough(
    kit_server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    before = kit_server.inventory()
    kit_server.ask("CREATE USER 'weak'@'localhost' IDENTIFIED BY 'Weak-1'")
    weak = kit_server.url_of("weak", "Weak-1")
    try:
        assert kit_server.kit("install", "history", url=weak) == 64
        said = capsys.readouterr().err
        assert "ps_history" in said and "performance_schema" in said and "EVENT" in said
        kit_server.ask(
            f"GRANT {RIGHTS} ON ps_history.* TO 'weak'@'localhost'",
            f"GRANT {READING} ON sys_history.* TO 'weak'@'localhost'",
            "GRANT SELECT, UPDATE ON performance_schema.* TO 'weak'@'localhost'",
        )
        assert kit_server.kit("install", "history", url=weak) == 0
        until(kit_server, "SELECT COUNT(*) FROM ps_history.psh_collections")
        for word in ("status", "upgrade"):
            capsys.readouterr()
            assert kit_server.kit(word, url=weak) == 64
            assert "it takes SELECT on mysql.func" in capsys.readouterr().err
        user = {"user": "weak", "password": "Weak-1", "database": "ps_history"}
        kit_server.ask("CALL ps_history.collect()", **user)
        assert kit_server.kit("uninstall", "history", url=weak) == 0
    finally:
        kit_server.ask("DROP USER 'weak'@'localhost'")
    assert kit_server.inventory() == before


def test_what_must_be_on_is_told(kit_server: KitServer, capsys: pytest.CaptureFixture[str]) -> None:
    kit_server.ask("SET GLOBAL event_scheduler = OFF")
    try:
        assert kit_server.kit("install", "history") == 64
    finally:
        kit_server.ask("SET GLOBAL event_scheduler = ON")
    assert "event scheduler is OFF" in capsys.readouterr().err
    assert state(kit_server) == ABSENT


def test_a_schema_of_somebody_else_stays(
    kit_server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    kit_server.ask("CREATE DATABASE ps_history", "CREATE TABLE ps_history.accounts (id INT)")
    assert kit_server.kit("install", "history") == 64
    assert kit_server.kit("uninstall", "history") == 64
    assert "dropped by hand" in capsys.readouterr().err
    assert kit_server.ask("SHOW TABLES FROM ps_history") == [["accounts"]]
    kit_server.ask(
        "DROP DATABASE ps_history",
        "CREATE DATABASE sys_history",
        "CREATE TABLE sys_history.theirs (id INT)",
    )
    assert kit_server.kit("install", "history") == 64
    assert "'sys_history' is there already" in capsys.readouterr().err
    assert kit_server.ask("SHOW DATABASES LIKE 'ps_history'") == []
    kit_server.ask("DROP DATABASE sys_history")


def test_a_server_that_does_not_count_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with serving("mariadb@debian", performance_schema="OFF") as server:
        assert server.kit("install", "history") == 64
        said = capsys.readouterr().err
        assert "performance_schema is off" in said and "restart" in said
        assert server.ask("SHOW DATABASES LIKE 'ps_history'") == []


@pytest.mark.parametrize("version", BETWEEN)
def test_nothing_that_is_collected_is_in_the_binary_log(
    version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = f"SHOW {'BINARY LOG' if version.startswith('mysql@9') else 'MASTER'} STATUS"
    with serving(version, log_bin="on") as server:
        server.ask("CREATE USER 'weak'@'localhost' IDENTIFIED BY 'Weak-1'")
        mysql = "SUPER" if server.is_mysql_5 else "SESSION_VARIABLES_ADMIN"
        right = mysql if version.startswith("mysql@") else "BINLOG ADMIN"
        weak = server.url_of("weak", "Weak-1")
        server.ask(
            f"GRANT {RIGHTS} ON ps_history.* TO 'weak'@'localhost'",
            f"GRANT {READING} ON sys_history.* TO 'weak'@'localhost'",
            "GRANT SELECT, UPDATE ON performance_schema.* TO 'weak'@'localhost'",
        )
        assert server.one("SELECT @@GLOBAL.log_bin") == "1"
        assert server.kit("install", "history", url=weak) == 64
        said = capsys.readouterr().err
        assert "out of the binary log" in said and f"GRANT {right} ON" in said
        assert server.ask("SHOW DATABASES LIKE '%_history'") == []
        server.ask(f"GRANT {right} ON *.* TO 'weak'@'localhost'")
        assert server.kit("install", "history", url=weak) == 0
        until(server, "SELECT COUNT(*) FROM ps_history.psh_collections")
        server.ask(f"ALTER EVENT {EVENT} DISABLE")
        before = server.ask(place)[0][:2]
        server.ask("CALL ps_history.collect()", "CALL ps_history.cleanup_history('1 DAY')")
        server.ask("CALL ps_history.truncate_tables()", "CALL ps_history.collect()")
        assert server.ask(place)[0][:2] == before
        server.ask("CREATE TABLE dyno.logged (id INT)")
        assert server.ask(place)[0][:2] != before
