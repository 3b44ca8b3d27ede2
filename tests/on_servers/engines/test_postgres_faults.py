"""PostgreSQL in trouble and in bulk: deadlocks, connections that end, batches, `COPY`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from private_postgres import VERSIONS, private
from trial import deadlock, leave_asleep, number, play, play_large_batches

from dyno import driver
from dyno.engines import Server
from dyno.errors import DynoError

pytestmark = [pytest.mark.timeout(300)]


@pytest.fixture(scope="module", params=VERSIONS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with private(request.param) as server:
        yield server


def test_a_deadlock_begins_the_event_anew(server: Server, tmp_path: Path) -> None:
    assert set(deadlock(server.session, tmp_path).errors) == {"40P01"}


ENDS = """
function thread_init()
  con = sysbench.sql.driver():connect()
  statements = {}
  for i = 1, 3 do statements[i] = con:prepare("SELECT id + " .. i .. " FROM t WHERE id = 7") end
  statements[2]:close()
  pid = tonumber(con:query_row("SELECT pg_backend_pid()"))
end
function event()
  turn = (turn or 0) + 1
  if turn == 3 or turn == 6 then
    con:query("SELECT pg_terminate_backend(pg_backend_pid())")
  end
  assert(con:query_row("SELECT 1") == "1")
  assert(statements[1]:execute():fetch_row()[1] == "8")
  assert(statements[3]:execute():fetch_row()[1] == "10")
end
"""


def test_a_connection_that_ends_is_made_anew_with_its_statements(
    server: Server, tmp_path: Path
) -> None:
    done = play(server.session, ENDS, tmp_path, events=10)
    assert (done.done, done.failed, done.reconnected) == (8, 2, 2)
    assert done.errors == {"57P01": 2}


GOES = ENDS.replace("pg_terminate_backend(pg_backend_pid())", "pg_reload_conf()").replace(
    "if turn == 3 or turn == 6 then", "if turn == 3 then os.execute('kill -QUIT ' .. POSTMASTER)"
)


def test_a_server_that_is_gone_ends_the_trial(tmp_path: Path) -> None:
    with private("18") as server, pytest.raises(DynoError) as failed:
        script = GOES.replace("POSTMASTER", str(server.pid))
        play(server.session, f"{script}", tmp_path, events=1000)
    assert server.session["host"] in str(failed.value)


def test_a_batch_larger_than_the_sockets_buffers_is_answered(
    server: Server, tmp_path: Path
) -> None:
    put = "INSERT INTO b SELECT ? FROM generate_series(1, 2)"
    get = "SELECT repeat('x', 500) FROM generate_series(1, ?)"
    play_large_batches(server.session, put, get, tmp_path)


PARTS = """
function thread_init()
  con = sysbench.sql.driver():connect()
  put = con:prepare("INSERT INTO parts VALUES (?)")
  n = put:bind_create(sysbench.sql.type.INT)
  put:bind_param(n)
end
local function queue(...)
  for _, number in ipairs { ... } do n:set(number) put:execute() end
end
function event()
  if is_second then
    assert(con:query_row("SELECT count(*) FROM parts") == "5")
    return
  end
  is_second = true
  con:pipeline_begin()
  queue(1, 2)
  con:pipeline_flush()
  queue(3, 3)                       -- the second is refused, and its part with it
  con:pipeline_flush()
  queue(4)
  local ok, said = pcall(con.pipeline_sync, con)
  assert(not ok and said.sql_state == "23505")
  con:pipeline_begin()
  queue(5)
  con:pipeline_flush()
  queue(6)
  local _, changed = con:pipeline_sync()
  assert(changed == 2, changed)
  con:pipeline_begin()
  con:query("BEGIN")
  queue(7)
  con:pipeline_flush()
  error { errcode = sysbench.error.RESTART_EVENT }
end
"""


def test_parts_of_a_batch_are_sent_ahead_and_fail_alone(server: Server, tmp_path: Path) -> None:
    """An event that ends amid them leaves no transaction, and the answers to come are nobody's."""
    driver.ask(server.session, ["DROP TABLE IF EXISTS parts", "CREATE TABLE parts (n int UNIQUE)"])
    done = play(server.session, PARTS, tmp_path, events=1)
    assert (done.done, done.failed, done.restarted) == (1, 0, 1)
    (rows,) = driver.ask(server.session, ["SELECT n FROM parts ORDER BY n"])
    assert [row[0] for row in rows] == ["1", "2", "4", "5", "6"]


LOAD = """
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  local rows = dyno.rows.lineitem{scale = 0.02, part = dyno.turn() + 1, parts = 2}
  assert(con:load("COPY lineitem FROM STDIN", rows).nrows > 50000)
end
"""
LINEITEM = "CREATE TABLE lineitem (" + ", ".join(f"c{at} text" for at in range(15)) + ", c15 {})"


@pytest.mark.parametrize("threads", [1, 2])
def test_copy_loads_all_rows(server: Server, tmp_path: Path, threads: int) -> None:
    driver.ask(server.session, ["DROP TABLE IF EXISTS lineitem", LINEITEM.format("text")])
    done = play(server.session, LOAD, tmp_path, events=2, threads=threads)
    assert (done.done, done.failed, done.rows_changed) == (2, 0, 120515)
    assert number(server.session, "SELECT count(*) FROM lineitem") == 120515
    assert number(server.session, "SELECT count(DISTINCT c0) FROM lineitem") == 30000


def test_a_copy_that_the_server_refuses_half_way_is_an_error_of_its_event(
    server: Server, tmp_path: Path
) -> None:
    refusing = LINEITEM.format("text CHECK (c15 NOT LIKE '%furiously%')")
    driver.ask(server.session, ["DROP TABLE IF EXISTS lineitem", refusing])
    done = play(server.session, LOAD, tmp_path, events=2)
    assert (done.failed, done.errors) == (2, {"23514": 2})
    assert number(server.session, "SELECT count(*) FROM lineitem") == 0


ASLEEP = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'"


def test_a_statement_that_nobody_waits_for_any_more_ends_at_the_server(
    server: Server, tmp_path: Path
) -> None:
    leave_asleep(server.session, "pg_sleep(300)", ASLEEP, tmp_path)
