"""The command line reads durations, sizes and settings as people write them, and spells them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from fakes import make_run

from dyno.cli.options import DURATION, PERCENT, SETTING, SIZE
from dyno.cli.runs import find_run, list_run_names
from dyno.cli.terminal import screen
from dyno.errors import UsageError
from dyno.runs.run_folder import create_run


def read(kind: click.ParamType[Any], text: str) -> Any:
    return kind.convert(text, None, None)


@pytest.mark.parametrize(
    "text,seconds",
    [("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("1.5 h", 5400), ("250ms", 0.25)],
)
def test_a_duration_is_seconds(text: str, seconds: float) -> None:
    assert read(DURATION, text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "10 minutes", "0", "-5s", "5x", "1h 30"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    if text == "1h 30":
        assert read(DURATION, text) == 3630, "a bare number is seconds"
        return
    with pytest.raises(click.BadParameter):
        read(DURATION, text)


def test_a_percentage_may_have_its_sign() -> None:
    assert read(PERCENT, "2%") == read(PERCENT, "2") == read(PERCENT, "2.0 %") == 2.0
    with pytest.raises(click.BadParameter, match="not a percentage"):
        read(PERCENT, "two")


def test_a_setting_is_a_key_and_a_value_that_may_hold_anything() -> None:
    assert read(SETTING, "table-size=1000") == ("table_size", "1000")
    assert read(SETTING, "a=b=c") == ("a", "b=c")
    for wrong in ("table_size", "=5"):
        with pytest.raises(click.BadParameter, match="key=value"):
            read(SETTING, wrong)


def test_a_size_is_bytes() -> None:
    assert read(SIZE, "500M") == 500 << 20
    assert read(SIZE, "2GB") == 2 << 30
    with pytest.raises(click.BadParameter):
        read(SIZE, "big")


@pytest.mark.parametrize(
    "seconds,spelled",
    [
        (0.25, "0.25 s"),
        (9.97, "10 s"),
        (6.0, "6 s"),
        (59, "59 s"),
        (60, "1 min"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
        (277200, "3 d 5 h"),
    ],
)
def test_a_duration_is_spelled_in_two_units(seconds: float, spelled: str) -> None:
    assert screen.format_duration(seconds) == spelled


@pytest.mark.parametrize(
    "ns,spelled",
    [(0, "0 ns"), (850, "850 ns"), (999.9, "1.00 µs"), (12345, "12.3 µs"), (2.5e9, "2.50 s")],
)
def test_a_latency_is_spelled_in_three_digits(ns: float, spelled: str) -> None:
    assert screen.format_latency(ns) == spelled


def test_rates_and_bytes_are_spelled_for_readers() -> None:
    assert screen.format_rate(12345.6) == "12,346"
    assert screen.format_rate(4.321) == "4.32"
    assert screen.format_bytes(950) == "950 B"
    assert screen.format_bytes(1_400_000_000) == "1.4 GB"


def test_a_run_is_found_by_path_name_beginning_and_as_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "here"))
    with pytest.raises(UsageError, match="no run yet"):
        find_run("last")
    first = create_run(make_run(), tmp_path / "here")
    second = create_run(make_run(), tmp_path / "here")
    name = second.path.name
    assert list_run_names() == sorted([first.path.name, name])
    assert find_run(str(first.path)).path == first.path
    assert find_run(name).path == second.path
    assert find_run("last").path.name == list_run_names()[-1]
    with pytest.raises(UsageError, match="more than one run"):
        find_run(name[:4])
    with pytest.raises(UsageError, match="unknown run"):
        find_run("nothing-such")
