"""Jobs on real servers: run once, in parallel, with the rights of who queued them, never stuck."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from kit_parts import KitParts
from kit_servers import BETWEEN, KitServer, check_page, serving
from repository import ROOT

from dyno import driver
from dyno.engines import Server, find_engine
from dyno.errors import DynoError, TrialFailed

pytestmark = [pytest.mark.timeout(300)]

PAGE = ROOT / "docs/guides/kit/async.md"
#: What a test waits for something to become so, at most.
PATIENCE_S = 60.0
WEAK = {"user": "weak", "password": "Weak-1", "database": "information_schema"}
ENDED = "('SUCCEEDED', 'FAILED', 'CANCELLED', 'TIMED_OUT', 'LOST')"


@pytest.fixture
def server(kit_parts: KitParts) -> KitServer:
    """With jobs for root and for `weak`, who may do nothing else."""
    return kit_parts.hold(
        *("async", "--account", "weak@localhost"),
        before=["CREATE USER 'weak'@'localhost' IDENTIFIED BY 'Weak-1'"],
        after=["DROP USER 'weak'@'localhost'"],
    )


def queue(server: KitServer, *statements: str, **session: object) -> list[int]:
    """The numbers of jobs."""
    calls = ["CALL async.queue('{}')".format(it.replace("'", "''")) for it in statements]
    told = driver.ask(server.engine.session | session, calls, 120)
    return [int(rows[0][0] or 0) for rows in told]


def wait(server: KitServer, number: int, **session: object) -> list[list[str | None]]:
    return server.ask(f"CALL async.wait({number})", **session)


def job(server: KitServer, number: int, *columns: str, account: int = 1) -> Any:
    """Fields of a job; one field by itself."""
    where = f"account = {account} AND q_id = {number}"
    (row,) = server.ask(f"SELECT {', '.join(columns)} FROM async.q WHERE {where}")
    return row[0] if len(columns) == 1 else tuple(row)


def ended(server: KitServer, number: int, account: int = 1) -> Any:
    """The state in which a job ended."""
    where = f"account = {account} AND q_id = {number} AND state IN {ENDED}"
    until(server, f"SELECT COUNT(*) FROM async.q WHERE {where}")
    return job(server, number, "state", account=account)


def running(server: KitServer, number: int, account: int = 1) -> int:
    """The connection of a job that runs."""
    where = f"account = {account} AND q_id = {number} AND state = 'RUNNING'"
    until(server, f"SELECT COUNT(*) FROM async.q WHERE {where}")
    return int(job(server, number, "connection_id", account=account))


def until(server: KitServer, question: str) -> None:
    """Waits for an answer that is not 0."""
    until_s = time.monotonic() + PATIENCE_S
    while server.one(question) == "0":
        assert time.monotonic() < until_s, question
        time.sleep(0.05)


@pytest.mark.usefixtures("installed_anew")
def test_the_examples_of_the_docs_answer_as_they_say(server: KitServer) -> None:
    check_page(server, PAGE)


KINDS: dict[str, list[list[str | None]]] = {
    "DO SLEEP(0.01)": [["SUCCEEDED", "0"]],
    "/* c */ (SELECT 1 AS a)": [["1"]],
    "-- c\n# d\nSELECT 'ä' AS a;": [["ä"]],
    "SELECT 1 INTO @n": [["SUCCEEDED", "1"]],
    "SHOW STATUS": [["SUCCEEDED", "-1"]],
    "CREATE TABLE dyno.made (a int)": [["SUCCEEDED", "0"]],
    "INSERT INTO dyno.made VALUES (1), (2)": [["SUCCEEDED", "2"]],
    "SELECT a FROM dyno.made ORDER BY a DESC": [["2"], ["1"]],
    "DROP TABLE dyno.made": [["SUCCEEDED", "0"]],
}


def test_every_kind_of_statement_runs_and_can_be_waited_for_twice(server: KitServer) -> None:
    for statement, answer in KINDS.items():
        (number,) = queue(server, statement)
        for _ in range(2):
            rows = wait(server, number)
            told = [row[1:] for row in rows] if rows[0][1:2] == ["SUCCEEDED"] else rows
            assert told == answer, statement


def test_an_error_is_told_with_its_state_number_and_text(server: KitServer) -> None:
    numbers = queue(server, "SELECT nothing", "nonsense", "SELECT 1, 1", "")
    for number, errno in zip(numbers, ("1054", "1064", "1060", "1065"), strict=True):
        assert ended(server, number) == "FAILED"
        state, found, text = job(server, number, "sql_state", "errno", "errmsg")
        assert found == errno and len(state) == 5 and text
        with pytest.raises(TrialFailed, match="FAILED: "):
            wait(server, number)
    for strange in ("999999", "NULL"):
        with pytest.raises(TrialFailed, match="Invalid QUERY_NUMBER"):
            server.ask(f"CALL async.wait({strange})")


def test_jobs_run_once_each_and_beside_each_other(server: KitServer) -> None:
    server.ask("CREATE TABLE dyno.tokens (n int)")
    inserts = [f"INSERT INTO dyno.tokens SELECT {n} FROM (SELECT SLEEP(0.2)) s" for n in range(40)]
    for number in queue(server, *inserts):
        wait(server, number)
    counts = server.ask("SELECT n, COUNT(*) FROM dyno.tokens GROUP BY n ORDER BY n")
    server.ask("DROP TABLE dyno.tokens")
    assert counts == [[str(n), "1"] for n in range(40)]
    together = (
        "SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM async.q a JOIN async.q b"
        " ON a.started_on BETWEEN b.started_on AND b.completed_on GROUP BY a.q_id) them"
    )
    assert 2 <= int(server.one(together) or 0) <= 8


@pytest.mark.usefixtures("installed_anew")
def test_a_job_has_the_rights_of_who_queued_it_and_no_more(server: KitServer) -> None:
    who, grant, read, password = queue(
        server,
        "SELECT CURRENT_USER() AS u",
        "GRANT ALL ON *.* TO 'weak'@'localhost'",
        "SELECT COUNT(*) AS n FROM mysql.user",
        "DROP DATABASE dyno",
        **WEAK,
    )
    assert wait(server, who, **WEAK) == [["weak@localhost"]]
    for number in (grant, read, password):
        assert ended(server, number, 2) == "FAILED"
    *_, mine = queue(server, *["SELECT CURRENT_USER() AS u"] * 5)
    assert wait(server, mine) == [["root@localhost"]]
    assert server.ask(f"CALL async.check({mine})", **WEAK) == []
    for call in (
        f"CALL async.wait({mine})",
        f"CALL async.cancel({mine})",
        f"SELECT * FROM async_1.rs_{mine}",
        "SELECT * FROM async.q",
        "CALL async.run_1(1, @a, @b)",
        "CALL async.run_2(1, @a, @b)",
        "CALL async.claimed(2, 1, @a)",
        f"CALL async.look_1(0, {mine}, @a, @b, @c, @d)",
        f"CALL async.check_1(0, {mine})",
        "CALL async.execute_job(1, 1)",
        "CALL async.keep_rows(1, 1)",
        "INSERT INTO async_2.inbox (q_id, sql_text) VALUES (99, 'SELECT 1')",
        "INSERT INTO async_1.inbox (sql_text) VALUES ('SELECT 1')",
        "INSERT INTO async_1.wishes (q_id, wish) VALUES (1, 'FORGET')",
        "SELECT number FROM async_1.pass",
        "UPDATE async_2.pass SET number = 1",
        "UPDATE async_2.inbox SET sql_text = ''",
        "DELETE FROM async_2.wishes",
        "CREATE TABLE async_2.t (a int)",
    ):
        with pytest.raises(TrialFailed):
            server.ask(call, **WEAK)


@pytest.mark.usefixtures("installed_anew")
def test_a_temporary_table_in_the_place_of_the_queue_gives_nobody_more_rights(
    server: KitServer,
) -> None:
    server.ask("GRANT EXECUTE, CREATE TEMPORARY TABLES, EVENT ON *.* TO 'weak'@'localhost'")
    injected = (
        "CREATE TEMPORARY TABLE async.q (q_id bigint, account int, state varchar(9),"
        " connection_id bigint, keeps int)",
        "INSERT INTO async.q SELECT 1, 1, 'RUNNING', CONNECTION_ID(), 0",
        "CREATE TEMPORARY TABLE async_1.inbox (q_id bigint, sql_text text)",
        "INSERT INTO async_1.inbox SELECT 1, 'GRANT ALL ON *.* TO ''weak''@''localhost'''",
        "CALL async.run_1(1, @rows, @kept)",
    )
    with pytest.raises(TrialFailed, match="only a worker"):
        server.ask(*injected, **WEAK)
    event = "; ".join(injected)
    server.ask(
        f"CREATE EVENT async_2.injected ON SCHEDULE AT CURRENT_TIMESTAMP DO BEGIN {event}; END",
        **WEAK,
    )
    until(
        server, "SELECT 1 - COUNT(*) FROM information_schema.events WHERE event_name = 'injected'"
    )
    time.sleep(1)
    assert "ALL PRIVILEGES" not in str(server.ask("SHOW GRANTS FOR 'weak'@'localhost'"))
    server.ask("REVOKE EXECUTE, CREATE TEMPORARY TABLES, EVENT ON *.* FROM 'weak'@'localhost'")


def test_no_state_of_a_session_comes_from_an_earlier_job(server: KitServer) -> None:
    server.ask(
        "CALL async.set_concurrency(1)",
        "CREATE PROCEDURE dyno.leave_traces() BEGIN"
        " SET @x = 1; SET SESSION sql_mode = 'ANSI'; SET SESSION autocommit = 0;"
        " DO GET_LOCK('traces', 0); CREATE TEMPORARY TABLE dyno.traces (a int); END",
    )
    seen = "SELECT @x AS x, @@sql_mode = @@GLOBAL.sql_mode AS m, @@autocommit AS a"
    seen += ", IS_FREE_LOCK('traces') AS l, LAST_INSERT_ID() = 42 AS i"
    _, _, first, table = queue(
        server,
        "CALL dyno.leave_traces()",
        "SELECT LAST_INSERT_ID(42) AS i",
        seen,
        "SELECT * FROM dyno.traces",
    )
    assert wait(server, first) == [[None, "1", "1", "1", "0"]]
    assert ended(server, table) == "FAILED" and job(server, table, "errno") == "1146"
    server.ask("DROP PROCEDURE dyno.leave_traces", "CALL async.set_concurrency(8)")


def test_jobs_wait_for_those_they_come_after(server: KitServer) -> None:
    server.ask("CREATE TABLE dyno.steps (n int AUTO_INCREMENT PRIMARY KEY, what varchar(9))")
    (slow,) = queue(server, "INSERT INTO dyno.steps (what) SELECT 'slow' FROM (SELECT SLEEP(1)) s")
    (bad,) = queue(server, "nonsense")
    after = {}
    for name, needs in {"then": [slow], "both": [slow, bad], "never": [bad]}.items():
        listed = ", ".join(map(str, needs))
        insert = f"INSERT INTO dyno.steps (what) VALUES (''{name}'')"
        rows = server.ask(f"CALL async.submit('{insert}', NULL, '{listed}', NULL)")
        after[name] = int(rows[0][0] or 0)
    last = server.ask(f"CALL async.submit('DO 1', 0, '{after['never']}', NULL)")
    assert ended(server, after["then"]) == "SUCCEEDED"
    for number in (after["both"], after["never"], int(last[0][0] or 0)):
        assert ended(server, number) == "FAILED"
        assert "which it comes after" in job(server, number, "errmsg")
    assert server.ask("SELECT what FROM dyno.steps ORDER BY n") == [["slow"], ["then"]]
    server.ask("DROP TABLE dyno.steps")
    for wrong in ("999999", "one", f"{slow},"):
        with pytest.raises(TrialFailed, match="come after"):
            server.ask(f"CALL async.submit('DO 1', 0, '{wrong}', NULL)")
    with pytest.raises(TrialFailed, match="Invalid QUERY_NUMBER"):
        server.ask(f"CALL async.submit('DO 1', 0, '{slow}', NULL)", **WEAK)


@pytest.mark.parametrize("statement", ["DO SLEEP(100)", "SELECT SLEEP(100) AS s"])
def test_a_job_is_cancelled_or_stopped_when_its_time_is_up(
    server: KitServer, statement: str
) -> None:
    (number,) = queue(server, statement)
    running(server, number)
    server.ask(f"CALL async.cancel({number})")
    assert ended(server, number) == "CANCELLED"
    rows = server.ask(f"CALL async.submit('{statement}', 0, '', 1)")
    assert ended(server, int(rows[0][0] or 0)) == "TIMED_OUT"
    assert wait(server, queue(server, "SELECT 1 AS a")[0]) == [["1"]]


def test_what_waits_can_be_cancelled_and_what_ended_forgotten(server: KitServer) -> None:
    server.ask("CALL async.set_concurrency(1)")
    slow, waiting = queue(server, "DO SLEEP(100)", "SELECT 1 AS a")
    running(server, slow)
    with pytest.raises(TrialFailed, match="has not ended"):
        server.ask(f"CALL async.forget({waiting})")
    server.ask(f"CALL async.cancel({waiting})")
    assert ended(server, waiting) == "CANCELLED"
    server.ask(f"CALL async.cancel({slow})", "CALL async.set_concurrency(8)")
    assert ended(server, slow) == "CANCELLED"
    (done,) = queue(server, "SELECT 1 AS a")
    wait(server, done)
    server.ask(f"CALL async.forget({done})")
    until(server, f"SELECT 1 - COUNT(*) FROM async.q WHERE account = 1 AND q_id = {done}")
    with pytest.raises(TrialFailed):
        server.ask(f"SELECT * FROM async_1.rs_{done}")
    with pytest.raises(TrialFailed, match="from 1 to 32"):
        server.ask("CALL async.set_concurrency(33)")


def test_a_worker_that_is_killed_loses_its_job_and_no_other(server: KitServer) -> None:
    numbers = queue(server, *["SELECT SLEEP(100) AS s"] * 8)
    for number in numbers:
        server.ask(f"KILL {running(server, number)}")
    assert [ended(server, number) for number in numbers] == ["LOST"] * 8
    assert wait(server, queue(server, "SELECT 1 AS a")[0]) == [["1"]]


def test_a_transaction_of_the_callers_does_not_hide_the_job(server: KitServer) -> None:
    rows = server.ask(
        "SET autocommit = 0",
        "SELECT COUNT(*) FROM async.account",
        "CALL async.queue('SELECT SLEEP(0.5) AS s')",
        "CALL async.wait(@query_number)",
    )
    assert rows == [["0"]]


def test_a_query_waits_for_nobodys_change_and_locks_no_row(server: KitServer) -> None:
    """Behind CREATE TABLE it would read with locks."""
    server.ask(
        "CREATE TABLE dyno.held (id INT PRIMARY KEY, n INT) ENGINE=InnoDB",
        "INSERT INTO dyno.held VALUES (1, 1), (2, 2)",
    )
    change = "UPDATE dyno.held SET n = 100 + 0 * SLEEP(30) WHERE id = 1"
    under_way = "FROM information_schema.processlist WHERE info LIKE 'UPDATE dyno.held%'"
    with ThreadPoolExecutor(1) as pool:
        changed = pool.submit(server.ask, change)
        until(server, f"SELECT COUNT(*) {under_way}")
        (number,) = queue(server, "SELECT SUM(n) AS n FROM dyno.held")
        assert wait(server, number) == [["3"]]
        assert server.one(f"SELECT COUNT(*) {under_way}") == "1", "it waited for the change"
        server.ask(f"KILL {server.one(f'SELECT id {under_way}')}")
        with pytest.raises(DynoError):
            changed.result()
    server.ask("DROP TABLE dyno.held")


@pytest.mark.usefixtures("installed_anew")
def test_no_transaction_of_an_accounts_makes_anybody_elses_job_wait(server: KitServer) -> None:
    """It locks every row that it can reach, and names of locks; the rest of its own waits alone."""
    (kept,) = queue(server, "SELECT 1 AS a", **WEAK)
    wait(server, kept, **WEAK)
    reached = [f"rs_{kept}", "inbox", "wishes", "pass"]
    holds = [
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "START TRANSACTION",
        "INSERT INTO async_2.inbox (sql_text, priority) VALUES ('DO 1', -9)",
        "INSERT INTO async_2.wishes (q_id, wish) VALUES (1, 'CANCEL')",
        *(f"SELECT COUNT(*) FROM async_2.{name}" for name in reached),
        *(f"SELECT COUNT(*) FROM async_2.{name} LOCK IN SHARE MODE" for name in reached),
        "SELECT COUNT(*) FROM async.account LOCK IN SHARE MODE",
        "SELECT GET_LOCK('async.tend', 0)",
        "SELECT SLEEP(300)",
    ]
    if not server.is_mysql_8:
        holds[-1:-1] = [f"SELECT COUNT(*) FROM async_2.{name} FOR UPDATE" for name in reached]
    asleep = "FROM information_schema.processlist WHERE info = 'SELECT SLEEP(300)'"
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(driver.ask, server.engine.session | WEAK, holds, 300)
        until(server, f"SELECT COUNT(*) {asleep}")
        try:
            began_s = time.monotonic()
            assert wait(server, queue(server, "SELECT 1 AS a")[0]) == [["1"]]
            (slow,) = queue(server, "DO SLEEP(100)")
            running(server, slow)
            server.ask(f"CALL async.cancel({slow})")
            assert ended(server, slow) == "CANCELLED"
            rows = server.ask("CALL async.submit('DO SLEEP(100)', 0, '', 1)")
            assert ended(server, int(rows[0][0] or 0)) == "TIMED_OUT"
            server.ask("CALL async.forget(1)")
            until(server, "SELECT 1 - COUNT(*) FROM async.q WHERE account = 1 AND q_id = 1")
            assert time.monotonic() - began_s < 40, "it waited for the transaction"
        finally:
            server.ask(f"KILL {server.one(f'SELECT id {asleep}')}")
        with pytest.raises(DynoError):
            held.result()
    server.ask(f"CALL async.forget({kept})", **WEAK)
    until(server, f"SELECT 1 - COUNT(*) FROM async.q WHERE account = 2 AND q_id = {kept}")


@pytest.mark.usefixtures("installed_anew")
def test_results_have_a_quota(server: KitServer) -> None:
    server.ask("CALL async.set_quota(300)")
    two = "SELECT 1 AS a UNION ALL SELECT 2"
    first, *numbers = queue(server, *[two] * 3, **WEAK)
    for number in (first, *numbers):
        assert len(wait(server, number, **WEAK)) == 2
    (fourth,) = queue(server, two, **WEAK)
    with pytest.raises(TrialFailed, match="would be 400 rows, its quota is 300"):
        wait(server, fourth, **WEAK)
    assert len(wait(server, queue(server, two)[0])) == 2, "the quota of one is not another's"
    server.ask(f"CALL async.forget({first})", **WEAK)
    until(server, f"SELECT 1 - COUNT(*) FROM async.q WHERE account = 2 AND q_id = {first}")
    assert len(wait(server, queue(server, two, **WEAK)[0], **WEAK)) == 2
    with pytest.raises(TrialFailed, match="100 rows at least"):
        server.ask("CALL async.set_quota(0)")


def test_a_grant_on_an_accounts_schema_is_of_that_schema_only(server: KitServer) -> None:
    server.ask("CREATE DATABASE asyncx2", "CREATE TABLE asyncx2.rs_1 (secret INT)")
    with pytest.raises(TrialFailed):
        server.ask("SELECT * FROM asyncx2.rs_1", **WEAK)
    server.ask("DROP DATABASE asyncx2")


@pytest.mark.usefixtures("installed_anew")
def test_a_job_that_sets_its_sessions_clock_stops_no_worker(server: KitServer) -> None:
    """Each second place of a ring of two is the beginning of a lap."""
    server.ask(
        "CALL async.set_concurrency(1)",
        "UPDATE async.settings SET value = 2 WHERE variable = 'places'",
        "CREATE PROCEDURE dyno.set_clock() SET SESSION timestamp = 2000000000",
    )
    numbers = queue(server, *["CALL dyno.set_clock()"] * 4, "SELECT 1 AS a")
    assert wait(server, numbers[-1]) == [["1"]]
    server.ask("DROP PROCEDURE dyno.set_clock")


def test_an_uninstall_amid_jobs_leaves_nothing_behind(kit_server: KitServer) -> None:
    kit_server.ask("CREATE USER 'weak'@'localhost' IDENTIFIED BY 'Weak-1'")
    before = kit_server.inventory()
    assert kit_server.kit("install", "async", "--account", "weak@localhost") == 0
    assert kit_server.kit("install", "async") == 0
    (slow, *_) = queue(kit_server, "SELECT SLEEP(100) AS s", *["DO SLEEP(1)"] * 20, **WEAK)
    running(kit_server, slow, 2)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(wait, kit_server, slow, **WEAK)
        until(kit_server, "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'weak'")
        assert kit_server.kit("uninstall", "async") == 0
        with pytest.raises(TrialFailed):
            waiting.result(PATIENCE_S)
    assert kit_server.inventory() == before
    until(kit_server, "SELECT 1 - COUNT(*) FROM information_schema.processlist WHERE db = 'async'")
    kit_server.ask("DROP USER 'weak'@'localhost'")


def test_what_cannot_be_is_refused_with_what_to_do(
    kit_server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    before = kit_server.inventory()
    for words, said in {
        ("async", "--account", "nobody@nowhere"): "no account nobody@nowhere",
        ("async", "--account", "nobody"): "'nobody' is not an account",
        ("json", "--account", "root@localhost"): "--account is the part async's",
    }.items():
        assert kit_server.kit("install", *words) == 64
        assert said in capsys.readouterr().err
    kit_server.ask("SET GLOBAL event_scheduler = OFF")
    assert kit_server.kit("install", "async") == 64
    assert "event scheduler is OFF" in capsys.readouterr().err
    kit_server.ask("SET GLOBAL event_scheduler = ON", "CREATE DATABASE async")
    kit_server.ask("CREATE TABLE async.theirs (id INT)")
    assert kit_server.kit("install", "async") == 64
    assert kit_server.kit("uninstall", "async") == 64
    assert "not one of this kit's" in capsys.readouterr().err
    kit_server.ask("DROP DATABASE async", "CREATE DATABASE async_1")
    assert kit_server.kit("install", "async") == 64
    assert "could not let root@localhost queue" in capsys.readouterr().err
    kit_server.ask("DROP DATABASE async_1", "CREATE USER 'few'@'localhost' IDENTIFIED BY 'Few-1'")
    assert kit_server.kit("install", "async", url=kit_server.url_of("few", "Few-1")) == 64
    assert "rights of an administrator" in capsys.readouterr().err
    kit_server.ask("DROP USER 'few'@'localhost'")
    assert kit_server.inventory() == before


def restarted(server: KitServer) -> Server:
    """The same server after its process was killed with -9."""
    name, _, build = server.version.partition("@")
    engine = find_engine(name, driver.ask)
    running: Any = server.engine.handle
    os.kill(running.process.pid, signal.SIGKILL)
    engine.stop(server.engine)
    settings = {"event_scheduler": "ON", "plugin_dir": f"{server.plugins}/"}
    return engine.start(engine.program(build, {}, lambda _: None), server.engine.home, settings)


@pytest.mark.parametrize("version", BETWEEN)
def test_a_server_that_is_killed_loses_what_ran_and_nothing_else(version: str) -> None:
    with serving(version, innodb_flush_log_at_trx_commit="1") as server:
        assert server.kit("install", "async") == 0
        numbers = queue(server, "SELECT 7 AS a", *["SELECT SLEEP(100) AS s"] * 12)
        assert wait(server, numbers[0]) == [["7"]]
        for number in numbers[1:9]:
            running(server, number)
        again = restarted(server)
        try:
            revived = KitServer(version, again, server.plugins)
            assert [ended(revived, number) for number in numbers[1:9]] == ["LOST"] * 8
            for number in numbers[9:]:
                running(revived, number)
            assert wait(revived, numbers[0]) == [["7"]]
            assert revived.kit("uninstall", "async") == 0
        finally:
            find_engine(version.partition("@")[0], driver.ask).stop(again)


def test_with_gtids_rows_are_kept_too() -> None:
    """MySQL before 8.0.21 makes no table from rows then."""
    gtids = {"log_bin": "on", "log_slave_updates": "ON"}
    gtids |= {"gtid_mode": "ON", "enforce_gtid_consistency": "ON"}
    with serving("mysql@5.6.14", **gtids) as server:
        assert server.kit("install", "async") == 0
        assert wait(server, queue(server, "SELECT 7 AS a, 'x' AS b")[0]) == [["7", "x"]]
        assert server.kit("uninstall", "async") == 0
