"""Audit `counters`: an event that is lost between two counts is found, and so is a wrapped one."""

from __future__ import annotations

from typing import Any

import pytest
from audit_records import CLEAN, a_run, a_trial, findings, only, recorded
from fakes import make_latency, make_readings, make_record, make_tally
from msgspec import structs

from dyno.record import Finding, Reading, Series, Trial, Usage


def _beside_clean(trial: Trial) -> Finding:
    run = structs.replace(a_run(), host={"cores": "2"})
    return only("counters", run, *CLEAN[:2], trial)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"latency": make_latency(1.0, 9_999)}, "histogram and its count differ (trial 3: 9999"),
        ({"lateness": make_latency(1.0, 9_999)}, "lateness and its count differ (trial 3: 9999"),
        ({"series": Series((1, 2), (0, 0), (1, 1))}, "seconds and its count differ (trial 3: 3"),
        ({"series": Series((10_000,), (1,), (1,))}, "seconds of failures and its count differ"),
        ({"transactions": {"a": make_latency(1.0, 1)}}, "types and its count differ (trial 3: 1"),
    ],
)
def test_accounts_that_differ_are_invalid(changes: dict[str, Any], words: str) -> None:
    finding = _beside_clean(a_trial(3, "new", **changes))
    assert finding.soundness == "invalid" and words in finding.sentence
    assert finding.trials == (3,)


def test_what_was_waited_for_events_that_were_cut_off_is_in_the_histogram() -> None:
    cut: dict[str, Any] = {"failed": 2, "cut": 2, "intended": 10_002}
    cut |= {"series": Series((10_000,), (2,), (1,)), "lateness": make_latency(1.0, 10_002)}
    told = a_trial(3, "new", latency=make_latency(1.0, 10_002), **cut)
    assert _beside_clean(told).soundness == "sound"
    assert "histogram" in _beside_clean(a_trial(3, "new", **cut)).sentence


def test_events_that_do_not_add_up_are_invalid() -> None:
    tally = make_tally(1000)
    structs.force_setattr(tally, "intended", 10_001)
    trial = structs.replace(CLEAN[2], phases=(make_record([tally]),))
    finding = _beside_clean(trial)
    assert finding.soundness == "invalid" and "10001 intended" in finding.sentence


@pytest.mark.parametrize(
    ("value", "words"),
    [(-4_294_967_296.0, "fell over the phase"), (float("nan"), "is not a number")],
)
def test_a_counter_of_a_probe_that_wrapped_is_doubtful(value: float, words: str) -> None:
    trial = recorded(CLEAN[2], readings=make_readings(read_bytes=value))
    finding = _beside_clean(trial)
    assert finding.soundness == "doubtful" and words in finding.sentence


def test_what_is_told_in_ticks_may_fall_a_little() -> None:
    fell = Reading("process", "server_user_us", "µs", "lower", -20_000.0, True)
    assert _beside_clean(recorded(CLEAN[2], readings=(fell,))).soundness == "sound"


def test_a_clock_may_be_set_back() -> None:
    back = Reading("clock", "realtime_step_ns", "ns", "lower", -5e9, False)
    assert _beside_clean(recorded(CLEAN[2], readings=(back,))).soundness == "sound"


@pytest.mark.parametrize(("seconds", "soundness"), [(21, "sound"), (50, "doubtful")])
def test_ten_seconds_on_two_cores_hold_so_much_cpu_time(seconds: int, soundness: str) -> None:
    spent = Usage(seconds * 10**9, 0, 0, 0, 0)
    server = Reading("process", "server_cpu_us", "µs", "lower", seconds * 1e6, True)
    assert _beside_clean(recorded(CLEAN[2], usage=spent)).soundness == soundness
    assert _beside_clean(recorded(CLEAN[2], readings=(server,))).soundness == soundness


def test_a_count_that_a_server_did_not_tell_is_said_with_the_reason() -> None:
    trial = recorded(a_trial(3, "new"), unread={"contention": "permission denied"})
    sound, unchecked = findings("counters", a_run(), *CLEAN[:2], trial)
    assert sound.soundness == "sound" and unchecked.soundness == "not checked"
    assert "`contention` could not be read: permission denied" in unchecked.sentence
