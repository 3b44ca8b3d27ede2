"""The injected delay: a preloaded library that slows answers down by a known amount, and counts
it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dyno.errors import UsageError
from dyno.host.controls import ControlResult, ControlTarget
from dyno.host.controls.inject import CONTROL
from dyno.host.probes import ProbeTarget
from dyno.host.probes.inject import PROBE
from dyno.instruments.time.controls import ControlStack

#: Gives 100 answers each way: over a socket, and by unlocking a file.
ANSWERS = """
import fcntl, socket, sys, tempfile
ours, theirs = socket.socketpair()
with tempfile.TemporaryFile() as file:
    for _ in range(100):
        ours.send(b"x") if sys.argv[1] == "send" else fcntl.lockf(file, fcntl.LOCK_UN)
"""


def held(value: str) -> dict[str, str]:
    with CONTROL.hold(value, ControlTarget()) as found:
        return found.environment


def counted(home: Path, value: str, way: str = "send") -> dict[str, float]:
    """What the library counts in a process that gives 100 answers."""
    surroundings = {**os.environ, **held(value), "TMPDIR": str(home)}
    subprocess.run([sys.executable, "-c", ANSWERS, way], env=surroundings, check=True, timeout=30)
    return PROBE.sample(ProbeTarget(1, 1, home))


@pytest.mark.parametrize("way", ["send", "unlock"])
def test_each_answer_is_held_up_by_the_size(tmp_path: Path, way: str) -> None:
    found = counted(tmp_path, "100000ns", way)
    assert found["injected_answers"] == 100
    assert found["injected_ns"] >= 100 * 100_000


def test_one_answer_in_fifty_is_held_up(tmp_path: Path) -> None:
    found = counted(tmp_path, "5000000ns/50")
    assert found["injected_answers"] == 100
    assert 2 * 5_000_000 <= found["injected_ns"] < 50 * 5_000_000


def test_small_delays_are_saved_up_and_none_is_lost(tmp_path: Path) -> None:
    """Of 100 times 900 ns eighty microseconds are spun, and ten are still owed."""
    found = counted(tmp_path, "900ns")
    assert found["injected_answers"] == 100
    assert found["injected_ns"] > 100 * 900 - 40_000


def test_a_delay_for_one_answer_in_some_is_not_saved_up(tmp_path: Path) -> None:
    found = counted(tmp_path, "2000ns/50")
    assert found["injected_ns"] >= 2 * 2000


def test_an_injected_delay_of_nothing_counts_answers_and_spins_for_none(tmp_path: Path) -> None:
    assert counted(tmp_path, "0ns") == {"injected_ns": 0.0, "injected_answers": 100.0}


def test_what_cannot_be_counted_is_not_injected(tmp_path: Path) -> None:
    """No folder for the counts: the program runs, and nothing is spun."""
    assert counted(tmp_path / "gone", "0ns") == {}


def test_without_the_control_nothing_is_loaded_and_nothing_is_counted(tmp_path: Path) -> None:
    assert held("keep") == {}
    assert PROBE.sample(ProbeTarget(1, 1, tmp_path)) == {}


def test_the_delay_stands_beside_another_library_that_is_preloaded() -> None:
    first, second = (
        ControlResult({}, environment={"LD_PRELOAD": "a.so"}),
        ControlResult({}, environment={"B": "1"}),
    )
    joined = (
        ControlStack()
        .with_control("one", first)
        .with_control("two", second)
        .with_control("inject", first)
    )
    assert joined.environment == {"LD_PRELOAD": "a.so:a.so", "B": "1"}


@pytest.mark.parametrize("value", ["on", "250", "250us", "-1ns", "2000000000ns", "5ns/0", ""])
def test_a_delay_is_a_time_in_ns(value: str) -> None:
    with pytest.raises(UsageError, match="unknown value of inject"):
        CONTROL.check(value)
