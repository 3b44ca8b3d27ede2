"""A session of calibration: the whole pipeline on `null`, its size check, what it leaves out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from dyno.cli import run_words
from dyno.cli.calibrate import print_entry
from dyno.compare import calibration
from dyno.compare.calibration import CalibrationEntry
from dyno.compare.calibration.cases import CalibrationCase
from dyno.compare.calibration.comparison import choose_settings
from dyno.compare.calibration.dose_response import DoseResponse
from dyno.compare.calibration.pilot import CalibrationPilot, Shape
from dyno.compare.calibration.session import (
    CalibrationOptions,
    CalibrationSession,
    hold_folder,
    instrument_here,
)
from dyno.engines import null
from dyno.errors import HostError, UsageError
from dyno.record.host import select_facts
from dyno.runs.experiment.candidates import parse_candidate

#: Four blocks, none dropped: other tests may run beside this one.
TINY = Shape(
    options={"time": "0.1", "warmup_time": "0.02"},
    blocks=4,
    limits={"foreign_percent": 100.0, "steal_percent": 100.0},
)
ENGINE = "null@1ms"


def session(goals: dict[str, int], engine: str = ENGINE, **changes: object) -> CalibrationSession:
    wanted = CalibrationOptions((engine,), goals, TINY, made_up=False)
    return CalibrationSession(
        replace(wanted, **changes),  # type: ignore[arg-type]
        lambda _: None,
        lambda *_: None,
    )


def made_up_session(goals: dict[str, int], **changes: object) -> CalibrationSession:
    """A session whose comparisons are made up on the spot; all else is as ever."""

    def blank(
        case: CalibrationCase, shape: Shape, pilot: CalibrationPilot, *_: object
    ) -> CalibrationEntry:
        chosen = choose_settings(case, shape, pilot)
        facts = {
            "utc": "2026-11-21T12:00:00Z",
            "dyno": "0.1",
            "host": select_facts(instrument_here()),
            "settings": chosen,
        }
        truth = (case.kind, parse_candidate(case.base).engine, case.title, case.effect_percent)
        words = {"not slower": 1}
        return CalibrationEntry(*truth, words, seconds=9.0, **facts)  # type: ignore[arg-type]

    pilot = CalibrationPilot(2e5, 2e5, 2e5, 0.0, "1", ())
    return replace(
        session(goals, **changes),  # type: ignore[arg-type]
        settle=lambda _, shape, __: shape,
        measure_baseline=lambda *_: pilot,
        play_comparison=blank,
    )


@pytest.mark.slow
def test_a_calibration_on_null_goes_all_the_way() -> None:
    """Same build, and a delay of ten times the length: a size as large is measured, and found.

    Neither the pilot nor a trial is alone here, so the size may be far from what was asked.
    """
    now = session({"aa": 1, "delay": 1}, injected_percent=(900.0,))
    assert now.play()
    same, injected = now.find_current()
    assert same.settings["design"] == injected.settings["design"] == "interleaved"
    assert (same.kind, same.injected_percent, same.effect_percent) == ("A/A", None, 0.0)
    assert injected.injected_percent is not None and injected.injected_percent > 200.0
    assert (injected.words, injected.coverable) == ({"slower": 1}, 1)
    known = calibration.find_error_rates(instrument_here())
    assert known is not None
    assert {score.kind for score in known.scores} == {"A/A", "delay"}
    assert not now.file.with_suffix(".playing").exists()


@pytest.mark.slow
def test_a_comparison_beside_a_cpu_hog_is_stored_too() -> None:
    now = session({"noise": 1})
    assert now.play()
    (entry,) = now.find_current()
    assert entry.kind == "noise"
    assert sum(entry.words.values()) == 1


def test_an_injected_delay_of_nothing_is_refused_before_anything_is_played() -> None:
    with pytest.raises(UsageError, match="--inject must be above 0"):
        session({"delay": 1}, injected_percent=(0.0,))


def test_where_a_delay_is_not_transmitted_no_delay_is_compared() -> None:
    asked: list[str] = []
    pilot = CalibrationPilot(2e5, 2e5, 2e5, 1.0, "1", ())

    def run_dose_series(text: str, *_: object) -> DoseResponse:
        asked.append(text)
        return DoseResponse(0.6, 0.04)

    for _ in range(2):
        now = made_up_session({"aa": 1, "delay": 1, "p99": 1}, engine="sqlite@3.24.0")
        now = replace(now, measure_baseline=lambda *_: pilot, run_dose_series=run_dose_series)
        assert now.play()
        assert {entry.kind for entry in now.find_current()} == {"A/A", "dose-response"}
    assert asked == ["sqlite@3.24.0"], "what is known is not asked again"
    known = calibration.find_error_rates(instrument_here())
    assert known is not None and {score.kind for score in known.scores} == {"A/A"}


def test_what_is_there_is_not_played_again() -> None:
    for wanted, there in ((1, 1), (1, 1), (3, 3)):
        now = made_up_session({"aa": wanted})
        assert now.play()
        assert len(now.find_current()) == there


def test_lots_take_turns_so_that_each_has_some() -> None:
    now = made_up_session({"aa": 4, "noise": 2})
    assert now.play()
    assert [entry.kind for entry in now.find_current()][:3] == ["A/A", "noise", "A/A"]


def test_a_delay_is_sized_by_the_last_comparison_under_the_same_noise() -> None:
    """Operations of 200 µs, and 1,000 µs in every comparison beside a hog: 10 % of each."""
    delays_us: list[tuple[bool, float]] = []
    now = made_up_session({"delay": 2, "delay-noise": 2}, injected_percent=(10.0,))
    made_up = now.play_comparison

    def play(case: CalibrationCase, *more: Any) -> CalibrationEntry:
        delay_ns = null.parse_delay_ns(case.candidate.partition("@")[2])
        delays_us.append((case.beside_hog, delay_ns / 1000 - 1000))
        operation_ns = 1e6 if case.beside_hog else 2.5e5
        return structs.replace(made_up(case, *more), operation_ns=operation_ns)

    assert replace(now, play_comparison=play).play()
    assert delays_us == [(False, 20.0), (True, 20.0), (False, 25.0), (True, 100.0)]


def test_another_size_is_another_lot() -> None:
    assert made_up_session({"aa": 1}).play()
    larger = made_up_session({"aa": 1}, shape=replace(TINY, blocks=5))
    assert larger.play()
    assert len(larger.find_current()) == 2


def test_a_comparison_that_would_not_end_within_the_budget_is_not_begun() -> None:
    assert made_up_session({"aa": 1}).play()
    now = made_up_session({"aa": 2}, budget_s=8.0)
    assert not now.play()
    assert len(now.find_current()) == 1


def test_nothing_can_be_injected_in_no_delay() -> None:
    with pytest.raises(UsageError, match="null has no delay of its own"):
        made_up_session({"delay": 1}, engine="null@0").play()


def test_a_host_that_changes_meanwhile_ends_it() -> None:
    """What was found is stored; without an end, no comparison would ever count."""
    now = made_up_session({"aa": 2})
    now.host = now.host | {"kernel": "the next"}
    with pytest.raises(HostError, match="changed while it was calibrated"):
        now.play()
    assert len(calibration.read_entries(now.file)) == 1


def test_one_calibration_at_a_time() -> None:
    now = session({"aa": 1})
    with hold_folder(now.file), pytest.raises(HostError, match="another dyno is calibrating"):
        now.play()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--engine", "sqlight"), "unknown engine 'sqlight'\nhint: did you mean sqlite"),
        (("--engine", "null@70us", "--engine", "sqlite@9.9"), "unknown sqlite version '9.9'"),
        (("--engine", "null@abc"), "cannot read the delay 'abc'"),
    ],
)
def test_a_word_that_cannot_be_is_refused_before_anything_is_said_or_played(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["calibrate", *words]) == 64
    said = capsys.readouterr()
    assert said.out == "" and told in said.err


def test_a_comparison_without_a_calm_block_is_told_without_an_interval(
    capsys: pytest.CaptureFixture[str],
) -> None:
    here = select_facts(instrument_here())
    entry = CalibrationEntry("A/A", "null", "same build", 0.0, {"inconclusive": 1}, "", "0.1", here)
    print_entry(structs.replace(entry, dropped_blocks=20), 2, 40)
    print_entry(
        structs.replace(entry, slowdown_percent=1.0, low_percent=-1.0, high_percent=3.0), 3, 40
    )
    first, second = capsys.readouterr().out.splitlines()
    assert "inconclusive  no interval: 20 blocks were dropped for noise  0 s" in first
    assert "+1.0 % [-1.0, +3.0]" in second
