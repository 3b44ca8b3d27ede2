"""The slices of a run interleaved: as short as its events let them be, and tried before any
block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from dyno.builds import Say
from dyno.cli.terminal.announcement import _describe_order
from dyno.compare.pilot.slices import (
    SHORTER_S,
    SHORTEST_S,
    SLICES_S,
    TriedEvents,
    choose_slice,
    choose_slices,
    settle_slices,
)
from dyno.instruments.time.brief_play import PilotContext
from dyno.instruments.time.interleaving import plan_turns
from dyno.judge.analysis.sentence import describe_pilot, describe_slices
from dyno.record import Pilot, Run, Saturation, Slice, TriedLoad
from dyno.runs.experiment import Measuring, Workload, compare_candidates
from dyno.runs.resolve.design import TURNS
from dyno.runs.resolve.draft import RunDraft
from dyno.runs.resolve.experiment import draft_run

pytestmark = pytest.mark.slow

SELECT = "oltp_point_select"
#: By count: a hundred short events, brief as it says, and then a long one.
SLOW_END = """
sysbench.cmdline.options = {n = {"Events", 1000000}}
dyno.brief = {n = "100"}
function short() end
function long() dyno.sleep(0.05) end
local function phase(name, events)
  return {name = name, stop = {kind = "count", events = events}, expected_s = 0.1,
    streams = {{name = name, run = name, connections = 1}}}
end
function dyno.phases() return {phase("short", sysbench.opt.n), phase("long", 1)} end
"""


def _draft(
    *specs: str,
    script: str = SELECT,
    sequential: bool = False,
    aa: bool = False,
    more: Sequence[Workload] = (),
    **options: str,
) -> RunDraft:
    measuring = Measuring(sequential=sequential, aa=aa)
    made = compare_candidates(specs or ("null@1us", "null@2us"), script, options, measuring)
    return draft_run(replace(made, workloads=(*made.workloads, *more)), lambda _: None)


def _settled(draft: RunDraft, say: Say = lambda _: None) -> Run:
    """The run with slices as a pilot found them."""
    settle_slices(draft, PilotContext(say))
    return draft.run


def _chosen(draft: RunDraft, *tried: TriedEvents | None) -> Run:
    """The run with slices for such events of its candidates."""
    choose_slices(draft, {SELECT: tried})
    return draft.run


@pytest.mark.parametrize(
    ("latency_ns_p99", "slice_ms", "drain_ms", "edge_ms"),
    [
        (30_000, 10, 0.5, 3),
        (2_400_000, 10, 2.4, 3),
        (4_900_000, 20, 4.9, 3),
        (5_000_001, 50, 5.000001, 5),
        (13_000_000, 100, 13, 10),
        (80_000_000, 500, 80, 50),
        (800_000_000, 500, 125, 50),
    ],
)
def test_a_slices_drain_holds_an_event(
    latency_ns_p99: int, slice_ms: float, drain_ms: float, edge_ms: float
) -> None:
    found = choose_slice(latency_ns_p99, SLICES_S)
    sizes = (found.length_s, found.drain_s, found.ramp_in_s)
    assert sizes == pytest.approx((slice_ms / 1e3, drain_ms / 1e3, edge_ms / 1e3))


@pytest.mark.parametrize(
    ("latency_ns_p99", "slice_ms"), [(3_000, 5), (1_250_000, 5), (1_250_001, 10), (3_000_000, 20)]
)
def test_what_needs_no_signals_takes_shorter_turns(latency_ns_p99: int, slice_ms: float) -> None:
    found = choose_slice(latency_ns_p99, SHORTER_S)
    assert found.length_s == pytest.approx(slice_ms / 1e3)
    assert found.ramp_in_s == pytest.approx(0.0005 if slice_ms == 5 else 0.003)


@pytest.mark.parametrize(
    ("latency_ns_p99", "played_s", "slice_ms"),
    [
        (50_000, 20, 1),
        (50_001, 20, 2),
        (30_000, 21, 2),
        (100_001, 20, 5),
        (600_000, 60, 5),
        (30_000, 3600, 200),
    ],
)
def test_who_runs_on_takes_the_shortest_turns_but_not_too_many(
    latency_ns_p99: int, played_s: float, slice_ms: float
) -> None:
    found = choose_slice(latency_ns_p99, SHORTEST_S, played_s)
    assert found.length_s == pytest.approx(slice_ms / 1e3)


def test_events_are_tried_on_every_candidate_and_what_was_found_is_noted_and_said() -> None:
    said: list[str] = []
    run = _settled(_draft(), said.append)
    assert said == ["finding how long an event of oltp_point_select takes on null@1us, null@2us"]
    assert run.pilot and run.pilot.latency_ns_p99[SELECT] > 1000
    found = choose_slice(run.pilot.latency_ns_p99[SELECT], SHORTEST_S)
    assert run.design.interleaving == structs.replace(
        TURNS, slices={SELECT: found}, running=(SELECT,)
    )
    assert any(words.startswith("Slices of ") for words in describe_pilot(run))


def test_slices_hold_the_events_of_the_slowest_candidate() -> None:
    run = _settled(_draft("null@1us", "null@10ms"))
    assert run.pilot and run.pilot.latency_ns_p99[SELECT] >= 10_000_000
    assert run.design.interleaving and run.design.interleaving.find_slice(SELECT).drain_s >= 0.01


def test_only_who_is_alone_takes_the_shortest_turns() -> None:
    for threads, slice_s in (("1", 0.001), ("2", 0.005)):
        run = _chosen(_draft(threads=threads), TriedEvents(50_000, 0))
        assert (
            run.design.interleaving
            and run.design.interleaving.find_slice(SELECT).length_s == slice_s
        )


def test_engines_stand_still_unless_events_were_seen_to_change_nothing() -> None:
    for rows_changed, freezes in ((0, False), (1, True)):
        run = _chosen(_draft(), TriedEvents(60_000, rows_changed))
        assert run.design.interleaving and run.design.interleaving.is_freezing(SELECT) is freezes
        assert run.design.interleaving.is_freezing("another")
    assert TURNS.is_freezing(SELECT)  # nothing was seen


def test_engines_whose_work_at_rest_differs_stand_still_without_a_turn() -> None:
    for resting_percent, freezes in ((1.0, False), (0.5, True)):
        tried = [TriedEvents(60_000, 0, 0.9), TriedEvents(50_000, 0, resting_percent)]
        run = _chosen(_draft(), *tried)
        assert run.design.interleaving and run.design.interleaving.is_freezing(SELECT) is freezes
        assert run.pilot and run.pilot.latency_ns_p99 == {SELECT: 60_000}
        said = "Idle engines are suspended: at rest one takes 0.4 % of a core more"
        assert any(words.startswith(said) for words in describe_pilot(run)) is freezes


def test_a_candidate_under_two_names_is_tried_once() -> None:
    said: list[str] = []
    _settled(_draft("null@1us", "null@1us", aa=True), said.append)
    assert len(said) == 1 and "," not in said[0]


def test_what_the_search_for_saturation_saw_of_the_base_is_not_tried_again() -> None:
    draft = _draft()
    tried = (TriedLoad(1, 60.0, 0.0, 1000), TriedLoad(2, 1.0, 0.0, 40_000_000))
    draft.change(pilot=Pilot(saturation=(Saturation(SELECT, "null@1us", 2, tried),)))
    said: list[str] = []
    run = _settled(draft, said.append)
    assert said == ["finding how long an event of oltp_point_select takes on null@2us"]
    assert run.design.interleaving and run.design.interleaving.find_slice(SELECT) == Slice(
        0.2, 0.04
    )


FAILS_ONCE_RUN = """
function event() error("this build does not know the statement") end
"""


def test_a_pilot_that_failed_knows_nothing_so_the_defaults_stay_and_engines_are_suspended(
    tmp_path: Path,
) -> None:
    script = tmp_path / "fails.lua"
    script.write_text(FAILS_ONCE_RUN)
    said: list[str] = []
    run = _settled(_draft(script=str(script)), said.append)
    assert run.design.interleaving == TURNS and run.design.interleaving.is_freezing("fails")
    assert run.pilot and set(run.pilot.untried) == {"fails"}
    assert any("slices of 100 ms" in each for each in said)
    assert any("could not be tried" in each for each in describe_pilot(run))


def test_what_is_known_of_one_candidate_alone_chooses_no_slices() -> None:
    for unknown in (None, TriedEvents(0, 0)):
        run = _chosen(_draft(), TriedEvents(60_000, 0), unknown)
        assert run.design.interleaving == TURNS and run.design.interleaving.is_freezing(SELECT)


def test_what_saturation_saw_of_the_base_stands_for_no_candidate_that_cannot_be_tried() -> None:
    draft = _draft(rate="1000")
    tried = (TriedLoad(1, 1.0, 0.0, 40_000),)
    draft.change(pilot=Pilot(saturation=(Saturation(SELECT, "null@1us", 1, tried),)))
    run = _settled(draft)
    assert run.design.interleaving == TURNS


def test_a_count_gets_slices_that_hold_its_events() -> None:
    """It is tried by time: a count of events says nothing of how long one takes."""
    run = _settled(_draft("null@1us", "null@10ms", events="100"))
    assert run.workloads[0].phases[0].stop.kind == "count"
    assert run.design.interleaving and run.design.interleaving.find_slice(SELECT).drain_s >= 0.01


def test_a_rate_that_is_given_keeps_the_default() -> None:
    said: list[str] = []
    run = _settled(_draft(rate="1000"), said.append)
    assert (run.design.interleaving, run.pilot, said) == (TURNS, None, [])


def test_a_script_that_ends_by_count_is_tried_as_it_says_itself() -> None:
    said: list[str] = []
    run = _settled(_draft(script="insert"), said.append)
    assert said == ["finding how long an event of insert takes on null@1us, null@2us"]
    assert run.design.interleaving and set(run.design.interleaving.slices) == {"insert"}


def test_a_phase_of_few_events_is_not_looked_at(tmp_path: Path) -> None:
    script = tmp_path / "long.lua"
    script.write_text(SLOW_END)
    run = _settled(_draft(script=str(script)))
    assert run.pilot and run.pilot.latency_ns_p99["long"] < 50_000_000


def test_each_workload_of_a_run_has_slices_of_its_own() -> None:
    run = _settled(_draft(more=[Workload("insert", {})]))
    run = structs.replace(
        run, pilot=structs.replace(run.pilot or Pilot(), latency_ns_p99={SELECT: 61_000})
    )
    turns = structs.replace(run.design.interleaving or TURNS, slices={SELECT: Slice(0.02, 0.003)})
    turns = structs.replace(turns, running=(SELECT,))
    assert set(turns.slices) == {SELECT}
    run = structs.replace(run, design=structs.replace(run.design, interleaving=turns))
    plans = [plan_turns(turns, run, plan, 0, run.candidates)[0] for plan in run.workloads]
    assert [(each.slice_ns, each.drain_ns, each.ramp_in_ns) for each in plans] == [
        (20_000_000, 3_000_000, 3_000_000),
        (100_000_000, 5_000_000, 10_000_000),
    ]
    told = "slices of 20 ms (oltp_point_select), 100 ms (insert)"
    assert (
        describe_slices(run) in told
        and _describe_order(run) == f"which then play interleaved in {told}"
    )
    assert describe_pilot(run) == [
        f"S{told[1:]}: 99 of 100 events take 61 µs (oltp_point_select) at most.",
        "Idle engines keep running in oltp_point_select: no row is changed.",
    ]


def test_without_turns_there_are_no_slices() -> None:
    draft = _draft(sequential=True)
    before = draft.run
    said: list[str] = []
    assert _settled(draft, said.append) == _chosen(draft, TriedEvents(1000, 0)) == before
    assert describe_slices(before) == ""
    assert not said
