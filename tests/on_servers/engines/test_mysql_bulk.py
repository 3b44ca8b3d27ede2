"""MySQL and MariaDB in bulk: batches, long statements, `LOAD DATA`."""

from __future__ import annotations

from pathlib import Path

import pytest
from trial import number, play, play_large_batches

from dyno import driver
from dyno.engines import Server
from dyno.errors import DynoError

pytestmark = [pytest.mark.timeout(300)]


def test_a_batch_larger_than_the_sockets_buffers_is_answered(mysql: Server, tmp_path: Path) -> None:
    put = "INSERT INTO b VALUES (?), (7)"
    get = "SELECT REPEAT('x', 500) FROM t WHERE id <= ?"
    play_large_batches(mysql.session, put, get, tmp_path)


BULK = """
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  con:query("INSERT INTO b VALUES (1) /* " .. ("x"):rep(40000000) .. " */")
end
"""


def test_a_statement_larger_than_a_packet(mysql: Server, tmp_path: Path) -> None:
    enlarge = "SET GLOBAL max_allowed_packet = 67108864"
    driver.ask(mysql.session, [enlarge, "DROP TABLE IF EXISTS b", "CREATE TABLE b (i int)"])
    done = play(mysql.session, BULK, tmp_path, events=1)
    assert (done.done, done.rows_changed) == (1, 1)


LOAD = """
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  local rows = dyno.rows.lineitem{scale = 0.02, part = dyno.turn() + 1, parts = 2}
  assert(con:load("LOAD DATA LOCAL INFILE 'rows' INTO TABLE lineitem", rows).nrows > 50000)
end
"""
LINEITEM = "CREATE TABLE lineitem (" + ", ".join(f"c{at} varchar(50)" for at in range(16)) + ")"


@pytest.mark.parametrize("threads", [1, 2])
def test_load_data_loads_all_rows(mysql: Server, tmp_path: Path, threads: int) -> None:
    setup = ["SET GLOBAL local_infile = ON", "DROP TABLE IF EXISTS lineitem", LINEITEM]
    driver.ask(mysql.session, setup)
    done = play(mysql.session, LOAD, tmp_path, events=2, threads=threads)
    assert (done.done, done.failed, done.rows_changed) == (2, 0, 120515)
    assert number(mysql.session, "SELECT COUNT(*) FROM lineitem") == 120515
    assert number(mysql.session, "SELECT COUNT(DISTINCT c0) FROM lineitem") == 30000


def test_a_load_that_the_server_refuses_is_an_error_of_its_event(
    mysql: Server, tmp_path: Path
) -> None:
    # REPLACE and IGNORE aside, rows that come over the network never fail by a duplicate; a
    # trigger does.
    refusing = (
        "CREATE TRIGGER no BEFORE INSERT ON lineitem FOR EACH ROW "
        "IF NEW.c15 LIKE '%furiously%' THEN SIGNAL SQLSTATE '45000'; END IF"
    )
    setup = ["SET GLOBAL local_infile = ON", "DROP TABLE IF EXISTS lineitem", LINEITEM, refusing]
    driver.ask(mysql.session, setup)
    done = play(mysql.session, LOAD, tmp_path, events=2)
    assert (done.failed, done.errors) == (2, {"1644": 2})


def test_a_server_without_local_loads_says_so(mysql: Server, tmp_path: Path) -> None:
    driver.ask(mysql.session, ["SET GLOBAL local_infile = OFF"])
    with pytest.raises(DynoError, match="takes no bulk loads"):
        play(mysql.session, LOAD, tmp_path, events=1)


def test_a_file_that_the_server_asks_for_unasked_is_not_sent(mysql: Server) -> None:
    driver.ask(mysql.session, ["SET GLOBAL local_infile = ON"])
    statement = "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t"
    with pytest.raises(DynoError, match="asked for a local file"):
        driver.ask(mysql.session, [statement])
