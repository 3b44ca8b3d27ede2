"""`dyno calibrate` is killed and goes on; `--show` only reads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from dyno.compare import calibration
from dyno.compare.calibration import CalibrationEntry
from dyno.runs.resolve.experiment import describe_host

pytestmark = pytest.mark.chaos

WORDS = [sys.executable, "-m", "dyno.cli", "calibrate"]
SMALL = ["--engine", "null@200us", "--kind", "aa", "--times", "2", "--blocks", "3"]
SHORT = ["--set", "time=0.1", "--set", "warmup_time=0.02"]


def started() -> subprocess.Popen[str]:
    words = [*WORDS, *SMALL, *SHORT]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def stored_now() -> list[CalibrationEntry]:
    return calibration.read_entries(calibration.find_store(describe_host()))


@pytest.mark.timeout(180)
def test_a_calibration_killed_in_the_middle_goes_on(state: Path) -> None:
    """kill -9 loses the comparison under way; the next session says what is there, and ends it."""
    with started() as first:
        ends_s = time.monotonic() + 80
        while not stored_now() and time.monotonic() < ends_s:
            time.sleep(0.02)
        first.send_signal(signal.SIGKILL)
    before = len(stored_now())
    assert before == 1
    with started() as second:
        said = second.communicate(timeout=80)[0]
    assert second.returncode == 0, said
    assert f"{before} comparisons of this host are stored" in said
    assert len(stored_now()) == 2
    assert not list(state.glob("calibration/*.playing"))


#: A process with a hog of its own, which would work for a minute.
WITH_HOG = """
import random, time
from dyno.compare.calibration import comparison
comparison.RESTS_S, comparison.WORKS_S = (0.0, 0.01), (60, 60)
with comparison.burn_intermittently((), random.Random(1)):
    time.sleep(60)
"""


def hogs_of(pid: int) -> list[str]:
    """Processes that burn a core for `pid`, dead or alive."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (each / "cmdline").read_text().split("\0")
            if "sum(range" in "".join(words) and words[-2] == str(pid):
                found.append(each.name)
    return found


def appeared(pid: int, wanted: bool) -> bool:
    """Is there a hog of `pid` (or none), within some time?"""
    ends_s = time.monotonic() + 30
    while bool(hogs_of(pid)) != wanted and time.monotonic() < ends_s:
        time.sleep(0.01)
    return bool(hogs_of(pid)) == wanted


def test_the_hog_dies_with_whoever_wanted_it() -> None:
    with subprocess.Popen([sys.executable, "-c", WITH_HOG]) as owner:
        seen = appeared(owner.pid, True)
        owner.kill()
    assert seen
    assert appeared(owner.pid, False)


def test_show_plays_nothing(state: Path) -> None:
    done = subprocess.run(
        [*WORDS, "--show"], capture_output=True, text=True, check=True, env=os.environ
    )
    assert "this host has not been calibrated" in done.stdout
    assert not list(state.iterdir())
