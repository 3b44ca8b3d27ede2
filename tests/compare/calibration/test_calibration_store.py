"""The store of calibrations: lines that survive a kill, added up, stale when the host changed."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fakes import make_run
from msgspec.structs import replace

from dyno.cli.calibrate import describe_known
from dyno.compare import calibration
from dyno.compare.calibration import METHOD, CalibrationEntry
from dyno.compare.calibration.store import AGE_DAYS_MAX
from dyno.errors import HostError
from dyno.record import Run, decode
from dyno.record.decode import encode
from dyno.record.host import select_facts

HOST = {"cpu": "two of them", "cores": "2", "kernel": "6.1", "load_1min": "0.40"}
NOW = datetime(2026, 11, 21, tzinfo=UTC)


def entry(word: str = "not slower", **changes: object) -> CalibrationEntry:
    first = CalibrationEntry(
        kind="A/A",
        engine="null",
        what="a build with itself",
        effect_percent=0.0,
        words={word: 1},
        utc="2026-11-20T12:00:00Z",
        dyno="0.1",
        host=select_facts(HOST),
        covered=1,
        coverable=1,
    )
    return replace(first, **changes)


def stored(*found: CalibrationEntry) -> Path:
    file = calibration.find_store(HOST)
    for each in found:
        calibration.append(file, each)
    return file


def test_a_host_that_was_never_calibrated_is_known_for_nothing() -> None:
    assert calibration.find_error_rates(HOST) is None


def test_lines_come_back_as_they_were_written() -> None:
    found = [entry(), entry("slower", injected_percent=4.9)]
    assert calibration.read_entries(stored(*found)) == found


def test_a_line_of_an_older_dyno_is_read_without_what_is_gone(state: Path) -> None:
    file = stored(entry())
    old = json.loads(file.read_text()) | {"restarts": [{"block": 0, "candidate": "a", "value": 1}]}
    file.write_text(json.dumps(old) + "\n")
    assert calibration.read_entries(file) == [entry()]


@pytest.mark.parametrize(
    "former,kind",
    [
        ("plant", "delay"),
        ("p99 plant", "p99 delay"),
        ("plant-noise", "delay-noise"),
        ("ladder", "dose-response"),
    ],
)
def test_a_kind_and_a_design_by_their_former_names_are_read_by_those_of_today(
    former: str, kind: str
) -> None:
    file = stored(entry(settings={"design": "interleaved", "time": "9"}))
    old = json.loads(file.read_text()) | {
        "kind": former,
        "settings": {"design": "by turns", "time": "9"},
    }
    file.write_text(file.read_text() + json.dumps(old) + "\n")
    today, former_line = calibration.read_entries(file)
    assert former_line == replace(today, kind=kind)


def test_a_torn_line_is_passed_over_and_spoils_no_other(state: Path) -> None:
    file = stored(entry(), entry())
    whole = file.read_bytes()
    os.truncate(file, len(whole) - 40)
    assert calibration.read_entries(file) == [entry()]
    calibration.append(file, entry("slower"))
    assert calibration.read_entries(file) == [entry(), entry("slower")]
    assert file.parent == state / "calibration"


def test_lines_that_are_passed_over_are_counted_and_said() -> None:
    file = stored(entry(), entry())
    file.write_text(file.read_text() + '{"kind":"A/A","colour":"red"}\n{"kind":')
    known = calibration.find_error_rates(HOST, NOW)
    assert known and known.passed_over == 2
    assert "2 lines could not be read" in describe_known(known)
    assert "could not be read" not in describe_known(replace(known, passed_over=0))


def test_a_store_that_cannot_be_read_is_not_taken_for_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored(entry())

    def refuse(path: Path, **named: str) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(HostError, match="cannot read"):
        calibration.find_error_rates(HOST, NOW)


def test_a_line_of_a_newer_dyno_is_passed_over() -> None:
    file = stored(entry())
    file.write_text('{"kind":"A/A","colour":"red"}\n' + file.read_text())
    assert calibration.read_entries(file) == [entry()]


def test_comparisons_are_added_up_by_kind_engine_and_settings() -> None:
    injected = entry("slower", kind="delay", effect_percent=5.0, injected_percent=4.8)
    stored(entry(), entry("slower"), injected, replace(injected, injected_percent=5.2))
    stored(entry(settings={"time": "9"}))
    known = calibration.find_error_rates(HOST, NOW)
    assert known is not None and known.stale == ()
    same, found, longer = known.scores
    assert (same.comparisons, same.slower, same.words) == (2, 1, {"not slower": 1, "slower": 1})
    assert (found.slower_percent, found.injected_percent) == (100.0, 5.0)
    assert longer.settings == {"time": "9"} and longer.comparisons == 1
    assert same.low_percent == pytest.approx(1.258, abs=1e-3)  # beta quantiles at 1 of 2
    assert found.high_percent == 100.0


@pytest.mark.parametrize(
    "change,told",
    [
        ({"kernel": "6.2"}, "kernel was '6.1' and is '6.2'"),
        ({"cores": "1"}, "cores was '2' and is '1'"),
        ({"turbo": "1"}, "turbo was '' and is '1'"),
        ({"driver": "5e1f"}, "driver was '' and is '5e1f'"),
    ],
)
def test_another_host_makes_it_stale(change: dict[str, str], told: str) -> None:
    stored(entry())
    known = calibration.find_error_rates(HOST | change, NOW)
    assert known is not None and known.stale == (told,)


def test_what_comes_and_goes_does_not_make_it_stale() -> None:
    stored(entry())
    known = calibration.find_error_rates(HOST | {"load_1min": "9.99"}, NOW)
    assert known is not None and not known.stale


def test_another_method_or_old_age_makes_it_stale() -> None:
    stored(entry(method=METHOD - 1))
    late = NOW + timedelta(days=AGE_DAYS_MAX + 1)
    known = calibration.find_error_rates(HOST, late)
    assert known is not None
    said = " and ".join(known.stale)
    assert f"the method was version {METHOD - 1} and is {METHOD}" in said
    assert "91 days old" in said


def test_what_was_found_on_the_host_as_it_is_goes_before_what_was_not() -> None:
    old = select_facts(HOST | {"kernel": "5.0"})
    stored(entry(), *[entry("slower", host=old)] * 3)
    known = calibration.find_error_rates(HOST, NOW)
    assert known is not None and known.stale == ()
    assert known.scores[0].comparisons == 1


def test_a_run_carries_what_was_known(state: Path) -> None:
    stored(entry())
    run = replace(make_run(), calibration=calibration.find_error_rates(HOST, NOW))
    import json

    assert decode.decode(Run, json.loads(json.dumps(encode(run)))) == run


def test_a_folder_that_cannot_be_written_is_the_hosts_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").write_text("a file")
    monkeypatch.setenv("DYNO_STATE", str(tmp_path / "state"))
    with pytest.raises(HostError, match="cannot write"):
        stored(entry())
    assert calibration.find_error_rates(HOST) is None
