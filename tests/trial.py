"""A script's text, played by the real driver through its handshake: what tests of servers share."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from threading import Timer

from dyno import driver
from dyno.driver import DriverLaunch, DriverProcess, Limit
from dyno.driver.plan import Plan, Script, Session
from dyno.record import PhaseRecord, Tally

PATIENCE_S = 40.0


def play(session: Session, text: str, folder: Path, **options: object) -> Tally:
    """Plays `run` of a script and answers what its first stream did."""
    path = folder / "script.lua"
    path.write_text(text)
    script = Script(str(path), {name: str(value) for name, value in options.items()})
    return played(Plan(session, script, seed=7, commands=("run",), progress_s=0)).streams[0]


def played(plan: Plan, begun: Callable[[int], None] = lambda _pid: None) -> PhaseRecord:
    """Plays a plan and answers its last phase; `begun` hears the driver's number beforehand."""
    record = None
    with DriverProcess(
        plan, DriverLaunch(Path(plan.script.path).with_name("driver.log"))
    ) as process:
        begun(process.pid)
        limit = Limit("the script", PATIENCE_S)
        while not isinstance(event := process.read_event(limit), driver.End):
            record = event if isinstance(event, PhaseRecord) else record
            process.go()
    assert record is not None, "no phase was played"
    return record


def play_interrupted(session: Session, text: str, folder: Path, after_s: float) -> None:
    """Plays `run` of a script until a SIGINT so long after its driver began, and to its end."""
    path = folder / "script.lua"
    path.write_text(text)
    script = Script(str(path), {"time": "600"})
    plan = Plan(session, script, seed=7, commands=("run",), progress_s=0)
    alarms = []

    def begun(pid: int) -> None:
        alarms.append(Timer(after_s, os.kill, (pid, signal.SIGINT)))
        alarms[0].start()

    played(plan, begun)


def number(session: Session, statement: str) -> int:
    """The one number that a statement answers."""
    (((found,),),) = driver.ask(session, [statement])
    return int(found or 0)


_LOCKS = """
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  local first = sysbench.tid % 2 * 10 + 1
  con:query("BEGIN")
  con:query("UPDATE t SET n = n + 1 WHERE id = " .. first)
  con:query("UPDATE t SET n = n + 1 WHERE id = " .. 12 - first)
  con:query("COMMIT")
end
"""


def deadlock(session: Session, folder: Path) -> Tally:
    """Plays 300 events of four users who lock two rows of `t` in either order: each is begun anew
    until it is done, and both rows have every event.
    """
    ids = (1, 11)
    before = [number(session, f"SELECT n FROM t WHERE id = {id}") for id in ids]
    done = play(session, _LOCKS, folder, events=300, threads=4)
    assert (done.done, done.failed) == (300, 0)
    assert done.restarted == sum(done.errors.values()) > 0
    after = [number(session, f"SELECT n FROM t WHERE id = {id}") for id in ids]
    assert after == [each + 300 for each in before]
    return done


_SLEEPS = """
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT {}") end
"""


def leave_asleep(session: Session, sleep: str, count: str, folder: Path) -> None:
    """Interrupts a script amid a statement that sleeps for long; it ends at the server, too."""
    play_interrupted(session, _SLEEPS.format(sleep), folder, 1.5)
    began = time.monotonic()
    while number(session, count):
        assert time.monotonic() - began < 30, "it sleeps on"


_VALUES = """
function event()
  local con = sysbench.sql.driver():connect()
  local put = con:prepare("UPDATE t SET n = ?, x = ?, s = ? WHERE id = ? /* what? */")
  local t, cells = sysbench.sql.type, {}
  for at, kind in ipairs{t.BIGINT, t.DOUBLE, t.VARCHAR, t.INT} do
    cells[at] = put:bind_create(kind, 20)
  end
  put:bind_param(unpack(cells))
  cells[1]:set(-5000000000) cells[2]:set(0.125) cells[3]:set("it's 'ü'") cells[4]:set(1)
  assert(put:execute().nrows == 1)
  cells[2]:set(nil) cells[3]:set(nil) cells[4]:set(2)
  assert(put:execute().nrows == 1)
  local get = con:prepare("SELECT n, x, s FROM t WHERE id <= ? ORDER BY id")
  local id = get:bind_create(t.INT)
  get:bind_param(id)
  id:set(2)
  local rows = get:execute()
  local a, b = rows:fetch_row(), rows:fetch_row()
  assert(a[1] == "-5000000000" and a[2] == "0.125" and a[3] == "it's 'ü'", a[3])
  assert(b[1] == "-5000000000" and b[2] == nil and b[3] == nil)
  get:close()
end
"""


def carry_values(session: Session, folder: Path, events: int) -> Tally:
    """Plays events that write numbers, texts and NULLs to two rows of `t`, and read them as they
    were written.
    """
    return play(session, _VALUES, folder, events=events)


_BATCH = """
function thread_init()
  con = sysbench.sql.driver():connect()
  put = con:prepare("PUT")
  get = con:prepare("GET")
  n = put:bind_create(sysbench.sql.type.INT)
  put:bind_param(n)
  get:bind_param(n)
  n:set(100)
end
function event()
  con:pipeline_begin()
  for i = 1, 200 do
    put:execute()
    get:execute()
  end
  con:query("DELETE FROM b WHERE i < 0")
  local rows, changed = con:pipeline_sync()
  assert(rows == 200 * 100 and changed == 200 * 2, rows .. " " .. changed)
end
"""


def play_large_batches(session: Session, put: str, get: str, folder: Path) -> None:
    """Plays batches larger than the sockets' buffers, into a table `b` of its own: `put` adds two
    rows, one of its parameter; `get` answers 100 texts of 500 letters.
    """
    driver.ask(session, ["DROP TABLE IF EXISTS b", "CREATE TABLE b (i int)"])
    script = _BATCH.replace("PUT", put).replace("GET", get)
    done = play(session, script, folder, events=6, threads=2)
    assert (done.done, done.failed) == (6, 0)
    assert number(session, "SELECT count(*) FROM b") == 6 * 400
