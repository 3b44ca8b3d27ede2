"""A server's process, with a shell script for a server: its user, its socket, its every end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from inhabitants import inhabitants, left_in

from dyno.engines import NO_CONDITIONS, Server, StartConditions, _server
from dyno.engines._server import account, socket
from dyno.errors import HostError, TrialFailed

#: Says its words, "listens", starts a child in a session of its own, and obeys SIGTERM.
OBEDIENT = """
echo "child of mine"
trap 'echo stopping; kill $child; rm -f socket; exit 0' TERM
setsid /bin/sh -c 'while :; do sleep 0.05; done' & child=$!
touch socket
while :; do sleep 0.05; done
"""
STUBBORN = OBEDIENT.replace("kill $child; rm -f socket; exit 0", "")
DYING = "echo 'no room for tables'; exit 3"
LACKING = "echo 'mysqld: error while loading shared libraries: libaio.so.1: cannot open'; exit 127"


def launch(home: Path, script: str, under: StartConditions = NO_CONDITIONS) -> _server.Launch:
    command = ("/bin/sh", "-c", script)
    return _server.Launch("thing 1.0", command, home, socket.place_socket(home, "socket"), under)


def started(home: Path, script: str) -> Server:
    running = _server.start_server(launch(home, script))
    _server.wait_ready(running, lambda: None)
    return Server({}, home, running.process.pid, running.log, running)


def test_a_server_starts_answers_and_stops(home: Path) -> None:
    server = started(home, OBEDIENT)
    assert server.pid in inhabitants(home)
    assert server.handle.poll() is None
    _server.stop_server(server)
    assert (home / "server.log").read_text() == "child of mine\nstopping\n"
    assert not left_in(home, 10)
    assert server.handle.poll() == 0
    _server.stop_server(server)


def test_a_server_is_not_root_and_owns_its_home(home: Path) -> None:
    server = started(home, OBEDIENT)
    uid = Path(f"/proc/{server.pid}").stat().st_uid
    assert uid == home.stat().st_uid == account.server_account().uid != 0
    assert home.stat().st_mode & 0o777 == 0o700
    _server.stop_server(server)


def test_a_server_that_stands_still_is_woken_to_stop(home: Path) -> None:
    server = started(home, OBEDIENT)
    assert server.pid is not None
    os.kill(server.pid, signal.SIGSTOP)
    _server.stop_server(server)
    assert (home / "server.log").read_text() == "child of mine\nstopping\n"
    assert not left_in(home, 10)


def test_a_server_that_does_not_stop_is_killed_with_its_children(home: Path) -> None:
    server = started(home, STUBBORN)
    assert server.pid is not None and server.log is not None
    os.kill(server.pid, signal.SIGTERM)
    ends_s = time.monotonic() + 20
    while "stopping" not in server.log.read_text() and time.monotonic() < ends_s:
        time.sleep(0.02)
    with pytest.raises(TrialFailed, match=r"did not stop in 0 s and was killed(.|\n)*stopping"):
        _server.stop_server(server, limit_s=0.2)
    assert not left_in(home, 10)


def test_a_server_that_dies_at_its_start_leaves_its_words(home: Path) -> None:
    with pytest.raises(TrialFailed, match=r"thing 1\.0 did not start(.|\n)*no room for tables"):
        started(home, DYING)


def test_a_missing_library_is_the_hosts_with_the_package(home: Path) -> None:
    with pytest.raises(HostError, match=r"no libaio\.so\.1") as caught:
        started(home, LACKING)
    assert "libaio1" in caught.value.hint


def test_a_server_that_never_answers_is_killed_at_the_deadline(home: Path) -> None:
    def refuse() -> None:
        raise TrialFailed("it starts up")

    def interrupt() -> None:
        raise KeyboardInterrupt

    running = _server.start_server(launch(home, OBEDIENT))
    _server.wait_ready(running, lambda: None)
    with pytest.raises(TrialFailed, match=r"did not answer in 0 s \(it starts up\)"):
        _server.wait_ready(running, refuse, limit_s=0.4)
    assert running.poll() is not None and not left_in(home, 10)
    again = _server.start_server(launch(home, OBEDIENT))
    with pytest.raises(KeyboardInterrupt):
        _server.wait_ready(again, interrupt)
    assert again.poll() is not None and not left_in(home, 10)


def test_the_controls_reach_the_server(home: Path) -> None:
    under = StartConditions(("nice", "-n", "3"), {"FILLER": "xxx"})
    running = _server.start_server(
        launch(home, 'echo "$(nice) $FILLER"; touch socket; sleep 60', under)
    )
    _server.wait_ready(running, lambda: None)
    assert running.log.read_text() == "3 xxx\n"
    _server.kill_server(running)


STARTER = """
import sys, time
from pathlib import Path
sys.path[:0] = [sys.argv[2], str(Path(sys.argv[2]).parents[1])]
import test_servers
print(test_servers.started(Path(sys.argv[1]), test_servers.STUBBORN).pid, flush=True)
time.sleep(60)
"""


def test_nothing_outlives_a_starter_that_is_killed(home: Path) -> None:
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", STARTER, str(home), here]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        assert Path(f"/proc/{pid}").exists()
        starter.kill()
    for _ in range(200):
        if pid not in inhabitants(home):
            break
        time.sleep(0.05)
    assert pid not in inhabitants(home)
    for left in inhabitants(home):
        with suppress(ProcessLookupError):  # a `sleep 0.05` of its child's
            os.kill(left, signal.SIGKILL)
