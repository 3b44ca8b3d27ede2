"""The switch between turns: how late it was is on record, and what that took from whom."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from small_scripts import PLAIN
from ways_to_be_fooled import assert_dropped

from dyno.driver.plan import SlicePlan
from dyno.instruments.time.switch import LATE_NS, Switch
from dyno.judge.analysis.judge import judge
from dyno.record import Switches, Verdict
from dyno.runs import experiment
from dyno.runs.experiment import Measuring
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import RunFolder, create_run

MS = 1_000_000
#: Two candidates, in turns of 20 ms: 0 1 1 0 0 1 1 0 …
TURNS = SlicePlan(
    order=(0, 1, 1, 0),
    own=0,
    slice_ns=18 * MS,
    drain_ns=2 * MS,
    ramp_in_ns=2 * MS,
    epoch_turns=0,
    connect_ns=0,
    frozen=True,
)


@dataclass
class StoppedClock:
    """A clock that whoever waits by moves on, and that jumps where Dyno stands still.

    `stops` are the standstills, in ns: when, and for how long. It is over at `ends_ns`.
    """

    ends_ns: int
    stops: dict[int, int] = field(default_factory=dict)
    shown_ns: int = 0

    def read_ns(self) -> int:
        return self.shown_ns

    def wait_until(self, at_ns: int, stopped: threading.Event) -> bool:
        self.shown_ns = max(self.shown_ns, min(at_ns, self.ends_ns))
        for stop_ns in [at for at in self.stops if at <= self.shown_ns]:
            self.shown_ns = max(self.shown_ns, stop_ns + self.stops.pop(stop_ns))
        if self.shown_ns >= self.ends_ns:
            stopped.set()
        return stopped.is_set()


class Engine:
    """One that does as it is told."""

    refused = 0
    suspended = None

    def freeze(self) -> None:
        pass

    def thaw(self) -> None:
        pass


def switched(ends_ms: int, stops: dict[int, int] | None = None) -> dict[int, Switches]:
    """What is on record of a phase that ends then, in which Dyno stands still in these ms."""
    clock = StoppedClock(ends_ms * MS, {at * MS: s * MS for at, s in (stops or {}).items()})
    switch = Switch(TURNS, 0, {0: Engine(), 1: Engine()}, clock)
    switch.run()
    return switch.lateness.list_switches()


def test_switches_in_time_take_nothing_from_anybody() -> None:
    assert switched(200) == {own: Switches(6, 0, 0) for own in (0, 1)}


def test_where_dyno_stands_still_one_engine_has_the_time_of_the_other() -> None:
    # from 30 to 195 ms: both turns of 0 are lost, from 60 to 100 and from 140 to 180
    lost = switched(400, {30: 165})
    assert lost[0] == Switches(11, 135 * MS, 80 * MS)
    assert lost[1].lost_ns == 40 * MS, "its turn from 100 to 140"
    assert switched(4_000, {1_000: 2_000})[0].late_ns_max > 1_900 * MS


def test_a_standstill_up_to_the_phases_end_is_on_record_too() -> None:
    found = switched(200, {70: 4_000})
    assert found[1].lost_ns >= 40 * MS and found[1].late_ns_max > 3_900 * MS


def test_a_switch_that_is_a_little_late_is_told_and_takes_nothing() -> None:
    assert switched(200, {58: 9}) == {own: Switches(6, 7 * MS, 0) for own in (0, 1)}
    assert 7 * MS < LATE_NS


#: Goes on with a run, and is stopped in the first block, somewhere in the phase.
STOPPED = """
import os, subprocess, sys, threading
from pathlib import Path
from dyno.instruments.time.run import resume_run
from dyno.runs.run_folder import RunFolder
from dyno.instruments.time.watch import PhaseStarted
from dyno.host.processes import list_process_family
done = []
def command(pid):
    program, *words = Path(f"/proc/{pid}/cmdline").read_text().split(chr(0))
    return f"{Path(program).name} {words[0]}"
def stop(event):
    if isinstance(event, PhaseStarted) and event.phase == "run" and not done:
        done.append(event)
        pid, who = os.getpid(), sys.argv[2]
        if who == "driver":
            (pid,) = (p for p in list_process_family(pid) if command(p) == "dyno-driver run")
        script = f"sleep 0.7; kill -STOP {pid}; sleep 1; kill -CONT {pid}"
        subprocess.Popen(["sh", "-c", script], start_new_session=True)
resume_run(RunFolder(Path(sys.argv[1])), stop)
"""


def _run(folder: Path, *, sequential: bool) -> RunFolder:
    file = folder / "select.lua"
    file.write_text(PLAIN)
    limits = {"steal_percent": 100.0, "foreign_percent": 100.0}
    measuring = Measuring(blocks=3, fixed=True, seed=1, limits=limits, sequential=sequential)
    options = {"time": "1.5", "warmup_time": "0.2"}
    made = experiment.compare_candidates(["null@1ms", "null@2ms"], str(file), options, measuring)
    return create_run(draft_run(made, lambda _: None).run, folder / "runs")


def _stopped(folder: RunFolder, who: str) -> Verdict:
    command = [sys.executable, "-c", STOPPED, str(folder.path), who]
    subprocess.run(command, check=True, timeout=120)
    return judge(folder.read_run(), folder.read_trials())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("who", "sequential", "named"),
    [("dyno", False, "Dyno"), ("driver", True, "the driver of null@")],
)
def test_a_block_in_which_one_was_really_stopped_is_dropped_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str, sequential: bool, named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    verdict = _stopped(_run(tmp_path, sequential=sequential), who)
    told = [each.standstill for each in verdict.dropped if each.standstill]
    assert told and told[0].who.startswith(named)
    assert 0.5 < told[0].duration_s < 3
    if who == "dyno":
        assert_dropped("dyno-stopped", verdict.dropped)
    else:
        assert_dropped("driver-stopped", verdict.dropped)
