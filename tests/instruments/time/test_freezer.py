"""Suspending an engine: all of its processes stand still, those too that it is starting."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from typing import IO

import pytest
from processes import state_of, wait_for

from dyno.driver.plan import SlicePlan
from dyno.host.processes import iterate_stopping_family, list_process_family
from dyno.instruments.time.freezer import NeverFrozen, ProcessFreezer
from dyno.instruments.time.switch import Switch

#: A crowded host keeps a process from its core for longer than a slice would wait for it.
PATIENCE_S = 10.0

FORKS = """
import os, time
while True:
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(0.5)
        os.wait()
        os._exit(0)
    time.sleep(0.001)
"""


def test_a_server_that_starts_children_all_the_time_leaves_none_of_them_running() -> None:
    server = subprocess.Popen([sys.executable, "-c", FORKS], start_new_session=True)
    freezer = ProcessFreezer(lambda: iterate_stopping_family(server.pid, PATIENCE_S))
    try:
        wait_for(lambda: len(list_process_family(server.pid)) > 20)
        freezer.freeze()
        frozen = list_process_family(server.pid)
        wait_for(lambda: not {state_of(pid) for pid in frozen} - {"T", "Z"})
        assert list_process_family(server.pid) == frozen
        freezer.thaw()
        wait_for(lambda: list_process_family(server.pid) != frozen)
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


FORKS_WHEN_TOLD = """
import os, sys, time
sys.stdin.readline()
if os.fork() == 0:
    print("forked", flush=True)
time.sleep(60)
"""


@pytest.mark.slow
def test_a_child_whose_fork_is_under_way_when_its_parent_is_stopped_is_found() -> None:
    """The signal's way to the parent is made long: the child is born after the first reading."""
    command = [sys.executable, "-c", FORKS_WHEN_TOLD]
    server = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
    )
    assert server.stdin and server.stdout

    def fork_and_stop(words: IO[bytes]) -> None:
        if words.readline():
            os.kill(server.pid, signal.SIGSTOP)

    stopping = threading.Thread(target=fork_and_stop, args=(server.stdout,))
    order = threading.Timer(0.2, server.stdin.write, [b"fork\n"])
    try:
        family = iterate_stopping_family(server.pid, PATIENCE_S)
        assert next(family) == server.pid
        stopping.start()
        order.start()
        (child,) = family
        os.kill(child, signal.SIGSTOP)
    finally:
        order.cancel()
        os.killpg(server.pid, signal.SIGKILL)
        stopping.join()
        server.communicate()


def test_a_process_that_may_not_be_signalled_is_counted_and_not_taken_for_suspended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(pid: int, number: int) -> None:
        raise PermissionError if pid == 7 else ProcessLookupError

    monkeypatch.setattr("os.kill", refuse)
    freezer = ProcessFreezer(partial(list, [7, 8]))
    turns = SlicePlan(
        order=(0, 1, 1, 0),
        own=0,
        frozen=True,
        slice_ns=100,
        drain_ns=20,
        ramp_in_ns=10,
        epoch_turns=4,
        connect_ns=50,
    )
    switch = Switch(turns, time.monotonic_ns(), {0: freezer, 1: NeverFrozen()})
    freezer.freeze()
    assert [switch.list_switches()[own].refused for own in (0, 1)] == [1, 0]
