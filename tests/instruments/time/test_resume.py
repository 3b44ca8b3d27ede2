"""Killed runs go on, with the real driver: nothing is counted twice, no process is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs
from processes import users_of, wait_for
from small_scripts import PLAIN

from dyno.errors import UsageError
from dyno.instruments.time import watch
from dyno.instruments.time.blocks import choose_next_block
from dyno.instruments.time.run import resume_run
from dyno.record import Failure, Trial
from dyno.runs import experiment
from dyno.runs.experiment import Measuring
from dyno.runs.resolve.experiment import describe_host, draft_run, list_changes_since, reopen_run
from dyno.runs.run_folder import RunFolder, create_run

pytestmark = pytest.mark.chaos

OPTIONS = {"time": "0.1", "warmup_time": "0"}
BLOCKS = 3


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run of two candidates on `null`, three blocks of two trials of 0.1 s, not yet played."""
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "select.lua"
    script.write_text(PLAIN)
    # a busy machine is no reason to drop blocks here
    calm = {"steal_percent": 100.0, "foreign_percent": 100.0}
    measuring = Measuring(blocks=BLOCKS, fixed=True, seed=1, limits=calm, sequential=True)
    made = experiment.compare_candidates(["null@1ms", "null@2ms"], str(script), OPTIONS, measuring)
    return create_run(draft_run(made, lambda _: None).run, tmp_path / "runs")


def play(kept: RunFolder, told: Callable[[watch.Event], None] = lambda _: None) -> None:
    resume_run(kept, told)


def states(kept: RunFolder) -> list[tuple[int, int, str]]:
    return [(t.block, t.attempt, t.status) for t in kept.read_trials()]


def counted(trials: list[Trial]) -> list[tuple[int, str]]:
    """Which candidate counts in which block: the trials of each block's last attempt."""
    last = {t.block: t.attempt for t in trials}
    return sorted((t.block, t.candidate) for t in trials if t.attempt == last[t.block])


#: Goes on with a run, and kills itself while the driver of the fourth trial is at work.
KILLED = """
import os, signal, sys
from pathlib import Path
from dyno.instruments.time.run import resume_run
from dyno.runs.run_folder import RunFolder
from dyno.instruments.time.watch import PhaseStarted, TrialStarted
numbers = []
def kill(event):
    if isinstance(event, TrialStarted):
        numbers.append(event.number)
    if isinstance(event, PhaseStarted) and numbers[-1] == 4:
        os.kill(os.getpid(), signal.SIGKILL)
resume_run(RunFolder(Path(sys.argv[1])), kill)
"""
EACH_ONCE = [(block, name) for block in range(BLOCKS) for name in ("null@1ms", "null@2ms")]


def test_a_killed_dyno_leaves_no_process_and_its_run_goes_on(begun: RunFolder) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, begun.path], check=False)
    assert done.returncode == -9
    assert (begun.find_homes() / "0004").exists()
    wait_for(lambda: not users_of(begun.path))
    torn = states(begun)
    assert len(torn) == 3
    play(begun)
    assert states(begun)[:5] == [*torn, (1, 2, "ok"), (1, 2, "ok")]
    assert choose_next_block(begun.read_run(), "select", begun.read_trials()).block == BLOCKS
    assert counted(begun.read_trials()) == EACH_ONCE
    assert [t.number for t in begun.read_trials()] == list(range(1, len(begun.read_trials()) + 1))
    assert not begun.find_homes().exists()


def in_the_second(act: Callable[[], None]) -> Callable[[watch.Event], None]:
    """A watcher that acts while the second trial plays."""
    ended: list[Trial] = []

    def told(event: watch.Event) -> None:
        if isinstance(event, watch.TrialEnded):
            ended.append(event.trial)
        if isinstance(event, watch.PhaseStarted) and len(ended) == 1:
            act()

    return told


def test_a_killed_driver_fails_its_trial_and_the_block_is_replayed(begun: RunFolder) -> None:
    def kill() -> None:
        for pid in users_of(begun.find_homes()):
            os.kill(pid, signal.SIGKILL)

    play(begun, in_the_second(kill))
    assert states(begun)[:4] == [(0, 1, "ok"), (0, 1, "failed"), (0, 2, "ok"), (0, 2, "ok")]
    assert begun.read_trials()[1].failure == Failure("the driver was killed (signal 9)")
    assert counted(begun.read_trials()) == EACH_ONCE


def test_ctrl_c_keeps_what_was_measured_and_the_run_goes_on(begun: RunFolder) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play(begun, in_the_second(stop))
    assert states(begun) == [(0, 1, "ok"), (0, 1, "interrupted")]
    assert not users_of(begun.path)
    play(begun)
    assert counted(begun.read_trials()) == EACH_ONCE


def test_a_complete_run_stays_as_it_is(begun: RunFolder) -> None:
    play(begun)
    before = {file: file.stat().st_mtime_ns for file in begun.path.rglob("*")}
    told: list[watch.Event] = []
    play(begun, told.append)
    after = {file: file.stat().st_mtime_ns for file in begun.path.rglob("*.json")}
    assert after.items() <= before.items()
    assert [type(event) for event in told] == [watch.RunStarted, watch.RunEnded]


def test_a_run_goes_on_only_where_nothing_changed(begun: RunFolder) -> None:
    script = Path(begun.read_run().workloads[0].script)
    script.write_text(PLAIN + "-- edited\n")
    with pytest.raises(UsageError, match=r"select\.lua was edited"):
        play(begun)
    script.write_text(PLAIN)
    here, run = describe_host(), begun.read_run()
    prepared = reopen_run(run, lambda _: None)
    assert list_changes_since(run, prepared, here | {"kernel": "another"}) == [
        f"kernel was '{here['kernel']}' and is 'another'"
    ]
    assert list_changes_since(run, prepared, here | {"load_1min": "99"}, driver_sha256="0") == [
        "dyno-driver is another one"
    ]
    assert list_changes_since(run, prepared, here | {"group": "ci"}) == [], "only a name for it"
    old = structs.replace(run, host={n: v for n, v in run.host.items() if n != "id"})
    assert list_changes_since(old, prepared, here) == [], "a run from before hosts had ids"
    named = structs.replace(run, host=run.host | {"id": "a"})
    assert list_changes_since(named, prepared, here | {"id": "b"}) == [
        "this is another host: its id was 'a' and is 'b'"
    ]
    (clause,) = list_changes_since(structs.replace(run, sources_sha256="0"), prepared, here)
    assert (
        clause == "dyno itself is another one (its code has changed since, under the same version)"
    )
    older = structs.replace(run, sources_sha256="0", dyno="0.0.9")
    assert list_changes_since(older, prepared, here)[0].startswith(
        "dyno itself is another one (it was"
    )
    assert list_changes_since(structs.replace(run, sources_sha256=""), prepared, here) == []
    assert begun.read_trials() == []
