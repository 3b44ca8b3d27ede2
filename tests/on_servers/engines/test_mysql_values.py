"""Values on their way to MySQL and MariaDB and back, in both protocols."""

from __future__ import annotations

from pathlib import Path

import pytest
from trial import carry_values, play

from dyno import driver
from dyno.engines import Server

pytestmark = [pytest.mark.timeout(300)]

#: A literal of every type that a row may hold.
TYPES = """CREATE TABLE types (
  a tinyint, b smallint unsigned, c mediumint, d int unsigned zerofill, e bigint unsigned,
  f float, g double, h double(10, 3), i decimal(20, 5), j bit(9), k date, l datetime, m timestamp
  NULL, n time, o year, p char(5), q varchar(5), r blob, s text, t enum('x', 'y'), u set('x', 'y')
)"""
VALUES = """INSERT INTO types VALUES
  (-128, 65535, -8388608, 7, 18446744073709551615, 0.1, 1e-7, 2.5, -12.30, b'101010101',
   '2024-02-29', '2024-02-29 23:59:58', '2024-02-29 01:02:03', '-123:04:05', 1999, 'abc', '', 'ü',
   REPEAT('x', 300), 'y', 'x,y'),
  (1, 1, 1, 4294967295, 1, 16777216, 123456789012345678, -1e-3, 0, b'1', '1000-01-01',
   '1000-01-01 00:00:00', NULL, '838:59:59', 2155, '', NULL, '', NULL, 'x', ''),
  (NULL, NULL, NULL, NULL, NULL, 3.14159265, 100000, 1, NULL, NULL, NULL, NULL, NULL, '00:00:00',
   NULL, NULL, NULL, NULL, NULL, NULL, NULL)"""
COMPARES = """
function event()
  local con = sysbench.sql.driver():connect()
  local text = con:query("SELECT * FROM types")
  local binary = con:prepare("SELECT * FROM types"):execute()
  for row = 1, 3 do
    local a, b = text:fetch_row(), binary:fetch_row()
    for i = 1, 21 do
      assert(a[i] == b[i], row .. " " .. i .. ": " .. tostring(a[i]) .. " ~= " .. tostring(b[i]))
    end
  end
end
"""


def test_binary_rows_read_as_text_rows_do(mysql: Server, tmp_path: Path) -> None:
    driver.ask(mysql.session, ["DROP TABLE IF EXISTS types", TYPES, VALUES])
    done = play(mysql.session, COMPARES, tmp_path, events=1)
    assert (done.done, done.failed) == (1, 0)


def test_values_travel_there_and_back(mysql: Server, tmp_path: Path) -> None:
    driver.ask(mysql.session, ["UPDATE t SET n = 0"])
    done = carry_values(mysql.session, tmp_path, events=1)
    assert (done.done, done.failed, done.rows_read, done.rows_changed) == (1, 0, 2, 2)


def test_a_row_larger_than_a_packet(mysql: Server) -> None:
    driver.ask(mysql.session, ["SET GLOBAL max_allowed_packet = 67108864"])
    (((big,),),) = driver.ask(mysql.session, ["SELECT REPEAT('abc', 12000000)"])
    assert big is not None
    assert len(big) == 36000000
    assert big.endswith("abc")
