"""Real MySQL servers, old and new: started, read back, settled, stopped, killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from mysql_family import answers, asked, build, processes_left_in, running

from dyno.engines import Engine, Server, Snapshots
from dyno.errors import UsageError

pytestmark = [pytest.mark.timeout(1200)]

OLD, NEW = "mysql@5.6.24", "mysql@8.0.33"

#: Starts a server, says its process, and waits to be killed.
STARTER = """
import sys, time
from pathlib import Path
from mysql_family import build
engine, program, settings = build(sys.argv[1])
print(engine.start(program, Path(sys.argv[2]), settings).pid, flush=True)
time.sleep(600)
"""


@pytest.fixture(params=[OLD, NEW])
def server(request: pytest.FixtureRequest, home: Path) -> Iterator[tuple[Engine, Server]]:
    with running(f"{request.param}?max_connections=77&log_bin=on", home) as both:
        yield both


def test_a_server_runs_as_it_was_asked_to_and_as_nobody_else(
    server: tuple[Engine, Server],
) -> None:
    engine, started = server
    told = engine.settings(started)
    assert told["max_connections"] == "77" and told["log_bin"] == "ON"
    assert told["innodb_buffer_pool_size"] == str(1 << 30)
    assert told["performance_schema"] == told["skip_grant_tables"] == "OFF"
    assert (told["skip_networking"] == "ON" and told["port"] == "0") or told["port"]
    assert not [value for value in told.values() if str(started.home) in value]
    assert started.pid is not None
    owner = Path(f"/proc/{started.pid}").stat().st_uid
    assert owner != 0
    assert (owner == os.geteuid()) == (os.geteuid() != 0)
    rows = asked(started, "SELECT CURRENT_USER(), DATABASE(), @@character_set_database")
    assert rows == [["root@localhost", "dyno", "latin1"]]


def test_settling_writes_the_pages_back_and_leaves_the_settings(
    server: tuple[Engine, Server],
) -> None:
    engine, started = server
    before = engine.settings(started)
    doubled = "INSERT INTO t (v) SELECT v FROM t"
    dirty = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_%'"
    found = asked(
        started,
        "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v CHAR(250))",
        "INSERT INTO t (v) VALUES (REPEAT('x', 250))",
        *[doubled] * 14,
        dirty,
    )
    assert int(answers(found)["Innodb_buffer_pool_pages_dirty"]) > 0
    engine.settle(started)
    pages = answers(asked(started, dirty))
    total = int(pages["Innodb_buffer_pool_pages_total"])
    assert int(pages["Innodb_buffer_pool_pages_dirty"]) <= 0.01 * total
    rows = "SELECT TABLE_ROWS FROM information_schema.TABLES WHERE TABLE_NAME = 't'"
    assert abs(int(asked(started, rows)[0][0] or 0) - 2**14) < 2**13
    assert engine.settings(started) == before


def test_stopping_keeps_the_data_and_nothing_else(home: Path) -> None:
    with running(OLD, home) as (engine, server):
        asked(server, "CREATE TABLE t (id INT)", "INSERT INTO t VALUES (7)")
    assert processes_left_in(home) == []
    assert not (home / "mysqld.sock").exists()
    moved = home.rename(home.with_name("moved"))
    assert isinstance(engine, Snapshots)
    with running(f"{OLD}?profile=io-bound", moved) as (engine, server):
        assert asked(server, "SELECT id FROM t") == [["7"]]
        assert engine.settings(server)["innodb_buffer_pool_size"] == str(128 << 20)


def test_without_grants_nobody_is_asked_who_he_is(home: Path) -> None:
    with running(f"{NEW}?skip_grant_tables=on", home) as (engine, server):
        assert engine.settings(server)["skip_grant_tables"] == "ON"


def test_a_storage_engine_is_chosen_or_refused_with_the_nearest(home: Path) -> None:
    with running(f"{OLD}?engine=myisam", home) as (engine, server):
        asked(server, "CREATE TABLE t (id INT)")
        rows = asked(server, "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_NAME='t'")
        assert rows == [["MyISAM"]]
        engine.settle(server)
    other = home.with_name("other")
    other.mkdir()
    engine, program, settings = build(f"{OLD}?engine=InnoDBB")
    with pytest.raises(UsageError, match=r"storage engine of mysql 5\.6\.24 'InnoDBB'") as caught:
        engine.start(program, other, settings)
    assert "InnoDB" in caught.value.hint
    assert processes_left_in(other) == []


def test_ones_own_file_is_what_the_server_reads(home: Path) -> None:
    file = home.with_name("my.cnf")
    file.write_text("[mysqld]\nmax_connections=55\nperformance_schema=ON\n")
    with running(f"{OLD}?config={file}", home) as (engine, server):
        told = engine.settings(server)
        assert (told["max_connections"], told["performance_schema"]) == ("55", "ON")
        assert told["innodb_buffer_pool_size"] == str(128 << 20)


def test_killing_the_starter_kills_the_server(home: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", STARTER, OLD, str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as starter:
        assert starter.stdout is not None
        assert int(starter.stdout.readline())
        assert len(processes_left_in(home)) == 1
        starter.send_signal(signal.SIGKILL)
    ends_s = time.monotonic() + 30
    while processes_left_in(home) and time.monotonic() < ends_s:
        time.sleep(0.05)
    assert processes_left_in(home) == []
