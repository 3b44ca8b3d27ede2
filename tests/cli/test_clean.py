"""`dyno clean` lists first, and frees only what was listed and only with --yes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from fakes import make_run

from dyno.builds import cache
from dyno.cli import run_words
from dyno.cli.clean import Item, free_or_say
from dyno.errors import HostError
from dyno.runs.run_folder import create_run, list_runs


def filled(home: Path) -> None:
    (home / "x").write_bytes(b"x" * 9999)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs, and a cache with one entry."""
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("DYNO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DYNO_TMP", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for _ in range(2):
        create_run(make_run(), tmp_path / "runs")
    cache.ensure_entry("program", "it-1", filled, print)
    return tmp_path / "runs"


def test_without_yes_everything_is_listed_and_nothing_freed(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["clean"]) == 0
    said = capsys.readouterr().out
    assert "it-1" in said
    assert "nothing was freed" in said
    assert len(list_runs(runs)) == 2
    assert len(cache.list_entries()) == 1


def test_the_option_yes_frees_what_was_chosen_and_no_more(runs: Path) -> None:
    first, second = (folder.path.name for folder in list_runs(runs))
    assert run_words(["clean", first, "--yes"]) == 0
    assert [folder.path.name for folder in list_runs(runs)] == [second]
    assert run_words(["clean", "--cache", "--yes"]) == 0
    assert not cache.list_entries()
    assert len(list_runs(runs)) == 1
    assert run_words(["clean", "--runs", "--yes"]) == 0
    assert not list_runs(runs)


def test_an_interrupted_builds_work_is_listed_and_freed_unless_it_goes_on(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (work,) = leave_work("9.7.2")
    lock = cache.find_root() / cache.LOCKS / "built-mysql-9.7.2"
    with cache.hold_lock(lock, lambda: None):
        assert run_words(["clean", "--cache", "--yes"]) == 0
        assert f"{work.name} is being made and stays" in capsys.readouterr().out
    assert run_words(["clean", work.name, "--yes"]) == 0
    assert not work.exists()


def leave_work(version: str) -> list[Path]:
    """What a build that fails has left."""

    def make(_: Path) -> None:
        with cache.hold_resumed_folder("built", f"mysql-{version}") as work:
            filled(work)
            raise HostError("it fails")

    with pytest.raises(HostError):
        cache.ensure_entry("built", f"mysql-{version}", make, print)
    return cache.list_unfinished()


def test_entries_are_chosen_by_size_and_age(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_words(["clean", "--older", "1h", "--yes"]) == 0
    assert run_words(["clean", "--larger", "1G", "--yes"]) == 0
    assert capsys.readouterr().out == "nothing to free\n" * 2
    assert len(list_runs(runs)) == 2


def test_an_unknown_name_frees_nothing(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_words(["clean", list_runs(runs)[0].path.name, "it-2", "--yes"]) == 64
    assert "did you mean it-1?" in capsys.readouterr().err
    assert len(list_runs(runs)) == 2


def test_a_limit_that_is_none_is_told_and_frees_nothing(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DYNO_CACHE_LIMIT", "abc")
    assert run_words(["clean", "--yes"]) == 64
    assert "$DYNO_CACHE_LIMIT cannot be 'abc'\nhint: for instance 500M" in capsys.readouterr().err
    assert len(list_runs(runs)) == 2 and len(cache.list_entries()) == 1


def test_loads_keep_to_the_limit_and_yes_frees_them_too(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_CACHE_LIMIT", "20K")
    for age_s, name in ((30, "oldest"), (20, "older"), (10, "newest")):
        made = cache.ensure_entry("load", name, filled, print)
        used_s = time.time() - age_s
        os.utime(made, (used_s, used_s))
    cache.trim("load", cache.read_limit_bytes())
    assert {entry.name for entry in cache.list_entries()} == {"it-1", "older", "newest"}
    assert run_words(["clean", "--cache", "--yes"]) == 0
    assert not cache.list_entries() and len(list_runs(runs)) == 2


def test_a_run_that_is_played_stays_with_its_servers_data(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DYNO_TMP", str(tmp_path / "homes"))
    played, torn = list_runs(runs)
    for each in (played, torn):
        each.make_homes()
        filled(each.find_homes())
    with played.hold_alone():
        assert run_words(["clean", "--yes"]) == 0
    said = capsys.readouterr().out
    assert f"{played.path.name} is being played and stays" in said
    assert [folder.path for folder in list_runs(runs)] == [played.path]
    assert (played.find_homes() / "x").exists() and not torn.find_homes().exists()
    assert run_words(["clean", "--yes"]) == 0
    assert not list_runs(runs) and not played.find_homes().exists()


def test_engines_are_listed_and_removed_by_name(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["engines", "list"]) == 0
    assert "it-1" in capsys.readouterr().out
    assert run_words(["engines", "remove", "it-1"]) == 0
    assert not cache.list_entries()
    assert run_words(["engines", "remove", "it-1"]) == 64


def test_a_version_names_all_of_its_builds(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("it-2-abc", "it-2-def", "it-20-abc"):
        cache.ensure_entry("program", name, lambda folder: None, lambda said: None)
    assert run_words(["engines", "remove", "it@2"]) == 0
    left = {entry.name for entry in cache.list_entries()}
    assert left == {"it-1", "it-20-abc"}
    assert run_words(["engines", "remove", "it@3"]) == 64


def test_what_stays_is_not_called_freed(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse() -> None:
        raise PermissionError(1, "Operation not permitted")

    assert not free_or_say(Item("temporary", "dyno-ask-abcdefgh", 9, 0.0, lambda: False))
    assert "dyno-ask-abcdefgh is in use and stays" in capsys.readouterr().out
    with pytest.raises(HostError, match="dyno-ask-abcdefgh could not be removed"):
        free_or_say(Item("temporary", "dyno-ask-abcdefgh", 9, 0.0, refuse))
