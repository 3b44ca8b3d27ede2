"""Whatever stops a run, what was measured stays, and `dyno resume` goes on from there.

Against the real driver; `null` stands for any engine.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import stop_driver_of

from dyno.cli import judged_run, run_words
from dyno.record import Comparison, Doubt, Metric, Verdict
from dyno.runs.run_folder import RunFolder, list_runs

pytestmark = pytest.mark.chaos

PAIR = ["null@1ms", "null@1100us"]
WORKLOAD = ["-w", "oltp_point_select"]
#: Three short blocks, whatever the neighbours do meanwhile.
EXPERIMENT = """
candidates = ["null@1ms", "null@1100us"]
blocks = 3
limits = { steal_percent = 100, foreign_percent = 100 }
sequential = true
[[workload]]
name = "oltp_point_select"
options = { time = 0.2, warmup_time = 0, table_size = 10 }
"""
SHORT = ["--set", "time=0.2", "--set", "warmup_time=0", "--set", "table_size=10"]


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs of the test lie in a folder of its own."""
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.fixture
def playing(runs: Path) -> Iterator[subprocess.Popen[str]]:
    """A `dyno run` of its own, past its first trial."""
    file = runs.parent / "short.toml"
    file.write_text(EXPERIMENT)
    dyno = subprocess.Popen(
        [sys.executable, "-m", "dyno.cli", "run", str(file), "--gate", "--verbose"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # who runs the tests in the background of a shell made us ignore it, and children inherit
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert dyno.stdout
    while "trial 1 " not in (line := dyno.stdout.readline()):
        assert line or dyno.poll() is None, dyno.communicate()
    with dyno:
        yield dyno
        dyno.kill()


def ended_well(folder: RunFolder) -> list[tuple[int, str]]:
    return sorted((t.block, t.candidate) for t in folder.read_trials() if t.status == "ok")


def test_an_interrupted_run_ends_with_130_and_goes_on_where_it_stopped(
    playing: subprocess.Popen[str], runs: Path
) -> None:
    playing.send_signal(signal.SIGINT)
    _, said = playing.communicate(timeout=20)
    (folder,) = list_runs(runs)
    assert playing.returncode == 130, said
    assert f"dyno resume {folder.path.name}" in said
    assert "Traceback" not in said
    goes_on(folder)


def test_a_killed_dyno_leaves_no_process_and_its_run_goes_on(
    playing: subprocess.Popen[str], runs: Path
) -> None:
    driver = stop_driver_of(playing.pid)
    playing.kill()
    playing.wait()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{driver}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(f"/proc/{driver}").exists()
    (folder,) = list_runs(runs)
    goes_on(folder)


def test_a_run_that_is_resumed_is_a_strict_gate_where_strict_asks_for_it(
    playing: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    playing.kill()
    playing.wait()
    metric = Metric("select", "run", "select", "rate_per_s", "row/s", "higher")
    doubts = (Doubt("settings", "b logs every statement"),)
    numbers = (1.0,) * 7
    row = Comparison(metric, True, "a", "b", *numbers, 6, 0, 1.0, 1.0, 0.5, "slower", doubts=doubts)
    doubtful = Verdict("slower", "so it is", True, (row,), (), ())
    monkeypatch.setattr(judged_run, "tell_verdict", lambda *_: doubtful)
    assert run_words(["resume", "last"]) == 1
    assert run_words(["resume", "last", "--strict"]) == 4
    assert run_words(["report", "last", "--strict"]) == 4


def goes_on(folder: RunFolder) -> None:
    """`dyno resume` finishes the run, and counts each side of a block once."""
    assert run_words(["resume", "last"]) in (0, 1, 2)
    verdict = folder.read_verdict()
    assert verdict
    assert verdict.complete
    assert {c.blocks for c in verdict.comparisons if c.primary} == {3}
    assert {block for block, _ in ended_well(folder)} >= {0, 1, 2}, "a noisy one is replaced"


def test_a_killed_driver_costs_its_trial_and_not_the_run(
    playing: subprocess.Popen[str], runs: Path
) -> None:
    os.kill(stop_driver_of(playing.pid), signal.SIGKILL)
    playing.send_signal(signal.SIGCONT)
    playing.communicate(timeout=30)
    (folder,) = list_runs(runs)
    (failed,) = [trial for trial in folder.read_trials() if trial.status == "failed"]
    assert "killed" in failed.why_failed
    assert playing.returncode in (0, 1, 2)
    assert {block for block, _ in ended_well(folder)} >= {0, 1, 2}


def test_a_full_disk_is_said_and_what_was_written_stays(runs: Path) -> None:
    def small_files() -> None:
        # run.json is smaller, a trial larger
        resource.setrlimit(resource.RLIMIT_FSIZE, (7000, 7000))

    done = subprocess.run(
        [sys.executable, "-m", "dyno.cli", "compare", *PAIR, *WORKLOAD, *SHORT],
        preexec_fn=small_files,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 64, done.stderr
    assert "File too large" in done.stderr
    assert "hint: " in done.stderr
    assert "Traceback" not in done.stderr
    (folder,) = list_runs(runs)
    assert folder.read_run().candidates, "run.json is whole"
    assert str(folder.path) in done.stderr
    assert not folder.read_trials(), "a torn file is no trial"
