"""`dyno explain` on PostgreSQL 12 and 18: stages, what makes them grow, and what is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from explaining import (
    QUICK,
    ask,
    explain,
    find_grown,
    interrupt_explain,
    times_of,
    url_of,
    wait_until,
)
from private_servers import serving, started

from dyno import driver
from dyno.cli import run_words
from dyno.engines import PathRequest, Server
from dyno.errors import TrialFailed, UsageError
from dyno.servers.explain.explain import PathPlayer, explain_all
from dyno.servers.explain.target import open_path

TABLES = (
    "CREATE TABLE orders (id int PRIMARY KEY, customer int, note text)",
    "INSERT INTO orders SELECT i, i % 1000, repeat('x', 50) FROM generate_series(1, 50000) i",
    "CREATE INDEX of_customer ON orders (customer)",
    "VACUUM ANALYZE orders",
)
SORTED = 'SELECT count(*) FROM (SELECT * FROM orders ORDER BY note COLLATE "C", id OFFSET 0) s'
BY_CUSTOMER = "SELECT * FROM orders WHERE customer = 7"
ACTIVE = (
    "SELECT query FROM pg_stat_activity WHERE application_name = 'dyno explain'"
    " AND state = 'active'"
)


@pytest.fixture(scope="module", params=["postgres-12", "postgres-18"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A shared server with a table of orders, which each test leaves as it was."""
    with serving(request.param) as shared:
        ask(shared.session, *TABLES)
        yield shared


@contextmanager
def holding(server: Server, *statements: str, for_s: float = 30.0) -> Iterator[None]:
    """Another session that has executed these in a transaction, and lets go in the end."""
    begun = threading.Event()
    ended = threading.Event()

    def hold() -> None:
        with driver.Conversation(60) as other:
            other(server.session, ["BEGIN", *statements])
            begun.set()
            ended.wait(for_s)
            other(server.session, ["ROLLBACK"])

    thread = threading.Thread(target=hold)
    thread.start()
    assert begun.wait(30)
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def holding_now_and_then(server: Server, sql: str) -> Iterator[None]:
    """Another session that holds what `sql` locks most of the time, each time for a while."""
    stop = threading.Event()

    def hold() -> None:
        held = ["BEGIN", sql, "SELECT pg_sleep(0.2)", "ROLLBACK", "SELECT pg_sleep(0.01)"]
        with driver.Conversation(60) as other:
            while not stop.is_set():
                other(server.session, held)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_the_stages_of_a_point_select_are_told_and_add_up_to_the_bare_time(server: Server) -> None:
    found = explain(url_of(server), "SELECT * FROM orders WHERE id = 7")
    told = times_of(found)
    assert {"connection", "parse", "optimise", "execute", "not attributed"} <= told.keys()
    for at, bare_us in enumerate(found.bare_us):
        assert sum(stage.us[at] for stage in found.stages if stage.us) == pytest.approx(bare_us)
    assert [node.name for node in found.nodes] == ["Index Scan using orders_pkey on orders"]
    assert (found.rows, found.nodes[0].rows, found.nodes[0].pages) == (1, 1.0, 3.0)
    assert len(found.clock_us) == len(found.bare_us) == 6 and found.repeats in (1, 5)
    assert ask(server.session, ACTIVE) == []


def test_a_small_sort_memory_makes_execution_grow_and_is_named_at_its_node(server: Server) -> None:
    players = []
    for memory in ("64MB", "64kB"):
        path = open_path(driver.ask, url_of(server), PathRequest(SORTED, QUICK.limit_s))
        path.session["settings"].append(("work_mem", memory))
        players.append(PathPlayer(path, driver.ask, SORTED, QUICK))
    # in turns, so that what the host does meanwhile meets both
    before, after = explain_all(players, QUICK)
    assert find_grown(before, after, min) == "execute"
    (sorted_before,), (sort,) = (
        [node for node in found.nodes if node.name == "Sort"] for found in (before, after)
    )
    assert not any("external" in fact for fact in sorted_before.facts)
    assert any("external" in fact for fact in sort.facts)
    (execute,) = [stage for stage in after.stages if stage.name == "execute"]
    assert any("temporary files written" in fact for fact in execute.facts)


def test_the_first_run_has_a_session_that_was_not_asked_what_is_called(server: Server) -> None:
    """One that has looked into the catalogue runs a statement in half the time."""
    path = open_path(driver.ask, url_of(server), PathRequest(BY_CUSTOMER, QUICK.limit_s))
    player = PathPlayer(path, driver.ask, BY_CUSTOMER, QUICK)
    player.begin()
    player.close()
    assert player.first_us and len(player.connect_us) == 2  # the calls are judged over the first


def test_a_dropped_index_makes_execution_grow_and_another_node_stands_there(server: Server) -> None:
    before = explain(url_of(server), BY_CUSTOMER)
    ask(server.session, "DROP INDEX of_customer")
    try:
        after = explain(url_of(server), BY_CUSTOMER)
    finally:
        ask(server.session, "CREATE INDEX of_customer ON orders (customer)")
    assert find_grown(before, after, min) == "execute"
    assert "Seq Scan on orders" in [node.name for node in after.nodes]
    assert before.shape != after.shape


def test_a_lock_that_others_hold_for_a_while_is_a_stage_of_its_own(server: Server) -> None:
    # it takes longer than the pause of who holds the lock, so that each run meets it
    sql = "UPDATE orders SET note = 'y' WHERE id = 7 AND pg_sleep(0.05) IS NOT NULL"
    writing = replace(QUICK, writes=True, runs=3)
    before = explain(url_of(server), sql, writing)
    with holding_now_and_then(server, "SELECT * FROM orders WHERE id = 7 FOR UPDATE"):
        after = explain(url_of(server), sql, writing)
    assert find_grown(before, after) == "lock wait"
    assert any(wait.kind == "locks" and "held by process" in wait.event for wait in after.waits)


def test_a_statement_that_never_gets_its_lock_is_ended_there_and_says_who_holds_it(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    with holding(server, "LOCK TABLE orders"):
        began_s = time.monotonic()
        words = ["explain", url_of(server), BY_CUSTOMER, "--timeout", "1s"]
        assert run_words(words) == 0
        assert time.monotonic() - began_s < 20
        assert ask(server.session, ACTIVE) == []
    said = capsys.readouterr().out
    assert "ended after 1 s (--timeout)" in said and "relation held by process" in said


def test_a_write_is_refused_and_with_rollback_leaves_nothing(server: Server) -> None:
    sql = "INSERT INTO orders (id, customer, note) VALUES (100001, 1, 'new')"
    with pytest.raises(UsageError, match="the statement writes"):
        explain(url_of(server), sql)
    found = explain(url_of(server), sql, replace(QUICK, writes=True))
    assert found.rolled_back and found.changed == 1
    assert ask(server.session, "SELECT count(*) FROM orders WHERE id = 100001") == [["0"]]
    (log,) = [stage for stage in found.stages if stage.name == "log"]
    has_wal = found.version >= "13"
    assert bool(log.facts) == has_wal and not log.us
    assert any("its commit would wait for one" in remark for remark in found.remarks)
    ((synchronous,),) = ask(server.session, "SHOW synchronous_commit")
    told = "a commit here waits for no flush of the log" in " ".join(found.remarks)
    assert len(found.end_us) == len(found.bare_us) and told == (synchronous == "off")


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT nextval('numbers')", "calls nextval"),
        ("SELECT setval('numbers', 1)", "calls setval"),
        ("SELECT dblink_exec('x', 'y')", "calls public.dblink_exec"),
        ("SELECT lo_oid(lo_export(1, '/tmp/x')::oid)", "calls lo_"),
        ("SELECT pg_terminate_backend(1)", "calls pg_terminate_backend"),
        ("SELECT 1; DROP TABLE orders", "several statements"),
        ("DROP TABLE orders", "DROP cannot be explained"),
        ("COPY orders TO PROGRAM 'true'", "COPY cannot be explained"),
        ("EXPLAIN ANALYZE DELETE FROM orders", "EXPLAIN cannot be explained"),
        ("WITH d AS (DELETE FROM orders RETURNING 1) SELECT * FROM d", "the statement writes"),
        ("SELECT * INTO copied FROM orders", "the statement writes"),
        ("SELECT * FROM orders WHERE id = $1", "has parameters"),
        ("  ;", "the statement is empty"),
        ("SELECT 'open", "cannot read the statement"),
    ],
)
def test_what_could_change_something_is_refused_by_name(server: Server, sql: str, why: str) -> None:
    extensions = [f"CREATE EXTENSION IF NOT EXISTS {name}" for name in ("dblink", "lo")]
    ask(server.session, "CREATE SEQUENCE IF NOT EXISTS numbers", *extensions)
    with pytest.raises(UsageError, match=why):
        explain(url_of(server), sql)
    told = ask(server.session, "SELECT count(*), (SELECT is_called FROM numbers) FROM orders")
    assert told == [["50000", "f"]]


def test_a_function_of_users_is_executed_read_only(server: Server) -> None:
    ask(
        server.session,
        "CREATE FUNCTION add_order() RETURNS int LANGUAGE sql AS"
        " 'INSERT INTO orders VALUES (0) RETURNING 1'",
        "CREATE FUNCTION count_them() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM orders'",
        "CREATE FUNCTION count_twice() RETURNS bigint LANGUAGE plpgsql AS 'DECLARE n bigint;"
        " BEGIN SELECT count_them() + count_them() INTO n; RETURN n; END'",
    )
    found = explain(url_of(server), "SELECT count_twice()")
    assert any("count_twice()" in remark for remark in found.remarks)
    outer, inner = sorted(found.inner, key=lambda it: it.runs)
    assert (outer.runs, outer.rows, inner.runs, inner.rows) == (1, 1.0, 2, 2.0)
    assert inner.sql == "SELECT count(*) FROM orders" and outer.us > inner.us > 0
    assert "count_them" in inner.place and "count_twice" in outer.place
    assert inner.nodes[0].name == "Aggregate" and "on orders" in inner.nodes[-1].name
    assert explain(url_of(server), BY_CUSTOMER).inner == ()
    with pytest.raises(UsageError, match="the statement writes"):
        explain(url_of(server), "SELECT add_order()")
    assert ask(server.session, "SELECT count(*) FROM orders WHERE id = 0") == [["0"]]


def test_an_unprivileged_user_is_told_what_is_missing(server: Server) -> None:
    access = server.home / "data" / "pg_hba.conf"
    before = access.read_text()
    access.write_text(f"local all few trust\n{before}")
    ask(server.session, "CREATE ROLE few LOGIN", "GRANT SELECT ON orders TO few")
    ask(server.session, "SELECT pg_reload_conf()")
    url = url_of(server).replace(f"//{server.session['user']}", "//few", 1)
    ask(server.session, "CREATE FUNCTION one_more() RETURNS int LANGUAGE sql AS 'SELECT 1'")
    found = explain(url, BY_CUSTOMER)
    assert any("track_io_timing is off" in remark for remark in found.remarks)
    assert any('library "auto_explain" is not allowed' in remark for remark in found.remarks)
    access.write_text(before)
    ask(server.session, "DROP OWNED BY few", "DROP ROLE few", "SELECT pg_reload_conf()")


def test_a_statement_that_the_server_refuses_keeps_its_words(server: Server) -> None:
    with pytest.raises(TrialFailed, match='column "nix" does not exist'):
        explain(url_of(server), "SELECT nix FROM orders")


def test_an_interrupt_ends_the_statement_at_the_server(server: Server) -> None:
    interrupt_explain(server, "SELECT pg_sleep(100)", ACTIVE)


def test_a_dyno_that_is_killed_leaves_no_statement_behind(server: Server) -> None:
    # before 14 no server notices that its client is gone, and only its own limit ends a statement
    words = [sys.executable, "-m", "dyno.cli", "explain", url_of(server), "--timeout", "5s"]
    process = subprocess.Popen([*words, "SELECT pg_sleep(100)"], stdout=subprocess.DEVNULL)
    wait_until(lambda: ask(server.session, ACTIVE) != [])
    process.kill()
    process.wait()
    wait_until(lambda: ask(server.session, ACTIVE) == [])


def test_a_server_that_ends_meanwhile_is_said_in_a_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with started("postgres@18") as server:
        victim = threading.Timer(1.5, lambda: os.kill(server.pid or 0, signal.SIGQUIT))
        victim.start()
        assert run_words(["explain", url_of(server), "SELECT pg_sleep(100)"]) == 64
        victim.join()
    said = capsys.readouterr().err
    assert "Traceback" not in said and said.count("\n") <= 2


def test_time_in_functions_and_what_was_set_are_facts_of_their_stages(server: Server) -> None:
    ask(
        server.session,
        "CREATE FUNCTION twice(n int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 2 * n; END'",
    )
    user = server.session["user"]
    ask(server.session, f"ALTER ROLE {user} SET enable_seqscan = off")
    try:
        found = explain(url_of(server), "SELECT sum(twice(customer)) FROM orders WHERE id < 500")
    finally:
        ask(server.session, f"ALTER ROLE {user} RESET enable_seqscan")
    facts = {stage.name: stage.facts for stage in found.stages}
    (own,) = [fact for fact in facts["execute"] if fact.startswith("twice() 499 times: ")]
    assert " µs, of them " in own
    assert "enable_seqscan = off" in facts["optimise"]
    has_memory = any("kB of memory" in fact for fact in facts["optimise"])
    assert has_memory == (found.version >= "17")


def test_an_answer_that_is_larger_than_we_would_keep_is_explained_all_the_same(
    server: Server,
) -> None:
    ask(server.session, "CREATE OR REPLACE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'")
    large = "SELECT repeat('x', 1000000) FROM orders LIMIT 45"
    assert explain(url_of(server), large, replace(QUICK, runs=1)).rows == 45


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT repeat('x', 1000000) FROM orders LIMIT 4", "The answers: same."),
        ("SELECT repeat('x', 1000000) FROM orders LIMIT 45", "The answers: not compared: "),
        ("SELECT * FROM orders ORDER BY id LIMIT 9", "The answers: same."),
        ("SELECT pg_backend_pid()", "The answers: differs: 1 row differs."),
        ("UPDATE orders SET note = '' WHERE id < 8 RETURNING id", "The answers: same."),
    ],
)
def test_answers_of_two_servers_are_compared_however_large_they_are(
    server: Server, capsys: pytest.CaptureFixture[str], sql: str, words: str
) -> None:
    url = url_of(server)
    line = ["explain", url, sql, "--against", url, "--runs", "1", "--rollback"]
    assert run_words(line) == 0
    assert words in capsys.readouterr().out


def test_a_server_of_a_version_is_started_with_tables_and_is_gone_afterwards(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "shop.sql"
    file.write_text("CREATE TABLE orders (id int PRIMARY KEY); INSERT INTO orders VALUES (7), (8);")
    words = ["explain", "postgres@18?enable_seqscan=off", "SELECT * FROM orders WHERE id = 7"]
    assert run_words([*words, "--setup", str(file), "--runs", "2"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "at a server of its own: 1 row" in said and "enable_seqscan = off" in said
