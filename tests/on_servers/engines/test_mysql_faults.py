"""MySQL and MariaDB in trouble: errors, deadlocks, lost connections."""

from __future__ import annotations

from pathlib import Path

import pytest
from private_mysql import private
from trial import deadlock, leave_asleep, number, play

from dyno import driver
from dyno.engines import Server
from dyno.errors import DynoError

pytestmark = [pytest.mark.timeout(300)]

FAILS = """
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  turn = (turn or 0) + 1
  con:query("BEGIN")
  con:query("UPDATE t SET n = n + 1 WHERE id = 3")
  if turn % 2 == 0 then con:query("INSERT INTO t (id) VALUES (1)") end
  con:query("COMMIT")
end
"""


def test_an_error_is_counted_by_its_number_and_leaves_no_transaction(
    mysql: Server, tmp_path: Path
) -> None:
    driver.ask(mysql.session, ["UPDATE t SET n = 0"])
    done = play(mysql.session, FAILS, tmp_path, events=10)
    assert (done.done, done.failed, done.errors) == (5, 5, {"1062": 5})
    assert number(mysql.session, "SELECT n FROM t WHERE id = 3") == 5


def test_a_deadlock_begins_the_event_anew(mysql: Server, tmp_path: Path) -> None:
    assert set(deadlock(mysql.session, tmp_path).errors) <= {"1213", "1205"}


# Not by KILL: MySQL 5.6 closes the socket of a thread that is about to poll it, two in a thousand
# times; that thread then waits for ever, and the server never stops.
ENDS = """
function thread_init()
  con = sysbench.sql.driver():connect()
  other = sysbench.sql.driver():connect()
  statements = {}
  for i = 1, 3 do statements[i] = con:prepare("SELECT id + " .. i .. " FROM t WHERE id = 7") end
  statements[2]:close()
end
function await_its_end(id)
  repeat
    other:query("DO SLEEP(0.05)")
    local count = "SELECT count(*) FROM information_schema.processlist WHERE id = " .. id
  until other:query_row(count) == "0"
end
function event()
  turn = (turn or 0) + 1
  if turn == 3 or turn == 6 then
    con:query("SET SESSION wait_timeout = 1")
    await_its_end(con:query_row("SELECT CONNECTION_ID()"))
  end
  assert(con:query_row("SELECT 1") == "1")
  assert(statements[1]:execute():fetch_row()[1] == "8")
  assert(statements[3]:execute():fetch_row()[1] == "10")
end
"""


def test_a_connection_that_ends_is_made_anew_with_its_statements(
    mysql: Server, tmp_path: Path
) -> None:
    done = play(mysql.session, ENDS, tmp_path, events=10)
    assert (done.done, done.failed, done.reconnected) == (8, 2, 2)
    assert sum(done.errors.values()) == 2


GOES = """
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  turn = (turn or 0) + 1
  if turn == 3 then os.execute("kill -KILL SERVER") end
  con:query("SELECT 1")
end
"""


def test_a_server_that_is_gone_ends_the_trial(tmp_path: Path) -> None:
    with private("mysql@5.6.14") as server, pytest.raises(DynoError) as failed:
        play(server.session, GOES.replace("SERVER", str(server.pid)), tmp_path, events=1000)
    assert server.session["host"] in str(failed.value)


ASLEEP = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'"


def test_a_statement_that_nobody_waits_for_any_more_ends_at_the_server(
    mysql: Server, tmp_path: Path
) -> None:
    leave_asleep(mysql.session, "SLEEP(300)", ASLEEP, tmp_path)
