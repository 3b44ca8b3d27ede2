"""Too little room on the disk: told before anything else is said, made or measured."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from dyno.cli import run_words

WORDS = ["compare", "null@100us", "null@200us", "-w", "oltp_point_select"]


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def test_no_forecast_is_made_and_no_folder(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = SimpleNamespace(total=1 << 40, used=0, free=5 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert run_words(WORDS) == 64
    said = capsys.readouterr()
    assert "has 5 MB free, and the run needs" in said.err
    assert said.err.rstrip().endswith("or set $DYNO_TMP to another file system")
    assert said.out == "" and not runs.exists()


def test_a_limit_of_the_cache_that_is_none_is_told_as_early(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DYNO_CACHE_LIMIT", "abc")
    assert run_words(WORDS) == 64
    assert "$DYNO_CACHE_LIMIT cannot be 'abc'" in capsys.readouterr().err
    assert not runs.exists()


@pytest.mark.parametrize("words", [WORDS, ["play", WORDS[1], *WORDS[3:]]])
def test_a_place_for_the_data_that_is_none_is_told_as_early(
    words: list[str],
    runs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        monkeypatch.setenv("DYNO_TMP", str(place))
        assert run_words(words) == 64
        said = capsys.readouterr()
        assert f"$DYNO_TMP cannot be {place}: " in said.err
        assert "hint: name a folder to write data to" in said.err
        assert said.out == "" and not runs.exists()


def test_a_place_for_the_data_is_made_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_TMP", str(tmp_path / "a" / "b"))
    short = ["--set", "time=0.1", "--set", "warmup_time=0"]
    assert run_words(["play", "null@100us", "-w", "oltp_point_select", *short]) == 0
    assert (tmp_path / "a" / "b").is_dir() and not list((tmp_path / "a" / "b").iterdir())
