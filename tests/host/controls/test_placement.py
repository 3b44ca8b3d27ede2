"""A server that runs already is placed with all it began, and put back however we end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from dyno.host.controls import ControlTarget, load_controls
from dyno.host.controls.pinning import explain_why_not, keep_placed
from dyno.record import PinningCondition

CORES = sorted(os.sched_getaffinity(0))
#: Holds a process on a core until it is killed.
HOLDER = """
import sys, time
from dyno.host.controls.pinning import keep_placed
with keep_placed(int(sys.argv[1]), [int(sys.argv[2])]) as why:
    print(why or "placed", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def server() -> Iterator[subprocess.Popen[bytes]]:
    """A process with a child, as a server with a backend; a line of input begets another."""
    words = ["sh", "-c", "sleep 60 & echo; read _; sleep 60 & echo; wait"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, start_new_session=True) as process:
        assert process.stdout
        process.stdout.readline()
        yield process
        os.killpg(process.pid, signal.SIGKILL)


def family(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [pid, *map(int, found.stdout.split())]


def affinities(pid: int) -> list[set[int]]:
    return [os.sched_getaffinity(each) for each in family(pid)]


def wait_for(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end_s, "it never came"
        time.sleep(0.02)


def test_the_server_its_children_and_those_to_come_are_placed_and_put_back(
    server: subprocess.Popen[bytes],
) -> None:
    assert server.stdin and server.stdout
    with keep_placed(server.pid, CORES[:1]) as why:
        assert why == ""
        server.stdin.write(b"\n")
        server.stdin.flush()
        server.stdout.readline()
        assert affinities(server.pid) == [{CORES[0]}] * 3
        with keep_placed(server.pid, CORES[:1]) as again:  # the same server as two candidates
            assert again == ""
        assert affinities(server.pid) == [{CORES[0]}] * 3
    assert affinities(server.pid) == [set(CORES)] * 3


def test_a_holder_that_is_killed_leaves_nothing_placed(server: subprocess.Popen[bytes]) -> None:
    words = [sys.executable, "-c", HOLDER, str(server.pid), str(CORES[0])]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as holder:
        assert holder.stdout and holder.stdout.readline() == b"placed\n"
        assert affinities(server.pid) == [{CORES[0]}] * 2
        holder.kill()
    wait_for(lambda: affinities(server.pid) == [set(CORES)] * 2)


def test_a_server_of_which_no_process_is_known_here_is_not_placed() -> None:
    assert "runs already" in explain_why_not(None)
    with keep_placed(None, CORES) as why:
        assert "may be on another host" in why


@pytest.mark.skipif(len(CORES) < 2, reason="one core cannot be divided")
def test_pinning_an_attached_server_is_on_record_as_that_of_a_started_one(
    server: subprocess.Popen[bytes],
) -> None:
    subject = ControlTarget(embedded=False, attached=True, pid=server.pid)
    assert load_controls()["pinning"].find_refusal("apart", subject) == ""
    with load_controls()["pinning"].hold("apart", subject) as held:
        driver, engine = CORES[-max(1, len(CORES) // 4) :], CORES[: -max(1, len(CORES) // 4)]
        assert held.pinning == PinningCondition(tuple(driver), tuple(engine))
        assert held.found["set"] == "apart" and "refused" not in held.found
        assert affinities(server.pid) == [set(engine)] * 2
    assert affinities(server.pid) == [set(CORES)] * 2
