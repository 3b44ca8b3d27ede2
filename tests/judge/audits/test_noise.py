"""Audit `noise`: noise that may tell in a result is told, noise that is shared is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from audit_records import with_margin
from fakes import make_readings, make_record, make_run, make_tally, make_trial
from msgspec import structs

from dyno.judge.analysis.blocks import compute_shares
from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import load_audits
from dyno.record import Finding, Trial
from dyno.runs.resolve.design import TURNS

Percent = Callable[[int], float]


def _none(_block: int) -> float:
    return 0.0


def _host(foreign: float, steal: float = 0.0, waited: float = 0.0, own: float = 1.0) -> Trial:
    """Ten seconds on two cores; shares in percent, `own` in seconds, `waited` of the time."""
    total = 20e9
    busy = own * 1e9 + foreign / 100 * total
    stolen = steal / 100 * total
    host = {"steal_ns": stolen, "busy_ns": busy, "idle_ns": total - busy - stolen}
    host |= {"own_ns": own * 1e9, "psi_cpu_ns": waited / 100 * 10e9}
    record = make_record([make_tally(1000)], readings=make_readings(host))
    return make_trial(1, "old", 0, 1, phases=(record,))


def _blocks(old: Sequence[Trial], new: Sequence[Trial]) -> list[Trial]:
    trials = []
    for block, pair in enumerate(zip(old, new, strict=True)):
        for place, (name, trial) in enumerate(zip(("old", "new"), pair, strict=True)):
            number = 2 * block + place + 1
            trials.append(structs.replace(trial, number=number, candidate=name, block=block))
    return trials


def _only(trials: Sequence[Trial]) -> Finding:
    (finding,) = load_audits()["noise"].judge(RunView(make_run(), trials))
    return finding


CALM, LOUD = _host(0.3), _host(15.0)


def test_a_few_drops_shared_by_both_are_sound() -> None:
    finding = _only(_blocks([CALM] * 8 + [LOUD] * 2, [CALM] * 8 + [LOUD, CALM]))
    assert finding.soundness == "sound" and "2 of 10 blocks of select" in finding.sentence


def test_a_host_that_is_loud_for_half_of_the_blocks_is_doubtful() -> None:
    trials = _blocks([CALM] * 5 + [LOUD] * 5, [CALM] * 5 + [LOUD] * 5)
    finding = _only(trials)
    assert finding.soundness == "doubtful" and "5 of 10 blocks were dropped" in finding.sentence


def test_steal_counts_as_foreign_cpu_does() -> None:
    stolen = _host(0.0, steal=9.0)
    assert (
        _only(_blocks([CALM] * 5 + [stolen] * 5, [CALM] * 5 + [stolen] * 5)).soundness == "doubtful"
    )


def test_drops_that_hit_one_candidate_alone_are_told() -> None:
    finding = _only(_blocks([CALM] * 40, [CALM] * 30 + [LOUD] * 10))
    assert finding.soundness == "doubtful" and finding.trials[:2] == (2, 4)
    assert "noise hit 10 of its blocks alone, and 0 of the base's" in finding.sentence


def test_four_drops_of_four_on_one_side_are_an_alarm_and_three_are_not() -> None:
    three = _only(_blocks([CALM] * 24, [CALM] * 21 + [LOUD] * 3))
    four = _only(_blocks([CALM] * 24, [CALM] * 20 + [LOUD] * 4))
    shared = _only(_blocks([LOUD] + [CALM] * 23, [CALM] * 20 + [LOUD] * 4))
    assert [f.soundness for f in (three, four, shared)] == ["sound", "doubtful", "sound"]


def test_drops_on_either_side_are_not() -> None:
    old = [CALM] * 30 + [LOUD, CALM] * 5
    new = [CALM] * 30 + [CALM, LOUD] * 5
    assert _only(_blocks(old, new)).soundness == "sound"


def test_more_noise_beside_one_candidate_in_the_blocks_that_count() -> None:
    old = [_host(0.2 + 0.1 * (block % 3)) for block in range(10)]
    new = [_host(6.0 + 0.5 * (block % 2)) for block in range(10)]
    finding = _only(_blocks(old, new))
    assert finding.soundness == "doubtful"
    assert "others had 6.2 % of the CPU time beside it, 0.3 % beside the base" in finding.sentence
    assert _only(_blocks(new, new)).soundness == "sound"


def test_noise_beside_one_candidate_is_held_against_the_primarys_own_margin() -> None:
    old = [_host(0.2 + 0.1 * (block % 3)) for block in range(10)]
    new = [_host(1.6 + 0.1 * (block % 2)) for block in range(10)]
    trials = _blocks(old, new)
    for margin_percent, soundness in ((0.5, "doubtful"), (2.0, "sound"), (10.0, "sound")):
        run = with_margin(make_run(), margin_percent)
        (finding,) = load_audits()["noise"].judge(RunView(run, trials))
        assert finding.soundness == soundness, margin_percent


def test_pressure_without_work_of_our_own_is_told() -> None:
    waiting, working = _host(0.3, waited=60.0), _host(0.3, waited=60.0, own=9.0)
    calm = [CALM] * 10
    finding = _only(_blocks(calm, [CALM] * 6 + [waiting] * 4))
    assert (
        finding.soundness == "doubtful" and "in 4 of 10 restarts tasks waited" in finding.sentence
    )
    assert _only(_blocks(calm, [CALM] * 6 + [working] * 4)).soundness == "sound"
    assert _only(_blocks([waiting] * 10, [waiting] * 10)).soundness == "sound"


def test_a_later_attempt_takes_the_place_of_a_loud_one() -> None:
    trials = _blocks([LOUD] * 4, [LOUD] * 4)
    again = [structs.replace(t, attempt=2) for t in _blocks([CALM] * 4, [CALM] * 4)]
    assert _only([*trials, *again]).soundness == "sound"


def test_noise_beside_one_side_alone_is_not_checked_where_trials_took_turns() -> None:
    """`/proc/stat` was read over a time that both share, whoever was hit."""
    old = [_host(0.2 + 0.1 * (block % 3)) for block in range(10)]
    for new in ([_host(6.0 + 0.5 * (block % 2)) for block in range(10)], old, [LOUD] * 4 + old[4:]):
        found = load_audits()["noise"].judge(
            RunView(make_run(interleaving=TURNS), _blocks(old, new))
        )
        said = [each for each in found if each.soundness == "not checked"]
        assert [each.sentence for each in said if "trials were interleaved" in each.sentence]
        assert not [each for each in found if "beside it" in each.sentence]
        assert not [each for each in found if "of its blocks alone" in each.sentence]


def test_a_hog_on_the_one_core_that_counts_is_as_loud_on_64_cores_as_on_two() -> None:
    """Half of the core that driver and engine share, for ten seconds; and one that is elsewhere."""
    host = {"steal_ns": 0.0, "busy_ns": 10e9, "idle_ns": 630e9, "own_ns": 5e9}
    elsewhere = {"placed_steal_ns": 0.0, "placed_busy_ns": 5e9, "placed_total_ns": 20e9}
    in_the_way = elsewhere | {"placed_busy_ns": 10e9}
    for more, percent in ((in_the_way, 25.0), (elsewhere, 100 * 5 / 640), ({}, 100 * 5 / 640)):
        found = compute_shares(host | more)
        assert found["foreign_percent"] == pytest.approx(percent)
    stolen = compute_shares(host | in_the_way | {"placed_steal_ns": 4e9})
    assert stolen["steal_percent"] == pytest.approx(20.0)
