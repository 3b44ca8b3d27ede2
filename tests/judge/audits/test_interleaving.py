"""Audit `interleaving`: equal slices, and nobody at work in another's."""

from __future__ import annotations

from audit_records import a_run, a_trial, findings, only, recorded, with_margin
from fakes import make_tally
from msgspec.structs import replace
from ways_to_be_fooled import assert_caught

from dyno.record import Finding, Run, Suspended, Switches, Trial
from dyno.runs.resolve.design import TURNS


def _run(address: str = "") -> Run:
    """Two candidates that were interleaved; of the second a server that ran already at an
    address.
    """
    run = a_run()
    design = replace(run.design, interleaving=TURNS)
    build = {"address": address} if address else {}
    sides = tuple(
        replace(side, build=side.build | (build if side.name == "new" else {}))
        for side in run.candidates
    )
    return replace(run, design=design, candidates=sides)


def _trial(number: int, side: str, counted_s: float = 9.0, overrun: int = 0) -> Trial:
    tally = replace(make_tally(1000), overrun=overrun)
    trial = recorded(a_trial(number, side), streams=(tally,))
    return replace(
        trial, phases=tuple(replace(p, counted_ns=round(1e9 * counted_s)) for p in trial.phases)
    )


def _judged(run: Run, *trials: Trial) -> Finding:
    return only("interleaving", run, *trials)


def test_equal_slices_are_sound_and_told() -> None:
    finding = _judged(_run(), _trial(1, "old"), _trial(2, "new"))
    assert finding.soundness == "sound" and "slices of 100 ms" in finding.sentence


def test_who_had_shorter_slices_is_named() -> None:
    finding = _judged(_run(), _trial(1, "old"), _trial(2, "new", counted_s=8.0))
    assert finding.soundness == "doubtful" and finding.trials == (2,)
    assert "11 % shorter" in finding.sentence


def test_another_workloads_slices_may_be_shorter() -> None:
    run = _run()
    brief = replace(run.workloads[0], name="brief")
    sides = ("old", "new")
    trials = [_trial(number, side) for number, side in enumerate(sides, 1)]
    trials += [
        replace(_trial(number, side, counted_s=6.0), workload=brief.name)
        for number, side in enumerate(sides, 3)
    ]
    assert _judged(replace(run, workloads=(*run.workloads, brief)), *trials).soundness == "sound"


def test_events_across_slots_are_doubtful_only_where_the_engine_ran_on() -> None:
    frozen = _judged(_run(), _trial(1, "old"), _trial(2, "new", overrun=200))
    assert frozen.soundness == "sound"
    running = _judged(_run("db.example:5432"), _trial(1, "old"), _trial(2, "new", overrun=200))
    assert running.soundness == "doubtful" and "2 % of its events" in running.sentence


def test_an_engine_that_ran_on_is_doubted_where_it_changed_rows_or_outlasted_its_turns() -> None:
    run = _run()
    workload = run.workloads[0].name
    run = replace(run, design=replace(run.design, interleaving=replace(TURNS, running=(workload,))))
    plain = _trial(1, "old")
    assert _judged(run, plain, _trial(2, "new")).soundness == "sound"
    assert "2 % of its events" in _judged(run, plain, _trial(2, "new", overrun=200)).sentence
    (phase,) = _trial(2, "new").phases
    changed = replace(phase, streams=(replace(phase.streams[0], rows_changed=7),))
    finding = _judged(run, plain, replace(_trial(2, "new"), phases=(changed,)))
    assert finding.soundness == "doubtful" and "7 rows were changed" in finding.sentence


def test_restarts_one_after_the_other_have_no_slices_to_judge() -> None:
    assert "one after the other" in _judged(a_run(), a_trial(1, "old")).sentence


def _suspended(number: int, side: str, found: Suspended | None) -> Trial:
    switches = Switches(100, 0, 0, suspended=found)
    return recorded(_trial(number, side), switches=switches)


def test_an_engine_that_used_cpu_time_while_it_was_suspended_is_doubtful() -> None:
    """Of 10 s in 100 turns: 2 % of a core beyond what signals take."""
    spent = Suspended(100, 10 * 10**9, 250_000_000)
    finding = _judged(_run(), _suspended(1, "old", Suspended()), _suspended(2, "new", spent))
    assert_caught("woken", [finding])
    assert finding.trials == (2,)
    assert "2.0 % of a core while it was suspended" in finding.sentence
    lenient = with_margin(_run(), 5.0)
    trials = _suspended(1, "old", Suspended()), _suspended(2, "new", spent)
    assert _judged(lenient, *trials).soundness == "sound"


def test_what_an_engine_uses_until_a_signal_reaches_it_is_allowed_for() -> None:
    stopping = Suspended(1000, 6 * 10**9, 45_000_000)
    trials = [_suspended(n, side, stopping) for n, side in enumerate(("old", "new"), 1)]
    assert [f.soundness for f in findings("interleaving", _run(), *trials)] == ["sound"]


def test_where_the_cpu_time_of_a_suspended_engine_was_not_seen_it_is_not_checked() -> None:
    seen = _suspended(1, "old", Suspended(100, 10**9, 0))
    for unseen in (_suspended(2, "new", None), _trial(2, "new")):
        left = [f for f in findings("interleaving", _run(), seen, unseen) if f.soundness != "sound"]
        assert [f.soundness for f in left] == ["not checked"]
        assert "select/run on new" in left[0].sentence and "on old" not in left[0].sentence
    run = _run()
    running = replace(run.design, interleaving=replace(TURNS, running=(run.workloads[0].name,)))
    found = findings("interleaving", replace(run, design=running), seen, _trial(2, "new"))
    assert [f.soundness for f in found] == ["sound"], "nobody was to stand still"
