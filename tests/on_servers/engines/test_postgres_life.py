"""A PostgreSQL server's life: where it may live, what it leaves, and that nothing outlives us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from private_postgres import NEW, started
from private_postgres import version as version
from processes import processes_in, processes_left_in, wait_for

from dyno import driver
from dyno.engines import find_engine
from dyno.errors import HostError

pytestmark = [pytest.mark.timeout(400)]


def test_a_stop_leaves_no_process_and_data_that_start_again(version: str, home: Path) -> None:
    engine = find_engine("postgres", driver.ask)
    first = started(version, home)
    driver.ask(first.session, ["CREATE TABLE kept AS SELECT generate_series(1, 1000) AS a"])
    engine.stop(first)
    assert not processes_left_in(home)
    copied = home.with_name("copied")
    subprocess.run(["cp", "-a", str(home), str(copied)], check=True)
    second = started(version, copied)
    assert driver.ask(second.session, ["SELECT count(*) FROM kept"]) == [[["1000"]]]
    log = (copied / "server.log").read_text()
    assert "interrupted" not in log and "automatic recovery" not in log
    engine.stop(second)
    assert not processes_left_in(copied)


def test_a_home_whose_path_is_too_long_for_a_socket_still_works(version: str, home: Path) -> None:
    deep = home / ("deep" * 30)
    deep.mkdir()
    home.chmod(0o755)
    server = started(version, deep)
    assert len(server.session["host"]) <= 107 and Path(server.session["host"]).exists()
    find_engine("postgres", driver.ask).stop(server)
    assert not Path(server.session["host"]).parent.exists() and not processes_in(deep)


STARTER = """
import sys, time
from pathlib import Path
from dyno import driver
from dyno.engines import find_engine
engine = find_engine("postgres", driver.ask)
build = engine.program(sys.argv[1], {}, lambda _: None)
server = engine.start(build, Path(sys.argv[2]), {})
print(server.pid, server.session["host"], flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("stands_still", [False, True])
def test_nothing_outlives_a_starter_that_is_killed(
    version: str, home: Path, stands_still: bool
) -> None:
    deep = home / ("deep" * 30)
    deep.mkdir()
    home.chmod(0o755)
    command = [sys.executable, "-c", STARTER, version, str(deep)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        pid, socket = starter.stdout.readline().split()
        assert int(pid) in processes_in(deep) and Path(socket).exists()
        for each in processes_in(deep) if stands_still else ():
            os.kill(each, signal.SIGSTOP)
        starter.kill()
    assert not processes_left_in(deep, 20)
    wait_for(lambda: not Path(socket).parent.exists())


def test_a_killed_server_leaves_no_backend_after_its_stop(version: str, home: Path) -> None:
    server = started(version, home)
    assert server.pid is not None and len(processes_in(home)) > 1
    os.kill(server.pid, signal.SIGKILL)
    find_engine("postgres", driver.ask).stop(server)
    assert not processes_left_in(home)


def test_a_home_that_its_user_cannot_reach_is_told(home: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root's servers run as another user")
    home.parent.chmod(0o700)
    with pytest.raises(HostError, match=r"may not enter (.|\n)*DYNO_TMP"):
        started(NEW, home)
    assert not processes_left_in(home)
