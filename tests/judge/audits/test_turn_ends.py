"""Audit `interleaving`: events that outlast the turns of suspended engines, and move a ratio."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from audit_records import a_run, faults, findings, with_margin
from fakes import make_latency, make_record, make_tally, make_trial
from hdr import encoded
from msgspec.structs import replace
from ways_to_be_fooled import assert_caught

from dyno.judge.analysis.turn_ends import count_turn_ends
from dyno.judge.stats.histogram import decode_histogram
from dyno.judge.stats.turn_ends import Turn
from dyno.record import Run, Stop, Suspended, Switches, Tally, Trial
from dyno.runs.resolve.design import TURNS

SLICE = TURNS.slice
SLICE_MS, DRAIN_MS, EDGE_MS = (1e3 * s for s in (SLICE.length_s, SLICE.drain_s, SLICE.ramp_in_s))
SLOT_MS = SLICE_MS + DRAIN_MS
SLICES = 600


@dataclass(frozen=True)
class Events:
    """Lognormal lengths around a mean; with `spread` 0 all alike. What waits goes on while its
    engine is suspended; what computes does not.
    """

    mean_ms: float
    spread: float = 0.3
    waits: bool = True


def played(events: Events, seed: int) -> Tally:
    """What the driver counts and times of one user in so many slices, as its timeline has it."""
    rng = np.random.default_rng(seed)
    own, at, took, overrun = 0, 0.0, [], 0
    while own < SLICES:
        shape = np.exp(rng.normal(-(events.spread**2) / 2, events.spread))
        length = events.mean_ms * float(shape)
        end, told = at + length, length
        begun = at
        if end > SLOT_MS:
            left, own = end - SLOT_MS, own + 1
            if events.waits and left <= SLOT_MS:  # it is over before the next turn
                end, told = DRAIN_MS, SLOT_MS - at
            else:
                left -= SLOT_MS if events.waits else 0.0
                end, told = left % SLOT_MS, SLOT_MS - at + left if events.waits else length
                own, overrun = own + int(left // SLOT_MS), overrun + (begun >= EDGE_MS)
        if end >= SLICE_MS:
            own, end = own + 1, end - SLICE_MS
        at = end
        if begun >= EDGE_MS:
            took.append(round(1e6 * told))
    latency = replace(
        make_latency(1e6 * events.mean_ms, len(took)),
        mean_ns=float(np.mean(took)), max_ns=max(took), hdr=encoded(took),
    )  # fmt: skip
    return replace(make_tally(len(took), 1.0), latency=latency, overrun=overrun)


def made(old: Events, new: Events, blocks: int = 6, seed: int = 1) -> list[Trial]:
    counted_ns = round(1e6 * SLICES * (SLICE_MS - EDGE_MS))
    numbers, seeds = itertools.count(1), itertools.count(1000 * seed)
    still = Switches(9, 0, 0, suspended=Suspended(9, 10**9, 0))
    trials = []
    for block in range(blocks):
        for side, events in (("old", old), ("new", new)):
            record = make_record([played(events, next(seeds))])
            record = replace(record, counted_ns=counted_ns, switches=still)
            trials.append(make_trial(next(numbers), side, block, 1.0, phases=(record,)))
    return trials


def interleaved() -> Run:
    return replace(a_run(), design=replace(a_run().design, interleaving=TURNS))


def test_events_that_gain_more_on_one_side_are_doubtful() -> None:
    found = faults("interleaving", interleaved(), *made(Events(20.0), Events(24.0)))
    assert_caught("suspended-midway", found)
    assert "outlast their turns" in found[0].sentence and "of base" not in found[0].sentence


@pytest.mark.parametrize(
    ("old_ms", "new_ms", "waits"), [(20.0, 20.4, False), (40.0, 48.0, False), (40.0, 48.0, True)]
)
def test_events_of_one_length_that_fall_into_edges_are_doubtful(
    old_ms: float, new_ms: float, waits: bool
) -> None:
    """In step with the slices, so that 20 % read as 34 %, or 2 % as none."""
    old, new = (Events(1.003 * ms, 0.001, waits) for ms in (old_ms, new_ms))
    assert faults("interleaving", interleaved(), *made(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (Events(20.0), Events(20.0)),
        (Events(20.0, waits=False), Events(20.0, waits=False)),
        (Events(20.0, 0.001), Events(20.0, 0.001)),
        (Events(10.0, 1.0), Events(10.0, 1.0)),
        (Events(1.0), Events(2.0)),
        (Events(20.0, waits=False), Events(24.0, waits=False)),
        (Events(10.0), Events(10.2)),
    ],
)
def test_equal_events_and_those_that_slots_hold_are_sound(old: Events, new: Events) -> None:
    assert [f.soundness for f in findings("interleaving", interleaved(), *made(old, new))] == [
        "sound"
    ]


def test_long_events_that_compute_gain_nothing_where_one_side_is_slower() -> None:
    """Queries of a second, of which a phase has too few to tell what they fill."""
    slower = made(Events(1000.0, waits=False), Events(1200.0, waits=False))
    assert not faults("interleaving", interleaved(), *slower)


def of_two_users(trial: Trial) -> Trial:
    """The same events, where a second user had nothing to do."""
    (record,) = trial.phases
    (tally,) = record.streams
    crowded = replace(record, streams=(replace(tally, connections=2),))
    return replace(trial, phases=(crowded,))


def test_users_that_a_count_leaves_idle_at_its_end_are_no_fault_of_the_turns() -> None:
    run = interleaved()
    (phase,) = run.workloads[0].phases
    counted = replace(phase, stop=Stop("count", events=100))
    counts = replace(run, workloads=(replace(run.workloads[0], phases=(counted,)),))
    alike = made(Events(20.0, waits=False), Events(20.0, waits=False))
    idle = [of_two_users(trial) if trial.candidate == "new" else trial for trial in alike]
    assert faults("interleaving", run, *idle) and not faults("interleaving", counts, *idle)
    assert faults("interleaving", counts, *made(Events(20.0), Events(24.0)))


def test_what_events_gain_is_held_against_the_primarys_own_margin() -> None:
    run = with_margin(interleaved(), 50.0)
    assert not faults("interleaving", run, *made(Events(20.0), Events(24.0)))


def test_of_few_blocks_it_is_not_checked_and_of_an_engine_that_ran_on_not_asked() -> None:
    run, trials = interleaved(), made(Events(20.0), Events(24.0), blocks=2)
    told = {f.soundness: f.sentence for f in findings("interleaving", run, *trials)}
    assert "too few blocks" in told["not checked"] and "select/run on new" in told["not checked"]
    running = replace(TURNS, running=(run.workloads[0].name,))
    run = replace(run, design=replace(run.design, interleaving=running))
    assert {f.soundness for f in findings("interleaving", run, *trials)} == {"sound"}


def test_what_varies_too_much_from_block_to_block_is_not_checked() -> None:
    calm, busy = (made(Events(20.0), Events(ms), blocks=2) for ms in (16.0, 24.0))
    both = [*calm, *(replace(t, number=t.number + 4, block=t.block + 2) for t in busy)]
    told = {f.soundness: f.sentence for f in findings("interleaving", interleaved(), *both)}
    assert "too noisy to tell" in told["not checked"] and "doubtful" not in told


@pytest.mark.slow
def test_of_a_hundred_runs_of_one_build_hardly_one_is_called_doubtful() -> None:
    run = interleaved()
    long = [Events(10.0, 1.0), Events(20.0), Events(20.0, 0.6, waits=False), Events(40.0, 0.6)]
    doubtful = sum(
        bool(faults("interleaving", run, *made(events, events, seed=seed)))
        for seed in range(25)
        for events in long
    )
    assert doubtful <= 2


def test_short_events_in_step_with_the_slices_are_doubtful_of_an_engine_that_runs_on_too() -> None:
    """As 200 and 210 us in slices of 1 ms, which read as 7.6 % for 5."""
    run = interleaved()
    running = replace(TURNS, running=(run.workloads[0].name,))
    run = replace(run, design=replace(run.design, interleaving=running))
    alike = made(Events(1.0), Events(1.05))
    assert not faults("interleaving", run, *alike)
    more = [of_more_events(t) if t.candidate == "old" else t for t in alike]
    (fault,) = faults("interleaving", run, *more)
    assert "the ratio may be off by 2." in fault.sentence and "in step" in fault.sentence


def of_more_events(trial: Trial) -> Trial:
    """The same events, 2.5 % more of them than its time holds."""
    (record,) = trial.phases
    (tally,) = record.streams
    latency = replace(tally.latency, count=round(1.025 * tally.latency.count))
    fuller = replace(record, streams=(replace(tally, latency=latency),))
    return replace(trial, phases=(fuller,))


def test_what_an_event_can_gain_is_the_time_of_all_other_sides() -> None:
    """Of two sides one other has its turn meanwhile, of three two."""
    trial = made(Events(40), Events(40), blocks=1)[0]
    pair = interleaved()
    third = replace(pair.candidates[0], name="third")
    more = replace(pair, candidates=(*pair.candidates, third))
    (two,), (three,) = (count_turn_ends(run, trial, "run").values() for run in (pair, more))
    histogram = decode_histogram(trial.phases[0].streams[0].latency.hdr)
    turn_ns = 1e9 * (TURNS.slice.length_s + TURNS.slice.drain_s)
    for found, others in ((two, 1), (three, 2)):
        turn = Turn(1e9 * TURNS.slice.length_s, 1e9 * TURNS.slice.drain_s, others * turn_ns)
        assert found.gained_most == turn.compute_gained_share(*histogram.list_values()) > 0
