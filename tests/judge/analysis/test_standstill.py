"""A block in which somebody stood still who must not is dropped, and says who it was."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from audit_records import with_margin
from fakes import make_run, make_trials
from judging import logs
from msgspec.structs import replace
from ways_to_be_fooled import assert_dropped

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import load_audits
from dyno.record import Dropped, PhaseRecord, Reading, Standstill, Switches, Trial

S = 1_000_000_000
VALUES = logs(0.0, 0.005, 8)


def spoiled(**sides: Callable[[PhaseRecord], PhaseRecord]) -> list[Trial]:
    """Eight blocks of two candidates, 10 s each; those in the third are changed, by candidate."""

    def change(trial: Trial) -> Trial:
        if trial.block != 2 or trial.candidate not in sides:
            return trial
        return replace(trial, phases=tuple(map(sides[trial.candidate], trial.phases)))

    return [change(trial) for trial in make_trials({"new": VALUES})]


def dropped(trials: list[Trial]) -> tuple[Dropped, ...]:
    return RunView(make_run(), trials).dropped


def switched(late_s: float, lost_s: float) -> Callable[[PhaseRecord], PhaseRecord]:
    found = Switches(300, round(late_s * S), round(lost_s * S))
    return lambda record: replace(record, switches=found)


def stood(
    own_s: float, longest_s: float, interleaved: bool
) -> Callable[[PhaseRecord], PhaseRecord]:
    own, longest = round(own_s * S), round(longest_s * S)
    counted = 10 * S if interleaved else None
    return lambda record: replace(
        record,
        stood_still_ns=own,
        stood_still_ns_max=longest,
        own_ns=counted,
        counted_ns=counted,
    )


def test_late_switches_of_dynos_drop_a_block_by_name() -> None:
    (found,) = dropped(spoiled(old=switched(4, 0), new=switched(4, 2)))
    assert (found.block, found.standstill) == (2, Standstill("Dyno", 4.0))
    assert found.reason == "Dyno stood still for 4.0 s"
    assert (found.percent, found.most) == (20.0, 1.0)


def test_what_weighs_less_than_half_the_margin_is_no_standstill() -> None:
    assert not dropped(spoiled(old=switched(0.1, 0.09), new=stood(0.09, 0.09, interleaved=True)))


def test_half_of_the_primarys_own_margin_drops_a_block() -> None:
    trials = spoiled(old=switched(0.1, 0.09), new=switched(0.1, 0.09))
    assert RunView(with_margin(make_run(), 1.0), trials).dropped
    lost = spoiled(new=switched(0.4, 0.3))
    assert RunView(make_run(), lost).dropped
    assert not RunView(with_margin(make_run(), 10.0), lost).dropped


def test_the_runs_margin_counts_too_where_the_mean_of_all_primaries_decides() -> None:
    lost = spoiled(new=switched(0.4, 0.3))
    assert RunView(with_margin(make_run(gate="mean"), 10.0), lost).dropped


def test_a_driver_that_stood_still_is_named() -> None:
    for interleaved in (False, True):
        (found,) = dropped(spoiled(new=stood(1, 4, interleaved)))
        assert found.reason == "the driver of new stood still for 4.0 s"


def test_where_all_drivers_stood_still_at_once_it_was_the_host() -> None:
    paused = stood(3, 6, interleaved=True)
    trials = spoiled(old=paused, new=paused)
    assert_dropped("machine-paused", dropped(trials))
    assert dropped(trials)[0].reason == "the host stood still for 6.0 s"
    apart = stood(3, 6, interleaved=False)
    one_after_the_other = dropped(spoiled(old=apart, new=apart))
    assert one_after_the_other[0].reason.startswith("the driver of new and of old stood still")


def test_a_machine_that_was_suspended_is_seen_by_the_clock_that_goes_on() -> None:
    slept = Reading("clock", "suspended_ns", "ns", "lower", 40.0 * S, False, True)
    stepped = replace(slept, name="realtime_step_ns")
    trials = spoiled(new=lambda record: replace(record, readings=(slept, stepped)))
    assert_dropped("suspended", dropped(trials))
    assert dropped(trials)[0].reason == "the host stood still for 40.0 s"
    clock = load_audits()["clock"].judge(RunView(make_run(), trials))
    assert not [f for f in clock if "the wall clock was set" in f.sentence]


@pytest.mark.parametrize("audit", ["dropped_blocks", "noise", "noise_effect"])
def test_audits_of_noise_do_not_ask_what_such_a_block_would_have_said(audit: str) -> None:
    trials = spoiled(new=lambda record: switched(4, 2)(record))
    slow = [
        replace(t, phases=tuple(replace(p, ended_ns=p.ended_ns + 9 * S) for p in t.phases))
        if (t.block, t.candidate) == (2, "new")
        else t
        for t in trials
    ]
    (found,) = load_audits()[audit].judge(RunView(make_run(), slow))
    assert found.soundness == "sound"
