"""What a killed Dyno left among temporary things is listed and freed; a living one's stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from processes import wait_for

from dyno import scratch
from dyno.access import account
from dyno.cli import run_words

#: Longer than any test waits.
PLAY = ["play", "null", "-w", "oltp_point_select", "--set", "time=60", "--set", "warmup_time=0"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary things, with something of somebody else's in it."""
    for name, folder in {"TMPDIR": "tmp", "DYNO_TMP": "homes", "DYNO_CACHE": "cache"}.items():
        (tmp_path / folder).mkdir()
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    for name in ("dyno-main", "dyno-play", "dyno-play-notes", "other"):
        (tmp_path / "homes" / name).mkdir()
    return tmp_path


def found(place: Path) -> list[Path]:
    return [path for path in scratch.list_leftovers() if path.is_relative_to(place)]


@pytest.mark.slow
def test_what_a_killed_play_leaves_is_listed_and_cleared(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {*place.rglob("*")}
    command = [sys.executable, "-m", "dyno.cli", *PLAY]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as play:
        wait_for(lambda: len(list(place.glob("homes/dyno-*/0001"))) == 1)
        names = [path.name for path in found(place)]
        assert len(names) == 2
        assert run_words(["clean", "--yes", *names]) == 0
        assert capsys.readouterr().out.count("is in use and stays") == 2
        assert [path.name for path in found(place)] == names
        play.kill()
    assert [path.name for path in found(place)] == names
    assert run_words(["clean", "--temporary", *names]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in names) and "nothing was freed" in said
    assert run_words(["clean", "--yes", *names]) == 0
    assert not found(place)
    assert {path for path in place.rglob("*") if "cache" not in str(path)} <= before


def test_the_data_of_a_run_whose_folder_is_gone_are_cleared(place: Path) -> None:
    home = place / "homes" / "dyno-20261122T101500Z-null-vs-null-0123abcd"
    home.mkdir()
    with scratch.hold(home):
        assert run_words(["clean", "--yes", home.name]) == 0
        assert home.exists()
    assert run_words(["clean", "--yes", home.name]) == 0
    assert not home.exists()


def test_sockets_and_tracebacks_are_cleared_too(place: Path) -> None:
    made = account.place_socket(place / ("deep" * 30), "s.sock")
    folder = made.folder
    assert folder is not None and folder in scratch.list_leftovers() and scratch.is_held(folder)
    trace = place / "tmp" / "dyno-traceback-ab12_x9z.txt"
    trace.touch()
    assert made.held
    os.close(made.held.handle)  # as the kernel does, when we are killed
    assert run_words(["clean", "--yes", folder.name, trace.name]) == 0
    assert not folder.exists() and not trace.exists()


def test_nobody_elses_folder_has_such_a_name(place: Path) -> None:
    made = scratch.make("play", place / "homes")
    assert found(place) == [made.path]
    made.remove()
    assert not found(place) and not made.path.exists()


def test_what_a_killed_dyno_staged_goes_with_the_next_and_a_living_ones_stays(
    tmp_path: Path,
) -> None:
    others = [tmp_path / "dyno-gather-notes", tmp_path / "dyno-pack-abcdefgh"]
    for path in (*others, tmp_path / "dyno-gather-abcdefgh"):
        path.mkdir()
    (tmp_path / "dyno-gather-abcdefgh" / "run.json").touch()
    with (
        scratch.make_staging("gather", tmp_path) as one,
        scratch.make_staging("gather", tmp_path) as other,
    ):
        assert {*tmp_path.iterdir()} == {*others, one, other}
    assert {*tmp_path.iterdir()} == {*others}
