"""`ask`'s driver: it stays from question to question, is whole or replaced, and ends with us."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from dyno import driver
from dyno.driver import conversation
from dyno.driver.plan import Session
from dyno.errors import DynoError, TrialFailed

SCRIPTED = Path(__file__).with_name("scripted_driver.py")
SERVED: Session = {"kind": "mysql", "host": "db", "port": 1}
#: A server of this host's: its port is added.
LOCAL: Session = {
    **{"kind": "mysql", "host": "127.0.0.1", "user": "u", "password": "p", "database": "d"},
    **{"tls": {"mode": "disable", "ca": None}, "settings": []},
}


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_DRIVER", str(SCRIPTED))


def who(session: Session = SERVED) -> str:
    """The scripted driver that answers."""
    return str(driver.ask(session, ["who"])[0][0][0])


@pytest.mark.usefixtures("scripted")
def test_one_driver_answers_question_after_question_also_after_an_error() -> None:
    first = who()
    with pytest.raises(DynoError, match="it broke"):
        driver.ask(SERVED, ["bad"])
    assert [who(), who(SERVED | {"port": 2})] == [first, first]
    assert who({"kind": "null"}) != first, "an embedded engine has one of its own"


@pytest.mark.usefixtures("scripted")
@pytest.mark.parametrize("statement", ["hang", "die", "SELECT endless"])
def test_a_driver_that_owes_an_answer_is_never_asked_again(statement: str) -> None:
    first = who()
    with pytest.raises(TrialFailed):
        driver.ask(SERVED, [statement], limit_s=1.0)
    assert who() != first
    with pytest.raises(ProcessLookupError):
        os.kill(int(first), 0)


@pytest.mark.usefixtures("scripted")
def test_a_driver_that_died_while_it_waited_is_replaced() -> None:
    first = int(who())
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    assert who() != str(first)


def test_another_program_environment_or_folder_has_another_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "dyno-driver"
    shutil.copy(SCRIPTED, program)
    monkeypatch.setenv("DYNO_DRIVER", str(program))
    met = [who()]
    shutil.copy(SCRIPTED, tmp_path / "built")
    (tmp_path / "built").rename(program)
    met.append(who())
    monkeypatch.setenv("LUA_PATH", "elsewhere")
    met.append(who())
    monkeypatch.chdir(tmp_path)
    met.append(who())
    assert len(set(met)) == 4
    assert who() == met[-1]
    for pid in map(int, met[:-1]):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.usefixtures("scripted")
def test_threads_that_ask_at_once_have_a_driver_each() -> None:
    together = Barrier(3)

    def talk(number: int) -> bool:
        together.wait(20)
        said = [f"{number}: {n}" for n in range(30)]
        return [driver.ask(SERVED, [each])[0][0][0] for each in said] == said

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(talk, range(3)))


def test_a_driver_outlives_the_thread_that_started_it() -> None:
    def refused() -> int:
        with pytest.raises(TrialFailed):
            driver.ask(LOCAL | {"port": 1}, ["SELECT 1"])
        return conversation._idle[-1].process.pid

    conversation._close_idle()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(refused).result()
    assert refused() == first


INTERRUPTED = f"""
import time
from concurrent.futures import ThreadPoolExecutor
from dyno import driver, subprocesses
def who(): return driver.ask({SERVED}, ["who"])[0][0][0]
with ThreadPoolExecutor(1) as pool:
    waited = pool.submit(driver.ask, {SERVED}, ["hang"])
    while not subprocesses._waited:
        time.sleep(0.01)
    idle = who()
    subprocesses.interrupt()
    assert isinstance(waited.exception(20), KeyboardInterrupt)
assert who() == idle
"""


@pytest.mark.usefixtures("scripted")
def test_an_interrupt_ends_the_driver_that_is_waited_for_and_no_other() -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", INTERRUPTED], check=True, timeout=50)


ASKED_TWICE = f"""
import os
from dyno import driver
def who(): return driver.ask({SERVED}, ["who"])[0][0][0]
first = who()
if not (child := os.fork()):
    os._exit(who() == first)
assert os.waitpid(child, 0)[1] == 0, "the child spoke with the parent's driver"
assert who() == first
print(first)
"""


@pytest.mark.usefixtures("scripted")
def test_a_forks_child_has_a_driver_of_its_own_and_none_outlives_python() -> None:
    told = subprocess.check_output([sys.executable, "-c", ASKED_TWICE], timeout=50)
    with pytest.raises(ProcessLookupError):
        os.kill(int(told), 0)


def test_a_killed_dyno_leaves_no_driver_amid_a_question() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        session = LOCAL | {"port": server.getsockname()[1]}
        asked = f"from dyno import driver; driver.ask({session}, ['SELECT 1'])"
        with subprocess.Popen([sys.executable, "-c", asked]) as dyno:
            asking, _ = server.accept()
            with asking:
                dyno.kill()
                asking.settimeout(20)
                assert asking.recv(1) == b""
