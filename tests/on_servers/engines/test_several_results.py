"""A request with several results is what it is to sysbench: the first, then each of the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from played_scripts import Player

from dyno import driver
from dyno.engines import Server

pytestmark = [pytest.mark.timeout(300)]

PROCEDURE = """CREATE PROCEDURE several(x INT) BEGIN
SELECT 'one', x UNION ALL SELECT 'two', NULL; SELECT 3 FROM DUAL WHERE 1 = 0; SELECT 'last'; END"""

SHOW = """
local function shown(rs)
  local words = {}
  for _ = 1, rs.nrows do
    local row = rs:fetch_row()
    for at = 1, rs.nfields do words[#words + 1] = row[at] or 'NULL' end
  end
  return ("%d x %d: %s"):format(rs.nrows, rs.nfields, table.concat(words, ","))
end
local function show_all(rs, next_result)
  while rs do
    print(shown(rs))
    rs = next_result()
  end
  print("end")
end
"""

SCRIPT = (
    SHOW
    + """
function event()
  local con = sysbench.sql.driver():connect()
  show_all(con:query("CALL several(7)"), function() return con:next_result() end)
  print(con:more_results())
  local stmt = con:prepare("CALL several(?)")
  local x = stmt:bind_create(sysbench.sql.type.INT)
  stmt:bind_param(x)
  x:set(8)
  show_all(stmt:execute(), function() return stmt:next_result() end)
  print(shown(con:query("CALL several(9)")))   -- the others are nobody's
  print(con:query_row("SELECT 10"))
  print(con:query("SELECT 11; SELECT 12").nrows, con:more_results())
  print(shown(con:next_result()))
  con:reconnect()
end
"""
)


def test_a_procedures_results_are_handed_out_one_by_one(mysql: Server, tmp_path: Path) -> None:
    driver.ask(mysql.session, ["DROP PROCEDURE IF EXISTS several", PROCEDURE])
    player = Player(tmp_path, mysql.session)
    tally, _ = player(SCRIPT, events=1)
    rest = ["0 x 1: ", "1 x 1: last", "end"]
    assert player.printed().splitlines() == [
        *("2 x 2: one,7,two,NULL", *rest, "false"),
        *("2 x 2: one,8,two,NULL", *rest),
        *("2 x 2: one,9,two,NULL", "10", "1\ttrue", "1 x 1: 12"),
    ]
    # six requests; each result that was asked for counts as sysbench counts it
    assert (tally.done, tally.queries) == (1, 5 + 3 + 3 + 1)
    assert tally.reconnected == 1, "asked for by the script, it is a reconnection to sysbench"
    driver.ask(mysql.session, ["DROP PROCEDURE several"])


def test_a_statement_is_prepared_of_the_bytes_that_it_is(mysql: Server, tmp_path: Path) -> None:
    text = r"""
function event()
  local con = sysbench.sql.driver():connect()
  con:query("SET NAMES latin1")
  local sql = "SELECT HEX('\228?'), ?"
  for _, stmt in ipairs { con:prepare(sql), con:unprepared(sql) } do
    local x = stmt:bind_create(sysbench.sql.type.INT)
    stmt:bind_param(x)
    x:set(1)
    print(stmt:execute():fetch_row()[1])
  end
end
"""
    player = Player(tmp_path, mysql.session)
    player(text, events=1)
    assert player.printed().split() == ["E43F", "E43F"]
