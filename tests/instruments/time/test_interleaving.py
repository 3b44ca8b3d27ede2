"""Interleaved trials: whose slices are when, who stands still, and how such a block ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from processes import state_of, users_of, wait_for
from small_scripts import PLAIN

from dyno.driver.plan import SlicePlan
from dyno.instruments.time import watch
from dyno.instruments.time.freezer import ProcessFreezer
from dyno.instruments.time.interleaving import (
    InterleavedBlock,
    InterleavingBroken,
    TrialProcesses,
    plan_turns,
)
from dyno.instruments.time.run import play_run, resume_run
from dyno.instruments.time.switch import Switch, iterate_turns
from dyno.judge.analysis.carry_over import carry_over
from dyno.judge.analysis.run_view import RunView
from dyno.record import Trial
from dyno.runs import experiment
from dyno.runs.experiment import Measuring
from dyno.runs.resolve.design import TURNS
from dyno.runs.resolve.draft import Prepared
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import RunFolder, create_run

SLICE = TURNS.find_slice("select")
#: What counts of a slice.
COUNTED_S = SLICE.length_s - SLICE.ramp_in_s
CALM = {"steal_percent": 100.0, "foreign_percent": 100.0}


def prepare(
    tmp_path: Path, *specs: str, time_s: str = "0.6", script: str = PLAIN, blocks: int = 3
) -> Prepared:
    file = tmp_path / "select.lua"
    file.write_text(script)
    measuring = Measuring(blocks=blocks, fixed=True, seed=1, limits=CALM)
    options = {"time": time_s, "warmup_time": "0.2"}
    made = experiment.compare_candidates(specs, str(file), options, measuring)
    return draft_run(made, lambda _: None)


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run of two candidates on `null` that are interleaved, not yet played."""
    monkeypatch.chdir(tmp_path)
    return create_run(prepare(tmp_path, "null@1ms", "null@2ms").run, tmp_path / "runs")


def turns(own: int = 0, **changed: int) -> SlicePlan:
    given = {"slice_ns": 100, "drain_ns": 20, "ramp_in_ns": 10, "epoch_turns": 4, "connect_ns": 50}
    return SlicePlan(order=(0, 1, 1, 0), own=own, frozen=True, **(given | changed))


def test_the_slots_are_those_of_the_driver_s_timeline() -> None:
    """The same figures as in `schedule/timeline.rs`."""
    begins = list(islice(iterate_turns(turns()), 12))
    slices = [(0, 100), (1, 220), (1, 340), (0, 460)]
    later = [(1, 580), (0, 630), *((own, at + 580) for own, at in slices)]
    assert begins == [(0, 0), (1, 50), *slices, *later]
    assert list(islice(iterate_turns(turns(epoch_turns=0)), 5)) == [
        (0, 0), (1, 120), (1, 240), (0, 360), (0, 480)
    ]  # fmt: skip


def test_every_candidate_has_as_many_turns_mirrored_in_pairs_from_the_seed(
    tmp_path: Path,
) -> None:
    run = prepare(tmp_path, "null@1ms", "null@2ms").run
    for candidates in (2, 3, 5):
        made = plan_turns(TURNS, run, run.workloads[0], 0, run.candidates[:1] * candidates)
        order = made[0].order
        assert {order.count(own) for own in range(candidates)} == {len(order) // candidates}
        for at in range(0, len(order) - 2 * candidates, 2 * candidates):
            row = order[at : at + candidates]
            assert sorted(row) == list(range(candidates))
            assert order[at + candidates : at + 2 * candidates] == row[::-1]
        assert [each.own for each in made] == list(range(candidates))
    again = plan_turns(TURNS, run, run.workloads[0], 0, run.candidates)
    assert again[0].order == plan_turns(TURNS, run, run.workloads[0], 0, run.candidates)[0].order
    assert again[0].order != plan_turns(TURNS, run, run.workloads[0], 1, run.candidates)[0].order


def test_trials_that_take_turns_share_the_time_and_count_their_own(begun: RunFolder) -> None:
    """A phase that ends late, on a crowded host, counts a part of a seventh slice; and a block in
    which Dyno stood still is followed by one in its place.
    """
    resume_run(begun, lambda _: None)
    trials = [t for t in begun.read_trials() if t.block >= 0]
    assert {t.status for t in trials} == {"ok"} and len(trials) >= 6
    slice_ns = round(1e9 * COUNTED_S)
    for trial in trials:
        phase = trial.phases[-1]
        (tally,) = phase.streams
        assert phase.counted_ns is not None
        assert 6 * slice_ns <= phase.counted_ns < 7 * slice_ns
        assert phase.own_share == pytest.approx(0.5, abs=0.1)
        assert sum(tally.slices) == tally.done == tally.intended
        assert len(tally.slices) == -(-phase.counted_ns // slice_ns)
        assert tally.warmup > 0
    first, second = trials[:2]
    assert first.candidate != second.candidate
    assert first.phases[-1].started_ns == second.phases[-1].started_ns


def test_an_open_loop_pauses_its_schedule_while_others_have_their_turn(tmp_path: Path) -> None:
    prepared = prepare(tmp_path, "null@10us", "null@20us", blocks=3)
    prepared.run.workloads[0].options["rate"] = "500"
    folder = create_run(prepared.run, tmp_path / "runs")
    play_run(prepared, folder, lambda _: None)
    for trial in (t for t in folder.read_trials() if t.block >= 0):
        tally = trial.phases[-1].streams[0]
        assert tally.intended == tally.done + tally.failed + tally.skipped
        assert tally.intended == pytest.approx(500 * 6 * COUNTED_S, rel=0.05)


def test_the_engine_of_who_has_no_turn_stands_still_and_all_run_in_the_end() -> None:
    """Two processes that only count their own time; each gets its own turns' worth."""
    spin = [sys.executable, "-c", "while True: pass"]
    both = [subprocess.Popen(spin) for _ in range(2)]
    long = turns(epoch_turns=0, slice_ns=50_000_000, drain_ns=0)
    engines = {n: ProcessFreezer(partial(list, [each.pid])) for n, each in enumerate(both)}
    try:
        switch = Switch(long, time.monotonic_ns() + 50_000_000, dict(engines))
        switch.start()
        wait_for(lambda: {state_of(each.pid) for each in both} >= {"T"})
        seen = [pair for _ in watched(0.5) if (pair := stopped(*both))]
        assert (True, True) not in seen
        assert {(True, False), (False, True)} <= set(seen)
        switch.stop()
        assert "T" not in {state_of(each.pid) for each in both}
    finally:
        for each in both:
            each.kill()
            each.wait()


def stopped(
    one: subprocess.Popen[bytes], other: subprocess.Popen[bytes]
) -> tuple[bool, bool] | None:
    """Which of two stands still; None where that changed between the looks at them."""
    before, there, after = (state_of(each.pid) == "T" for each in (one, other, one))
    return (before, there) if before == after else None


class Recorded:
    """An engine that adds what is done to it to a list that all share."""

    refused = 0
    suspended = None

    def __init__(self, own: int, done: list[tuple[str, int]]) -> None:
        self.own, self.done = own, done

    def freeze(self) -> None:
        self.done.append(("freeze", self.own))

    def thaw(self) -> None:
        self.done.append(("thaw", self.own))


def test_an_engine_is_woken_before_its_time_and_the_others_stand_still_at_it() -> None:
    done: list[tuple[str, int]] = []
    order = turns(epoch_turns=0, slice_ns=5_000_000, drain_ns=1_000_000)
    start_ns = time.monotonic_ns() + 20_000_000
    switch = Switch(order, start_ns, {own: Recorded(own, done) for own in (0, 1)})
    switch.start()
    wait_for(lambda: len(done) >= 8)
    switch.stop()
    # 0, then twice 1, then twice 0
    assert done[:8] == [
        *(("thaw", 0), ("freeze", 1), ("thaw", 1), ("freeze", 0)),
        *(("thaw", 0), ("freeze", 1), ("thaw", 1), ("freeze", 0)),
    ]
    assert sorted(done[-2:]) == [("thaw", 0), ("thaw", 1)]


def watched(seconds: float) -> list[float]:
    """Times to look at something, 2 ms apart, each waited for."""

    class Times(list[float]):
        def __iter__(self):  # type: ignore[no-untyped-def]
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(0.002)
                yield time.monotonic()

    return Times()


class Noted:
    """An engine that notes what was done to it."""

    refused = 0
    suspended = None

    def __init__(self) -> None:
        self.frozen = False

    def freeze(self) -> None:
        self.frozen = True

    def thaw(self) -> None:
        self.frozen = False


def test_where_one_fails_the_others_are_told_and_nobody_waits_or_stands_still() -> None:
    block = InterleavedBlock([turns(0), turns(1)], frozen=True)
    engine, told = Noted(), threading.Event()
    ended: list[str] = []

    def other() -> None:
        with (
            pytest.raises(InterleavingBroken),
            block.make_slot(1).take(TrialProcesses(engine, (), told.set)),
        ):
            block.wait_ready()
        ended.append("broken")

    thread = threading.Thread(target=other)
    thread.start()
    wait_for(lambda: bool(block.places))
    engine.freeze()
    block.break_off()
    thread.join(10)
    assert ended == ["broken"]
    assert told.is_set()


def test_who_fails_while_frozen_is_woken_before_it_is_looked_at() -> None:
    block = InterleavedBlock([turns(0)], frozen=True)
    engine = Noted()
    with (
        pytest.raises(ValueError),
        block.make_slot(0).take(TrialProcesses(engine, (), lambda: None)),
    ):
        block._switch = Switch(turns(0), time.monotonic_ns(), {0: engine})
        engine.freeze()
        raise ValueError
    assert block.broken and not engine.frozen


def test_who_comes_late_to_a_broken_block_does_not_begin() -> None:
    block = InterleavedBlock([turns(0), turns(1)], frozen=True)
    block.break_off()
    begun: list[bool] = []
    with (
        pytest.raises(InterleavingBroken),
        block.make_slot(0).take(TrialProcesses(Noted(), (), lambda: None)),
    ):
        begun.append(True)
    assert not begun and not block.places


def in_block(block: int, act: Callable[[], None]) -> Callable[[watch.Event], None]:
    """A watcher that acts once, when a phase of the block has begun."""
    begun: list[int] = []
    done: list[bool] = []

    def told(event: watch.Event) -> None:
        if isinstance(event, watch.TrialStarted):
            begun.append(event.block)
        if isinstance(event, watch.PhaseStarted) and begun[-1] == block and not done:
            done.append(True)
            act()

    return told


def states(folder: RunFolder) -> list[tuple[int, int, str]]:
    return [(t.block, t.attempt, t.status) for t in folder.read_trials() if t.block >= 0]


def counted(trials: list[Trial]) -> list[tuple[int, str]]:
    last = {t.block: t.attempt for t in trials}
    kept = [t for t in trials if t.block >= 0 and t.attempt == last[t.block]]
    return sorted((t.block, t.candidate) for t in kept if t.status == "ok")


EACH_ONCE = [(block, name) for block in range(3) for name in ("null@1ms", "null@2ms")]


@pytest.mark.chaos
def test_a_killed_driver_tears_its_block_which_is_played_anew(begun: RunFolder) -> None:
    def kill() -> None:
        os.kill(users_of(begun.find_homes())[0], signal.SIGKILL)

    resume_run(begun, in_block(1, kill))
    assert sorted(states(begun)[2:4]) == [(1, 1, "failed"), (1, 1, "interrupted")]
    assert counted(begun.read_trials()) == EACH_ONCE
    failed = next(t for t in begun.read_trials() if t.status == "failed")
    assert "killed (signal 9)" in failed.why_failed


def frozen_driver(folder: RunFolder) -> int:
    """The driver, with the engine in it, that stands still now."""
    found: list[int] = []

    def look() -> bool:
        found.extend(p for p in users_of(folder.find_homes()) if state_of(p) == "T")
        return bool(found)

    wait_for(look)
    return found[0]


@pytest.mark.chaos
@pytest.mark.parametrize("moment", ["warm-up", "measured"])
def test_an_embedded_engine_that_is_killed_while_frozen_tears_its_block_only(
    begun: RunFolder, moment: str
) -> None:
    after_s = {"warm-up": 0.1, "measured": 0.6}[moment]
    kill = threading.Timer(after_s, lambda: os.kill(frozen_driver(begun), signal.SIGKILL))
    resume_run(begun, in_block(1, kill.start))
    assert sorted(states(begun)[2:4]) == [(1, 1, "failed"), (1, 1, "interrupted")]
    assert counted(begun.read_trials()) == EACH_ONCE
    assert not users_of(begun.path)


@pytest.mark.chaos
def test_ctrl_c_ends_all_trials_and_the_run_goes_on(begun: RunFolder) -> None:
    main = threading.main_thread().ident or 0
    # who runs the tests in the background of a shell made us ignore it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            resume_run(begun, in_block(1, lambda: signal.pthread_kill(main, signal.SIGINT)))
    finally:
        signal.signal(signal.SIGINT, before)
    assert states(begun)[2:] == [(1, 1, "interrupted")] * 2
    assert not users_of(begun.path)
    resume_run(begun, lambda _: None)
    assert counted(begun.read_trials()) == EACH_ONCE


#: Goes on with a run, and kills itself in the middle of a phase of the second block.
KILLED = """
import os, signal, sys, threading
from pathlib import Path
from dyno.instruments.time.run import resume_run
from dyno.runs.run_folder import RunFolder
from dyno.instruments.time.watch import PhaseStarted, TrialStarted
blocks = []
def kill(event):
    if isinstance(event, TrialStarted):
        blocks.append(event.block)
    if isinstance(event, PhaseStarted) and blocks[-1] == 1:
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
resume_run(RunFolder(Path(sys.argv[1])), kill)
"""


@pytest.mark.chaos
def test_a_killed_dyno_leaves_nothing_that_stands_still_and_its_run_goes_on(
    begun: RunFolder,
) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, begun.path], check=False)
    assert done.returncode == -9
    wait_for(lambda: not users_of(begun.path))
    resume_run(begun, lambda _: None)
    assert counted(begun.read_trials()) == EACH_ONCE


@pytest.mark.parametrize(
    ("engine", "asked"),
    [("null@1ms", {"hold_connections": True}), ("sqlite@system", {"by": "cpu"})],
)
def test_connections_may_be_held_for_a_whole_trial(
    engine: str, asked: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "select.lua"
    file.write_text(PLAIN)
    measuring = Measuring(blocks=3, fixed=True, aa=True, **asked)
    sides = [f"a={engine}", f"b={engine}"]
    made = experiment.compare_candidates(sides, str(file), {}, measuring)
    run = draft_run(made, lambda _: None).run
    assert run.design.interleaving is not None
    assert (
        plan_turns(run.design.interleaving, run, run.workloads[0], 0, run.candidates)[0].epoch_turns
        == 0
    )


#: Waits longer after a pause in which another had its turn: for a while that is half of a turn.
COLD = """
local ffi = require("ffi")
ffi.cdef[[int clock_gettime(int, void *);]]
local at, last, cold = ffi.new("int64_t[2]"), 0, 0
local function now_s()
  ffi.C.clock_gettime(1, at)
  return tonumber(at[0]) + tonumber(at[1]) / 1e9
end
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  local now = now_s()
  if now - last > 0.05 then cold = now + 0.06 end
  con:query("SELECT 1")
  if now < cold then con:query("SELECT 1") end
  last = now_s()
end
"""


@pytest.mark.slow
def test_what_slices_lose_after_anothers_is_seen_in_what_was_played(tmp_path: Path) -> None:
    """Of each side: events take twice as long in the first 60 ms after another's slice."""
    prepared = prepare(tmp_path, "null@1ms", "null@2ms", time_s="3", script=COLD)
    folder = create_run(prepared.run, tmp_path / "runs")
    play_run(prepared, folder, lambda _: None)
    view = RunView(prepared.run, folder.read_trials())
    for block in view.blocks["select"].valid:
        found = carry_over(prepared.run, prepared.run.workloads[0], "run", block)
        assert found.keys() == block.keys() and min(found.values()) > 0.15
