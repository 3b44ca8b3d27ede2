"""A script that never comes back ends with a sentence, wherever it loops."""

from __future__ import annotations

from pathlib import Path

import pytest
from played_scripts import NULL, Player

from dyno import driver
from dyno.driver.plan import Plan, Script, Session
from dyno.engines import find_engine
from dyno.errors import UsageError

LOOP = "while true do end"


@pytest.fixture(params=["null", "sqlite"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Session:
    """An engine that works elsewhere, and one that works in our calls."""
    if request.param == "null":
        return NULL
    engine = find_engine("sqlite", driver.ask)
    return engine.start(engine.program("system", {}, lambda _: None), tmp_path, {}).session


@pytest.mark.parametrize(
    "text",
    [
        f"function init() {LOOP} end function event() end",
        f"function thread_init() {LOOP} end function event() end",
        f"function event() {LOOP} end",
        f"function thread_run() {LOOP} end function event() end",
        f"function event() sysbench.sql.driver():connect():query('SELECT 1') {LOOP} end",
    ],
)
def test_an_endless_loop_ends_the_trial(tmp_path: Path, session: Session, text: str) -> None:
    with pytest.raises(UsageError, match=r"the script ran for 0\.2 s without waiting"):
        Player(tmp_path, session)(text, events=1, script_timeout=0.2)


def test_one_at_load_is_found_when_the_script_is_described(tmp_path: Path) -> None:
    script = tmp_path / "s.lua"
    script.write_text(LOOP)
    with pytest.raises(UsageError, match="without waiting for an answer"):
        driver.describe(Plan(NULL, Script(str(script), {"script_timeout": "0.2"}), 7))


def test_who_waits_is_not_taken_for_who_loops(tmp_path: Path) -> None:
    text = "ffi.cdef[[int usleep(unsigned);]] function event() ffi.C.usleep(400000) end"
    tally, _ = Player(tmp_path)(text, events=1, script_timeout=0.2)
    assert tally.done == 1


@pytest.mark.slow
def test_an_engine_inside_the_call_may_take_its_time(tmp_path: Path) -> None:
    """SQLite counts for longer than the script may keep its thread."""
    engine = find_engine("sqlite", driver.ask)
    session = engine.start(engine.program("system", {}, lambda _: None), tmp_path, {}).session
    text = """
    local COUNT = [[WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
      SELECT count(*) FROM n]]
    function event()
      local con, most, began = sysbench.sql.driver():connect(), 1000, nil
      repeat -- until one statement took longer than the script may
        most, began = most * 2, os.clock()
        con:query(COUNT:format(most))
      until os.clock() - began > 1.5
    end
    """
    tally, _ = Player(tmp_path, session)(text, events=1, script_timeout=1)
    assert tally.done == 1
