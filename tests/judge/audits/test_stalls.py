"""Audit `stalls`: seconds without an answer are found where they weigh as much as the margin."""

from __future__ import annotations

from collections.abc import Sequence

from audit_records import a_run, a_trial, only, recorded, with_margin
from fakes import make_tally
from msgspec import structs

from dyno.record import Finding, Series


def _judged(done: Sequence[int], restarts: int = 1, margin_percent: float = 2.0) -> Finding:
    """One restart with these seconds, the others with none to blame."""
    series = Series(tuple(done), (0,) * len(done), (1,) * len(done))
    stalled = recorded(
        a_trial(9, "new"), streams=(structs.replace(make_tally(1000), series=series),)
    )
    clean = [a_trial(number, "new") for number in range(1, restarts)]
    return only("stalls", with_margin(a_run(), margin_percent), *clean, stalled)


def test_a_stall_is_told_with_its_length() -> None:
    finding = _judged([1000, 1000, 0, 0, 0, 1000, 1000, 0, 1000, 1000])
    assert (finding.soundness, finding.phase, finding.trials) == ("doubtful", "run", (9,))
    assert "nothing was answered in 4 of 10 s (in 1 restarts, 3 s at a stretch)" in finding.sentence


def test_a_stall_that_weighs_less_than_the_margin_is_told_only() -> None:
    finding = _judged([1000] * 9 + [0], restarts=6)
    assert finding.soundness == "sound" and "1 of 60 s" in finding.sentence


def test_the_second_of_the_last_answers_is_not_counted() -> None:
    assert _judged([1000] * 10 + [0]).soundness == "sound"


def test_a_stream_with_an_event_now_and_then_never_stalls() -> None:
    assert _judged([3, 0, 0, 4, 0, 0, 1, 0, 0, 2]).soundness == "not checked"


def test_stalls_weigh_against_the_margin_of_their_own_stream() -> None:
    once = [1000] * 9 + [0]
    assert _judged(once, restarts=6, margin_percent=1.0).soundness == "doubtful"
    assert _judged(once, restarts=1, margin_percent=15.0).soundness == "sound"


def test_a_restart_that_stood_still_for_nearly_all_of_its_time_is_no_slow_stream() -> None:
    finding = _judged([90] + [0] * 9, restarts=6)
    assert (finding.soundness, "9 of 60 s" in finding.sentence) == ("doubtful", True)
    assert _judged([0] * 10, restarts=6).soundness == "doubtful"
