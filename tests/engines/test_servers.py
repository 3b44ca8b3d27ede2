"""A server's process, with a shell script for a server: its user, its socket, its every end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from processes import processes_in, processes_left_in

from dyno.access import account
from dyno.engines import NO_CONDITIONS, Server, StartConditions, _server
from dyno.engines._server import process, watchdog
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


def launch(home: Path, script: str, under: StartConditions = NO_CONDITIONS) -> _server.ServerLaunch:
    command = ("/bin/sh", "-c", script)
    return _server.ServerLaunch(
        "thing 1.0", command, home, account.place_socket(home, "socket"), under
    )


def started(home: Path, script: str) -> Server:
    running = _server.start_server(launch(home, script))
    _server.wait_ready(running, lambda: None)
    return Server({}, home, running.process.pid, running.log, running)


def test_a_server_starts_answers_and_stops(home: Path) -> None:
    server = started(home, OBEDIENT)
    assert server.pid in processes_in(home)
    assert server.handle.poll() is None
    _server.stop_server(server)
    assert (home / "server.log").read_text() == "child of mine\nstopping\n"
    assert not processes_left_in(home, 10)
    assert server.handle.poll() == 0
    _server.stop_server(server)


def test_a_server_is_not_root_and_owns_its_home(home: Path) -> None:
    server = started(home, OBEDIENT)
    uid = Path(f"/proc/{server.pid}").stat().st_uid
    assert uid == home.stat().st_uid == account.find_server_account().uid != 0
    assert home.stat().st_mode & 0o777 == 0o700
    _server.stop_server(server)


def test_a_server_that_stands_still_is_woken_to_stop(home: Path) -> None:
    server = started(home, OBEDIENT)
    assert server.pid is not None
    os.kill(server.pid, signal.SIGSTOP)
    _server.stop_server(server)
    assert (home / "server.log").read_text() == "child of mine\nstopping\n"
    assert not processes_left_in(home, 10)


def test_a_server_that_does_not_stop_is_killed_with_its_children(home: Path) -> None:
    server = started(home, STUBBORN)
    assert server.pid is not None and server.log is not None
    os.kill(server.pid, signal.SIGTERM)
    ends_s = time.monotonic() + 20
    while "stopping" not in server.log.read_text() and time.monotonic() < ends_s:
        time.sleep(0.02)
    with pytest.raises(TrialFailed, match=r"did not stop in 0 s and was killed(.|\n)*stopping"):
        _server.stop_server(server, limit_s=0.2)
    assert not processes_left_in(home, 10)


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
    assert running.poll() is not None and not processes_left_in(home, 10)
    again = _server.start_server(launch(home, OBEDIENT))
    with pytest.raises(KeyboardInterrupt):
        _server.wait_ready(again, interrupt)
    assert again.poll() is not None and not processes_left_in(home, 10)


def test_the_controls_reach_the_server(home: Path) -> None:
    under = StartConditions(("nice", "-n", "3"), {"FILLER": "xxx"})
    running = _server.start_server(
        launch(home, 'echo "$(nice) $FILLER"; touch socket; sleep 60', under)
    )
    _server.wait_ready(running, lambda: None)
    assert running.log.read_text() == f"{os.nice(0) + 3} xxx\n"
    _server.kill_server(running)


#: Starts as if in the background of a script, where SIGINT and SIGQUIT are ignored.
STARTER = """
import signal, sys, time
from pathlib import Path
sys.path[:0] = [sys.argv[2], str(Path(sys.argv[2]).parent)]
signal.signal(signal.SIGQUIT, signal.SIG_IGN)
import test_servers
print(test_servers.{word}(Path(sys.argv[1])), flush=True)
time.sleep(60)
"""
#: Says how SIGQUIT is taken.
TELLING = "grep SigIgn /proc/self/status; touch socket; sleep 60"
#: No handler yet, and its death signal without effect; it has forked, and answers nobody.
DEAF = """
trap '' QUIT TERM
setsid /bin/sh -c 'while :; do sleep 0.05; done' &
while :; do sleep 0.05; done
"""


def stubborn(home: Path) -> int | None:
    return started(home, STUBBORN).pid


def frozen(home: Path) -> int:
    """One that stands still with all its children, before it answers anybody."""
    pid = deaf(home)
    while len(processes_in(home)) < 3:
        time.sleep(0.01)
    for each in processes_in(home):
        with suppress(ProcessLookupError):  # a `sleep` of the loop, over by now
            os.kill(each, signal.SIGSTOP)
    return pid


def deaf(home: Path) -> int:
    return _server.start_server(replace(launch(home, DEAF), dies_on=signal.SIGQUIT)).process.pid


def telling(home: Path) -> str:
    log: Path = started(home, TELLING).handle.log
    return log.read_text().split()[1]


def tool(home: Path) -> None:
    """A tool of a server's, killed with its starter before it is over."""
    sys.stdout.write("it runs\n")
    sys.stdout.flush()
    process.run_tool(["/bin/sh", "-c", DEAF], home)


def begun(word: str, home: Path) -> subprocess.Popen[str]:
    """A starter that plays the function `word`."""
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", STARTER.format(word=word), str(home), here]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("word", ["stubborn", "deaf", "frozen", "tool"])
@pytest.mark.parametrize("later_s", [0.0, 0.2])
def test_nothing_outlives_a_starter_that_is_killed(home: Path, word: str, later_s: float) -> None:
    with begun(word, home) as starter:
        assert starter.stdout is not None and starter.stdout.readline()
        time.sleep(later_s)
        starter.kill()
    assert not processes_left_in(home, 10)


def test_a_signal_that_we_inherited_as_ignored_is_not_handed_on(home: Path) -> None:
    with begun("telling", home) as starter:
        assert starter.stdout is not None
        ignored = int(starter.stdout.readline(), 16)
        starter.kill()
    assert not ignored & 1 << (signal.SIGQUIT - 1)
    assert not processes_left_in(home, 10)


def test_a_home_that_is_made_anew_meanwhile_is_another(home: Path) -> None:
    with begun("deaf", home) as starter:
        assert starter.stdout is not None and starter.stdout.readline()
        starter.kill()
    shutil.rmtree(home)
    home.mkdir()
    with subprocess.Popen(["/bin/sleep", "60"], cwd=home) as resumed:
        time.sleep(watchdog.GRACE_S + 1.0)
        assert resumed.poll() is None
        assert list(processes_in(home)) == [resumed.pid]
        resumed.kill()


def test_a_watchdog_that_stands_still_keeps_nobody_waiting(home: Path) -> None:
    dog = process.begin_watchdog([Path("/bin/sh")], home, signal.SIGTERM)
    os.kill(dog.pid, signal.SIGSTOP)
    process.end_watchdog(dog)
    assert dog.returncode == -signal.SIGKILL
