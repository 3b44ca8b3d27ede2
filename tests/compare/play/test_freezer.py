"""What suspended processes use all the same is seen, by whomever they were woken."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial

import pytest
from processes import state_of, wait_for

from dyno.compare.play.freezer import NeverFrozen, ProcessFreezer
from dyno.compare.play.switch import Switch
from dyno.driver.plan import SlicePlan
from dyno.record import Suspended

LONG_NS = 100_000_000


@pytest.fixture
def spinner() -> Iterator[int]:
    """A process that uses a core."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        yield process.pid
        process.kill()


def test_a_process_that_stands_still_uses_no_cpu(spinner: int) -> None:
    freezer = ProcessFreezer(partial(list, [spinner]))
    for times in (1, 2):
        freezer.freeze()
        wait_for(lambda: state_of(spinner) == "T")
        time.sleep(0.1)
        freezer.thaw()
        found = freezer.suspended
        assert found and found.times == times and found.time_ns >= times * LONG_NS
        assert found.cpu_ns < found.time_ns / 2


def test_the_cpu_of_a_process_that_somebody_else_wakes_is_counted(spinner: int) -> None:
    freezer = ProcessFreezer(partial(list, [spinner]))
    turns = SlicePlan((0, 1), 0, 100, 20, 10, 0, 0, True)
    freezer.freeze()
    freezer.thaw()  # that was another phase
    switch = Switch(turns, time.monotonic_ns(), {0: freezer, 1: NeverFrozen()})
    freezer.freeze()
    os.kill(spinner, signal.SIGCONT)
    before_ns = time.clock_gettime_ns((~spinner << 3) | 2)
    wait_for(lambda: time.clock_gettime_ns((~spinner << 3) | 2) > before_ns + LONG_NS)
    freezer.thaw()
    own, beside = (switch.switches()[number].suspended for number in (0, 1))
    assert own and own.times == 1 and own.cpu_ns >= LONG_NS
    assert beside is None, "an engine that is never suspended"


def test_a_process_that_is_gone_used_nothing() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    freezer = ProcessFreezer(partial(list, [gone.pid]))
    freezer.freeze()
    freezer.thaw()
    assert freezer.suspended and freezer.suspended.cpu_ns == 0


def test_where_the_kernel_once_refuses_the_cpu_time_the_sum_is_unseen(spinner: int) -> None:
    answers = iter([1, 2, None, 3, 4, 5])

    def read(_: int) -> int:
        if (answer := next(answers)) is None:
            raise PermissionError
        return answer

    freezer = ProcessFreezer(partial(list, [spinner]), read)
    seen = []
    for _ in range(3):
        freezer.freeze()
        freezer.thaw()
        seen.append(freezer.suspended is not None)
    assert seen == [True, False, False]


def test_what_was_suspended_adds_up() -> None:
    one = Suspended(1, 100, 10)
    assert one + one == Suspended(2, 200, 20) and one + one - one == one
