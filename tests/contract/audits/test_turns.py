"""Audit `turns`: equal windows, and nobody at work in another's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from audit_records import a_run, a_trial, only, recorded, with_margin
from fakes import make_tally

from dyno.record import Finding, Run, Trial
from dyno.resolve.design import TURNS


def _run(address: str = "") -> Run:
    """Two candidates that took turns; of the second a server that ran already at an address."""
    run = a_run()
    design = replace(run.design, turns=TURNS)
    build = {"address": address} if address else {}
    sides = tuple(
        replace(side, build=side.build | (build if side.name == "new" else {}))
        for side in run.candidates
    )
    return replace(run, design=design, candidates=sides)


def _trial(number: int, side: str, counted_s: float = 9.0, straddled: int = 0) -> Trial:
    tally = replace(make_tally(1000), straddled=straddled)
    trial = recorded(a_trial(number, side), streams=(tally,))
    return replace(
        trial, phases=tuple(replace(p, counted_ns=round(1e9 * counted_s)) for p in trial.phases)
    )


def _judged(run: Run, *trials: Trial) -> Finding:
    return only("turns", run, *trials)


def test_equal_windows_are_sound_and_told() -> None:
    finding = _judged(_run(), _trial(1, "old"), _trial(2, "new"))
    assert finding.soundness == "sound" and "windows of 100 ms" in finding.sentence


def test_who_had_shorter_windows_is_named() -> None:
    finding = _judged(_run(), _trial(1, "old"), _trial(2, "new", counted_s=8.0))
    assert finding.soundness == "doubtful" and finding.trials == (2,)
    assert "11 % shorter" in finding.sentence


def test_another_workloads_windows_may_be_shorter() -> None:
    run = _run()
    brief = replace(run.workloads[0], name="brief")
    sides = ("old", "new")
    trials = [_trial(number, side) for number, side in enumerate(sides, 1)]
    trials += [
        replace(_trial(number, side, counted_s=6.0), workload=brief.name)
        for number, side in enumerate(sides, 3)
    ]
    assert _judged(replace(run, workloads=(*run.workloads, brief)), *trials).soundness == "sound"


def test_events_that_outlast_the_slots_of_an_engine_that_runs_on_are_doubtful() -> None:
    running = _judged(_run("db.example:5432"), _trial(1, "old"), _trial(2, "new", straddled=200))
    assert running.soundness == "doubtful" and "2 % of its events" in running.sentence


@pytest.mark.parametrize(
    ("straddled", "soundness"),
    [
        (9, "sound"),  # of 10,000 events now and then one
        (200, "doubtful"),  # two of a hundred slots: 200 · 15 ms of 9 s
    ],
)
def test_suspended_events_are_doubtful_where_what_they_gain_outside_their_windows_passes_the_margin(
    straddled: int, soundness: str
) -> None:
    finding = _judged(_run(), _trial(1, "old"), _trial(2, "new", straddled=straddled))
    assert finding.soundness == soundness
    if soundness == "doubtful":
        assert finding.trials == (2,)
        assert "up to 33 % of its time" in finding.sentence


def test_a_few_long_events_that_outlast_many_slots_gain_little() -> None:
    """Nine of a second each, in windows of 100 ms: each gains 15 ms at most."""
    tally = replace(make_tally(1, seconds=9.0), straddled=9)
    trials = [
        recorded(a_trial(number, side), streams=(tally,), counted_ns=9 * 10**9)
        for number, side in enumerate(("old", "new"), 1)
    ]
    assert _judged(_run(), *trials).soundness == "sound"


def test_what_is_gained_is_held_against_the_primarys_own_margin() -> None:
    run = with_margin(_run(), 50.0)
    trials = _trial(1, "old"), _trial(2, "new", straddled=200)
    assert _judged(run, *trials).soundness == "sound"


def test_an_engine_that_ran_on_is_doubted_where_it_changed_rows_or_outlasted_its_slots() -> None:
    run = _run()
    workload = run.workloads[0].name
    run = replace(run, design=replace(run.design, turns=replace(TURNS, running=(workload,))))
    plain = _trial(1, "old")
    assert _judged(run, plain, _trial(2, "new")).soundness == "sound"
    assert "2 % of its events" in _judged(run, plain, _trial(2, "new", straddled=200)).sentence
    (phase,) = _trial(2, "new").phases
    changed = replace(phase, streams=(replace(phase.streams[0], rows_changed=7),))
    finding = _judged(run, plain, replace(_trial(2, "new"), phases=(changed,)))
    assert finding.soundness == "doubtful" and "7 rows were changed" in finding.sentence


def test_restarts_one_after_the_other_have_no_windows_to_judge() -> None:
    assert "one after the other" in _judged(a_run(), a_trial(1, "old")).sentence
