"""`dyno explain` on MySQL 5.6 and 8.0 and on MariaDB: stages, what makes them grow, refusals."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from explaining import (
    QUICK,
    ask,
    explain,
    find_grown,
    interrupt_explain,
    times_of,
    url_of,
)
from private_servers import serving

from dyno import driver
from dyno.cli import run_words
from dyno.engines import PathRequest, Server
from dyno.errors import UsageError
from dyno.record.explanation import Explanation
from dyno.servers.explain.target import open_path

ROWS = ", ".join(f"({i}, {i % 500}, REPEAT('x', 50))" for i in range(1, 5001))
TABLES = (
    "CREATE TABLE orders (id int PRIMARY KEY, customer int, note varchar(60), KEY (customer))"
    " ENGINE=InnoDB",
    f"INSERT INTO orders VALUES {ROWS}",
    "INSERT INTO orders SELECT id + 5000, customer, note FROM orders",
    "ANALYZE TABLE orders",
)
BY_CUSTOMER = "SELECT * FROM orders WHERE customer = 7"
RUNNING = (
    "SELECT INFO FROM information_schema.PROCESSLIST WHERE COMMAND <> 'Sleep'"
    " AND INFO LIKE '%orders%' AND ID <> CONNECTION_ID()"
)
KINDS = ("mysql-5.6", "mysql-8.0", "mariadb-innodb")


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A shared server with a table of orders, which each test leaves as it was."""
    with serving(request.param) as shared:
        ask(shared.session, *TABLES)
        yield shared


def test_the_stages_of_a_select_are_told_and_add_up_to_the_bare_time(server: Server) -> None:
    found = explain(url_of(server), BY_CUSTOMER)
    told = times_of(found)
    assert {"connection", "parse", "optimise", "open tables", "reply"} <= told.keys()
    for at, bare_us in enumerate(found.bare_us):
        assert sum(stage.us[at] for stage in found.stages if stage.us) == pytest.approx(bare_us)
    assert found.rows == 20 and "by customer" in found.shape
    analyses = found.version >= "8"
    assert bool(found.nodes) == ("storage engine" in told) == analyses or "MariaDB" in found.version
    if "MariaDB" in found.version:
        assert [node.pages for node in found.nodes if node.pages is not None]
    (parse,) = [stage for stage in found.stages if stage.name == "parse"]
    assert any(part.name.lower() == "starting" for part in parse.parts)


def test_a_dropped_index_makes_execution_and_the_storage_engine_grow(server: Server) -> None:
    before = explain(url_of(server), BY_CUSTOMER)
    ask(server.session, "DROP INDEX customer ON orders")
    try:
        after = explain(url_of(server), BY_CUSTOMER)
    finally:
        ask(server.session, "CREATE INDEX customer ON orders (customer)")
    assert find_grown(before, after, min) in ("execute", "storage engine")
    assert before.shape != after.shape and "full table scan" in after.shape


def test_a_small_sort_memory_is_told_by_its_merge_passes(server: Server) -> None:
    sql = "SELECT note, id FROM orders ORDER BY note, id DESC"
    ((size,),) = ask(server.session, "SELECT @@GLOBAL.sort_buffer_size")
    ask(server.session, "SET GLOBAL sort_buffer_size = 64 * 1024 * 1024")
    try:
        before = explain(url_of(server), sql)
        ask(server.session, "SET GLOBAL sort_buffer_size = 32768")
        after = explain(url_of(server), sql)
    finally:
        ask(server.session, f"SET GLOBAL sort_buffer_size = {size}")
    told = [fact for stage in after.stages for fact in stage.facts]
    assert any("merge passes" in fact for fact in told)
    assert not any("merge passes" in fact for stage in before.stages for fact in stage.facts)


def test_a_row_lock_that_others_hold_for_a_while_is_a_stage_of_its_own(server: Server) -> None:
    sql = "UPDATE orders SET note = 'y' WHERE id = 7 AND SLEEP(0.05) = 0"
    writing = replace(QUICK, writes=True, runs=3)
    before = explain(url_of(server), sql, writing)
    stop = threading.Event()

    def hold() -> None:
        with driver.Conversation(60) as other:
            held = ["BEGIN", "SELECT * FROM orders WHERE id = 7 FOR UPDATE", "DO SLEEP(0.2)"]
            while not stop.is_set():
                other(server.session, [*held, "ROLLBACK", "DO SLEEP(0.01)"])

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        after = explain(url_of(server), sql, writing)
    finally:
        stop.set()
        thread.join()
    assert find_grown(before, after) == "lock wait"


def test_a_statement_that_never_gets_its_lock_is_ended_there(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    with driver.Conversation(60) as other:
        other(server.session, ["LOCK TABLES orders WRITE"])
        began_s = time.monotonic()
        assert run_words(["explain", url_of(server), BY_CUSTOMER, "--timeout", "1s"]) == 0
        assert time.monotonic() - began_s < 20
        assert ask(server.session, RUNNING) == []
    said = capsys.readouterr().out
    assert "ended after 1 s (--timeout)" in said and "lock (locks)" in said


def test_a_statement_that_answers_when_it_is_ended_is_not_taken_for_one_that_ended(
    server: Server,
) -> None:
    found = explain(url_of(server), "SELECT SLEEP(30)", replace(QUICK, limit_s=1.0))
    assert found.unfinished and not found.bare_us


def test_a_write_is_refused_and_with_rollback_leaves_nothing(server: Server) -> None:
    sql = "INSERT INTO orders (id, customer, note) VALUES (100001, 1, 'new')"
    with pytest.raises(UsageError, match="the statement writes"):
        explain(url_of(server), sql)
    found = explain(url_of(server), sql, replace(QUICK, writes=True))
    assert found.rolled_back and found.changed == 1
    assert ask(server.session, "SELECT count(*) FROM orders WHERE id = 100001") == [["0"]]


def test_what_a_rollback_would_not_undo_is_refused_by_name(server: Server) -> None:
    ask(
        server.session,
        "CREATE TABLE counted (n int) ENGINE=MyISAM",
        "CREATE TRIGGER counts AFTER INSERT ON orders FOR EACH ROW INSERT INTO counted VALUES (1)",
    )
    writing = replace(QUICK, writes=True)
    with pytest.raises(UsageError, match=r"writes to dyno\.counted"):
        explain(url_of(server), "INSERT INTO counted VALUES (1)", writing)
    with pytest.raises(UsageError, match=r"by the trigger dyno\.counts"):
        explain(url_of(server), "INSERT INTO orders VALUES (100002, 1, 'x')", writing)
    assert ask(server.session, "SELECT count(*) FROM counted") == [["0"]]
    ask(server.session, "DROP TRIGGER counts", "DROP TABLE counted")


#: What reaches a table without transactions, or more than tables, in two steps or more.
REACHING = (
    "CREATE TABLE plain (n int) ENGINE=MyISAM",
    "CREATE TABLE middle (n int) ENGINE=InnoDB",
    "CREATE TABLE first (n int) ENGINE=InnoDB",
    "CREATE VIEW seen AS SELECT n FROM plain",
    "CREATE VIEW over_seen AS SELECT n FROM seen WHERE n < 9",
    "CREATE PROCEDURE put() INSERT INTO plain VALUES (1)",
    "CREATE PROCEDURE prepare_it() BEGIN PREPARE s FROM 'DELETE FROM plain'; EXECUTE s; END",
    "CREATE FUNCTION puts() RETURNS int BEGIN CALL put(); RETURN 1; END",
    "CREATE FUNCTION sets() RETURNS int BEGIN SET GLOBAL max_connections = 99; RETURN 1; END",
    "CREATE FUNCTION kills() RETURNS int BEGIN KILL 1; RETURN 1; END",
    "CREATE FUNCTION prepares() RETURNS int BEGIN CALL prepare_it(); RETURN 1; END",
    "CREATE FUNCTION middles() RETURNS int DETERMINISTIC"
    " BEGIN INSERT INTO middle VALUES (1); RETURN 1; END",
    "CREATE FUNCTION get_lock(a text, b int) RETURNS int RETURN 1",
    "CREATE VIEW setting AS SELECT sets() AS n",
    "CREATE TRIGGER on_middle AFTER INSERT ON middle FOR EACH ROW CALL put()",
    "CREATE TRIGGER on_first BEFORE INSERT ON first FOR EACH ROW"
    " BEGIN IF NEW.n > 0 THEN INSERT INTO middle VALUES (1); END IF; END",
)
LEFT = (
    ("INSERT INTO over_seen VALUES (1)", r"writes to dyno\.plain, by the view dyno\.seen"),
    ("INSERT INTO middle VALUES (1)", r"writes to dyno\.plain, by the procedure dyno\.put"),
    ("INSERT INTO first VALUES (1)", r"writes to dyno\.plain, by the procedure dyno\.put"),
    ("SELECT puts()", r"writes to dyno\.plain, by the procedure dyno\.put"),
    ("SELECT * FROM orders WHERE id = middles()", r"writes to dyno\.plain, by the procedure"),
    ("SELECT sets()", r"the function dyno\.sets may change .*it sets GLOBAL max_connections"),
    ("SELECT * FROM setting", r"the function dyno\.sets may change"),
    ("SELECT kills()", r"the function dyno\.kills may change .*KILL"),
    ("SELECT prepares()", r"the procedure dyno\.prepare_it may change .*PREPARE"),
    ("SELECT get_lock('dyno', 1)", r"calls get_lock\(\), which is not known"),
    (
        "UPDATE performance_schema.setup_consumers SET ENABLED = 'NO'",
        r"writes to performance_schema\.setup_consumers",
    ),
)


def test_what_a_statement_reaches_in_several_steps_is_refused_by_name(server: Server) -> None:
    ask(server.session, *REACHING)
    for sql, why in LEFT:
        with pytest.raises(UsageError, match=why):
            explain(url_of(server), sql, replace(QUICK, writes=True))
        with pytest.raises(UsageError):
            explain(url_of(server), sql)
    assert ask(server.session, "SELECT n FROM plain UNION ALL SELECT n FROM middle") == []


def test_a_function_that_writes_is_rolled_back_after_its_plan_as_well(server: Server) -> None:
    ask(
        server.session,
        "CREATE TABLE written (n int) ENGINE=InnoDB",
        "CREATE FUNCTION writes_one() RETURNS int DETERMINISTIC"
        " BEGIN INSERT INTO written VALUES (1); RETURN 7; END",
    )
    sql = "SELECT * FROM orders WHERE id = writes_one()"
    found = explain(url_of(server), sql, replace(QUICK, runs=2, writes=True))
    assert found.rows == 1 and ask(server.session, "SELECT count(*) FROM written") == [["0"]]
    (told,) = [it for it in found.remarks if it.startswith("tables reached")]
    assert told == "tables reached: checksums equal: dyno.orders, dyno.written"


def test_what_others_write_meanwhile_makes_the_checksums_differ(server: Server) -> None:
    sql = "UPDATE orders SET note = 'z' WHERE id = 3"
    path = open_path(driver.ask, url_of(server), PathRequest(sql, 10.0, True))
    ask(server.session, "UPDATE orders SET note = 'y' WHERE id = 4")
    assert "DIFFER: dyno.orders" in path.check_remains(driver.ask)  # type: ignore[attr-defined]


def test_a_table_that_others_lock_delays_no_checksum(server: Server) -> None:
    sql = "UPDATE orders SET note = 'z' WHERE id = 3"
    with driver.Conversation(60) as other:
        other(server.session, ["LOCK TABLES orders WRITE"])
        path = open_path(driver.ask, url_of(server), PathRequest(sql, 10.0, True))
    told = path.check_remains(driver.ask)  # type: ignore[attr-defined]
    assert told.startswith("tables reached: not checked: ") and "dyno.orders" in told


def test_who_does_not_see_triggers_and_bodies_is_told_so(server: Server) -> None:
    ask(
        server.session,
        "CREATE FUNCTION plain_one() RETURNS int RETURN 1",
        "CREATE USER looker@localhost IDENTIFIED BY 'Looker-1-xyz'",
        "GRANT SELECT, UPDATE, EXECUTE ON dyno.* TO looker@localhost",
        "CREATE TRIGGER hidden BEFORE UPDATE ON orders FOR EACH ROW SET NEW.note = 'h'",
    )
    session = {**server.session, "user": "looker", "password": "Looker-1-xyz"}
    theirs = url_of(replace(server, session=session))
    with pytest.raises(UsageError, match=r"this account may not read it|may be a loadable"):
        explain(theirs, "SELECT dyno.plain_one()")
    updating = "UPDATE orders SET note = 'z' WHERE id = 3"
    with pytest.raises(UsageError, match=r"does not see the triggers|may not read it"):
        explain(theirs, updating, replace(QUICK, writes=True))
    ask(server.session, "GRANT TRIGGER ON dyno.* TO looker@localhost")
    assert explain(theirs, updating, replace(QUICK, runs=1, writes=True)).changed == 1
    ask(server.session, "DROP TRIGGER hidden")


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT * FROM orders INTO OUTFILE '/tmp/x'", "INTO OUTFILE writes a file"),
        ("SELECT GET_LOCK('x', 1)", "calls get_lock"),
        ("CREATE TABLE x (id int)", "CREATE cannot be explained"),
        ("TRUNCATE orders", "TRUNCATE cannot be explained"),
        ("CALL something()", "CALL cannot be explained"),
        ("ANALYZE UPDATE orders SET note = 'z'", "ANALYZE cannot be explained"),
        ("SELECT 1; DELETE FROM orders", "several statements"),
        ("SELECT /*!50000 1 */", "cannot read the statement"),
    ],
)
def test_what_could_change_something_is_refused_by_name(server: Server, sql: str, why: str) -> None:
    for writes in (False, True):
        with pytest.raises(UsageError, match=why):
            explain(url_of(server), sql, replace(QUICK, writes=writes))


def test_a_stored_function_is_executed_read_only_and_named(server: Server) -> None:
    ask(
        server.session,
        "CREATE FUNCTION count_them() RETURNS int READS SQL DATA"
        " RETURN (SELECT count(*) FROM orders)",
        "CREATE FUNCTION add_one() RETURNS int MODIFIES SQL DATA"
        " BEGIN INSERT INTO orders VALUES (0, 0, ''); RETURN 1; END",
    )
    found = explain(url_of(server), "SELECT count_them()")
    assert any("count_them()" in remark for remark in found.remarks)
    # the server profiles what the function executes, and not the statement
    assert any("SHOW PROFILE does not show" in remark for remark in found.remarks)
    with pytest.raises(UsageError, match="the statement writes"):
        explain(url_of(server), "SELECT add_one()")
    assert ask(server.session, "SELECT count(*) FROM orders WHERE id = 0") == [["0"]]


def test_an_interrupt_ends_the_statement_at_the_server(server: Server) -> None:
    interrupt_explain(server, "SELECT SLEEP(100), id FROM orders", RUNNING)


def list_facts(found: Explanation, name: str) -> tuple[str, ...]:
    return next(stage.facts for stage in found.stages if stage.name == name)


def test_what_the_optimiser_weighed_is_a_line_for_each_table(server: Server) -> None:
    (fact,) = list_facts(explain(url_of(server), BY_CUSTOMER), "optimise")
    assert re.fullmatch(
        r"orders: cost [\d.,]+ by ref of customer(, [\d.,]+ by full table scan)?", fact
    )
    joined = "SELECT * FROM orders a JOIN orders b ON b.customer = a.id WHERE a.customer < 3"
    told = list_facts(explain(url_of(server), joined), "optimise")
    assert [fact.partition(":")[0] for fact in told] == ["a", "b"], told


SWITCHED = (
    "SELECT NAME, ENABLED, TIMED FROM performance_schema.setup_instruments"
    " WHERE NAME LIKE 'stage/%' UNION SELECT NAME, ENABLED, '' FROM"
    " performance_schema.setup_consumers ORDER BY 1"
)


def test_statements_inside_a_function_are_told_and_so_is_what_would_tell_its_stages() -> None:
    with serving("mysql-8.0", performance_schema="ON") as server:
        ask(
            server.session,
            *TABLES,
            "CREATE FUNCTION count_all() RETURNS int READS SQL DATA"
            " BEGIN DECLARE n int; SELECT count(*) INTO n FROM orders; RETURN n; END",
        )
        before = ask(server.session, SWITCHED)
        found = explain(url_of(server), "SELECT count_all()")
        (inner,) = [it for it in found.inner if it.sql.startswith("SELECT count(*) INTO n")]
        assert inner.runs == 1 and inner.us > 0 and "rows examined" in inner.facts[0]
        assert any("SHOW PROFILE does not show" in remark for remark in found.remarks)
        assert ask(server.session, SWITCHED) == before and len(found.switches) == 4
        ask(server.session, *found.switches[:2])
        told = explain(url_of(server), "SELECT count_all()")
        ask(server.session, *found.switches[2:])
        assert {"parse", "open tables", "optimise", "execute"} <= times_of(told).keys()
        assert not told.switches
        assert not any("SHOW PROFILE does not show" in remark for remark in told.remarks)
        assert ask(server.session, SWITCHED) == before


def test_an_answer_that_is_larger_than_we_would_keep_is_explained_all_the_same(
    server: Server,
) -> None:
    large = "SELECT REPEAT('x', 1000000) FROM orders LIMIT 45"
    assert explain(url_of(server), large, replace(QUICK, runs=1)).rows == 45
