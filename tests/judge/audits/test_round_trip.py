"""Audit `round_trip`: answers that are mostly the host's way there and back are found out."""

from __future__ import annotations

from typing import Any

import pytest
from audit_records import a_run, engine, only, recorded
from fakes import make_latency, make_phase, make_readings, make_record, make_tally, make_trial
from msgspec import structs

from dyno.record import (
    Conditions,
    Finding,
    PinningCondition,
    Reading,
    Run,
    Trial,
    name_echo,
)

SERVER = engine("new", embedded=False)
ANSWER_US = 100.0


def _run(stream: dict[str, Any] | None = None) -> Run:
    phase = make_phase()
    phase["streams"][0] |= stream or {}
    return a_run(SERVER, phase=phase)


def _trial(number: int = 2, **tally: Any) -> Trial:
    latency = make_latency(ANSWER_US * 1e3)
    own: dict[str, Any] = {"latency": latency, "round_trips": 10_000} | tally
    return make_trial(number, "new", number, 1, phases=(make_record([make_tally(1000, **own)]),))


def _echo(way_us: float, number: int = 1) -> Trial:
    tally = make_tally(1000, name="echo", latency=make_latency(way_us * 1e3))
    return make_trial(number, name_echo("new"), -1, 1, phases=(make_record([tally]),))


def _found(*trials: Trial, run: Run | None = None) -> Finding:
    return only("round_trip", run or _run(), *trials)


@pytest.mark.parametrize(
    ("way_us", "soundness"),
    [(49.0, "sound"), (50.0, "doubtful"), (89.0, "doubtful"), (90.0, "invalid")],
)
def test_the_way_is_held_against_the_answer(way_us: float, soundness: str) -> None:
    finding = _found(_echo(way_us), _trial())
    assert finding.soundness == soundness
    assert f"of 100 µs an answer, {way_us:.0f} are the host's way there and back" in str(finding)


def test_the_sentence_says_what_to_do() -> None:
    assert _found(_echo(60), _trial()).sentence.endswith("try pinning=together, or more threads")
    crowd = _found(_echo(60), _trial(connections=8)).sentence
    assert crowd.endswith("try more threads, or pinning=together")


def test_on_one_core_already_only_more_threads_are_left() -> None:
    placed = Conditions(pinning=PinningCondition((1,), (1,)))
    finding = _found(_echo(60), structs.replace(_trial(), conditions=placed))
    assert finding.sentence.endswith("its size: try more threads")


def test_a_server_that_is_always_busy_is_cleared() -> None:
    """While one request is on its way, others are worked at."""
    spent = Reading("process", "server_cpu_us", "µs", "lower", 9.5e6, True)
    placed = Conditions(pinning=PinningCondition((1,), (0,)))
    busy = structs.replace(recorded(_trial(connections=4), readings=(spent,)), conditions=placed)
    finding = _found(_echo(95), busy)
    assert finding.soundness == "sound" and "busy nearly all the time" in finding.sentence


def test_an_event_of_several_round_trips_is_held_against_as_many() -> None:
    """Four ways of 20 µs are 80 of the 100; failed events are events, too."""
    assert _found(_echo(20), _trial(round_trips=40_000)).soundness == "doubtful"
    half_failed = {"intended": 20_000, "failed": 10_000, "round_trips": 40_000}
    assert _found(_echo(20), _trial(**half_failed)).soundness == "sound"


def test_the_shortest_of_several_echoes_counts() -> None:
    assert _found(_echo(95, 1), _echo(30, 3), _trial()).soundness == "sound"


def _noisy(echo: Trial) -> Trial:
    foreign = make_readings({"steal_ns": 0.0, "busy_ns": 50.0, "idle_ns": 50.0, "own_ns": 10.0})
    return recorded(echo, readings=foreign)


def test_an_echo_beside_a_neighbour_can_clear_and_not_condemn() -> None:
    finding = _found(_noisy(_echo(95)), _trial())
    assert finding.soundness == "doubtful" and "not known" in finding.sentence
    assert _found(_noisy(_echo(40)), _trial()).soundness == "sound"
    assert _found(_noisy(_echo(40)), _echo(95, 3), _trial()).soundness == "invalid"


def test_an_open_loop_is_not_judged() -> None:
    paced = _trial(target_per_s=1000.0)
    assert _found(_echo(95), paced).sentence.startswith("no echo was played")


def test_without_an_echo_or_a_server_nothing_is_claimed() -> None:
    assert _found(_trial()).sentence.startswith("no echo was played")
    assert only("round_trip", a_run(), _echo(95)).sentence == "no candidate is a server"


def test_a_record_of_an_older_driver_has_no_round_trips() -> None:
    assert _found(_echo(95), _trial(round_trips=0)).soundness == "not checked"


def test_the_finding_names_the_trials_and_the_phase() -> None:
    failed = structs.replace(_echo(1.0, 9), status="failed")
    finding = _found(failed, _echo(95), _trial(4), _trial(5))
    assert (finding.trials, finding.phase) == ((4, 5), "run")
