"""The windows of a run by turns: as short as its events let them be, and tried before any block."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dyno.analysis.sentence import pilot_words
from dyno.experiment import Experiment, Measuring, compare_candidates
from dyno.play.pilot_trial import PilotScene
from dyno.play.windows import chosen_windows, settle_windows, with_windows
from dyno.record import Pilot, Saturation, TriedLoad
from dyno.resolve.design import TURNS
from dyno.resolve.experiment import Prepared, resolve_experiment


def _made(sequential: bool = False, **options: str) -> tuple[Experiment, Prepared]:
    measuring = Measuring(sequential=sequential)
    made = compare_candidates(["null@1us", "null@2us"], "oltp_point_select", options, measuring)
    return made, resolve_experiment(made, lambda _: None)


@pytest.mark.parametrize(
    ("latency_ns_p99", "window_ms", "drain_ms", "edge_ms"),
    [
        (30_000, 20, 1, 2),
        (1_000_000, 20, 1, 2),
        (1_000_001, 50, 2.5, 5),
        (4_900_000, 100, 5, 10),
        (9_000_000, 200, 10, 20),
        (80_000_000, 500, 25, 50),
    ],
)
def test_a_windows_drain_holds_an_event(
    latency_ns_p99: int, window_ms: float, drain_ms: float, edge_ms: float
) -> None:
    found = chosen_windows(TURNS, latency_ns_p99)
    sizes = (found.window_s, found.drain_s, found.edge_s)
    assert sizes == pytest.approx((window_ms / 1e3, drain_ms / 1e3, edge_ms / 1e3))
    assert (found.epoch_s, found.frozen) == (TURNS.epoch_s, TURNS.frozen)


def test_events_are_tried_on_the_base_and_what_was_found_is_noted_and_said() -> None:
    said: list[str] = []
    run = settle_windows(*_made(), PilotScene(said.append)).run
    assert said == ["finding how long an event of oltp_point_select takes on null@1us"]
    assert run.pilot and run.pilot.latency_ns_p99 > 1000
    assert run.design.turns == chosen_windows(TURNS, run.pilot.latency_ns_p99)
    assert any(words.startswith("Windows of ") for words in pilot_words(run))


def test_what_the_search_for_saturation_saw_is_not_tried_again() -> None:
    experiment, prepared = _made()
    tried = (TriedLoad(1, 60.0, 0.0, 1000), TriedLoad(2, 1.0, 0.0, 7_000_000))
    pilot = Pilot(saturation=(Saturation("oltp_point_select", "null@1us", 2, tried),))
    prepared = replace(prepared, run=replace(prepared.run, pilot=pilot))
    said: list[str] = []
    run = settle_windows(experiment, prepared, PilotScene(said.append)).run
    assert not said
    assert run.design.turns and run.design.turns.window_s == 0.2


def test_what_ends_by_count_keeps_the_default() -> None:
    said: list[str] = []
    run = settle_windows(*_made(events="1000"), PilotScene(said.append)).run
    assert (run.design.turns, run.pilot, said) == (TURNS, None, [])


def test_without_turns_there_are_no_windows() -> None:
    made = _made(sequential=True)
    said: list[str] = []
    assert settle_windows(*made, PilotScene(said.append)) == made[1]
    assert with_windows(made[1], 1000) == made[1]
    assert not said
