"""`dyno history` where runs are not comparable, left out, too few, or damaged."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from fakes import make_run
from msgspec import structs
from nightly_runs import HistoryCommand, write_nightly_runs, write_run

from dyno.cli import run_words
from dyno.record import Interleaving, Slice
from dyno.runs.run_folder import create_run


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> HistoryCommand:
    def refuse(*words: str) -> str:
        assert run_words(["history", *words]) == 64
        sentence, hint = capsys.readouterr().err.splitlines()
        assert (sentence[:6], hint[:6]) == ("dyno: ", "hint: ")
        return f"{sentence}\n{hint}"

    return refuse


def interleaved_run(
    length_s: float, drain_s: float = 0.005, *, frozen: bool = True, epoch_s: float = 1.0
) -> dict[str, Any]:
    """A run whose trials are interleaved in slices of that length."""
    turns = Interleaving(Slice(length_s, drain_s), epoch_s, frozen)
    return {"design": {"interleaving": turns}}


CUTS: dict[str, tuple[dict[str, object], str]] = {
    "host": ({"host": {"cpu": "four of them"}}, "host's cpu was 'two of them' and is 'four of"),
    "driver": ({"driver_sha256": "f" * 64}, "driver was '' and is 'ffffffff'"),
    "control": (
        {"design": {"controls": {"aslr": "off"}}},
        "control aslr was '' and is 'off'",
    ),
    "order": (interleaved_run(0.02), "order was '' and is 'interleaved'"),
}


#: What a pilot of nights chose on a host that others use: slice and drain in ms.
CHOSEN = [(50, 5.76), (20, 4.0), (50, 6.37), (20, 3.1), (50, 12.5), (100, 13.2)] * 2


@pytest.mark.parametrize("step", [0.0, 0.05])
def test_twelve_nights_whose_pilot_chose_other_slices_make_one_series(
    step: float, runs: Path, shown: HistoryCommand
) -> None:
    for day, (slice_ms, drain_ms) in enumerate(CHOSEN, 1):
        turns = interleaved_run(slice_ms / 1e3, drain_ms / 1e3, frozen=day % 3 > 0)
        write_run(runs, day, {f"1.{day}": step * (day > 6)}, **turns)
    said = shown()
    assert count_series(said) == 1 and " 12 " in said
    assert ("before: null@1.6 " in said) == (step > 0)
    assert "beside:" not in said


def test_slices_that_changed_for_good_along_with_the_level_are_told(
    runs: Path, shown: HistoryCommand
) -> None:
    write_nightly_runs(runs, [0.0] * 10, **interleaved_run(0.005, frozen=False))
    write_nightly_runs(runs, [0.1] * 10, first=11, **interleaved_run(0.1))
    flat = " ".join(shown().split())
    assert "1 flagged change in 1 series" in flat
    assert "idle engines was 'running' and is 'suspended'; slices was '5 ms' and is '100" in flat
    assert "that may have brought it, not the build" in flat


def test_runs_that_hold_their_connections_are_no_nights_of_others(
    runs: Path, shown: HistoryCommand
) -> None:
    write_nightly_runs(runs, [0.0] * 10, **interleaved_run(0.02))
    write_nightly_runs(runs, [0.1] * 10, first=11, **interleaved_run(0.02, epoch_s=0.0))
    flat = " ".join(shown().split())
    assert "0 flagged changes in 2 series" in flat
    assert "connections was 'reconnected' and is 'held'" in flat


@pytest.mark.parametrize("what", CUTS)
def test_a_series_is_cut_where_something_else_changed(
    what: str, runs: Path, shown: HistoryCommand
) -> None:
    changed, clause = CUTS[what]
    write_nightly_runs(runs, [0.0] * 10)
    write_nightly_runs(runs, [0.1] * 10, first=11, **changed)
    said = shown()
    assert "0 flagged changes in 2 series" in said
    flat = " ".join(said.split())
    assert "cut from an earlier series" in flat
    assert clause.split(" was ")[0] in flat


HOST = {"cpu": "two", "kernel": "6.1", "memory_mb": "15900", "load_1min": "0.1"}


def count_series(said: str) -> int:
    """How many series were tested."""
    found = re.search(r"in (\d+) series;", " ".join(said.split()))
    assert found
    return int(found[1])


def test_runs_without_an_id_belong_to_the_only_host_with_their_facts(
    runs: Path, shown: HistoryCommand
) -> None:
    write_nightly_runs(runs, [0.0] * 10, host=HOST)
    write_nightly_runs(runs, [0.0] * 2, first=11, host=HOST | {"id": "a"})
    said = shown()
    assert count_series(said) == 1 and " 12 " in said


def test_runs_without_an_id_stand_by_themselves_where_two_hosts_have_their_facts(
    runs: Path, shown: HistoryCommand
) -> None:
    for day, host in enumerate(("", "a", "b")):
        named = HOST | ({"id": host} if host else {})
        write_nightly_runs(runs, [0.0] * 10, first=1 + 10 * day, host=named)
    said = " ".join(shown().split())
    assert count_series(said) == 3
    assert "host's id was '' and is 'a'" in said and "host's id was 'a' and is 'b'" in said


def test_a_fleeting_reading_cuts_no_series(runs: Path, shown: HistoryCommand) -> None:
    for day in range(1, 11):
        fleeting = {"load_1min": f"{day}", "memory_mb": f"{15900 + day}", "python": f"3.{day}"}
        write_run(runs, day, {f"1.{day}": 0.0}, host=HOST | fleeting)
    assert count_series(shown()) == 1


def test_a_kernel_that_comes_and_goes_is_said_where_it_cuts(
    runs: Path, shown: HistoryCommand
) -> None:
    for day in range(1, 25):
        kernel = "6.2" if day % 2 else "6.1"
        write_run(runs, day, {f"1.{day}": 0.0}, host=HOST | {"kernel": kernel})
    said = " ".join(shown().split())
    assert count_series(said) == 2
    assert "host's kernel was '6.2' and is '6.1'" in said


def test_runs_of_a_group_make_one_series_whatever_host_played_them(
    runs: Path, shown: HistoryCommand
) -> None:
    for day in range(1, 11):
        host = HOST | {"group": "ci", "id": f"{day}", "cpu": f"a CPU of {day % 3}"}
        write_run(runs, day, {f"1.{day}": 0.0}, host=host)
    assert count_series(shown()) == 1
    write_nightly_runs(runs, [0.0] * 10, first=11, host=HOST | {"group": "other"})
    said = shown()
    assert count_series(said) == 2
    assert "host's group was 'ci' and is 'other'" in " ".join(said.split())


@pytest.mark.parametrize("same", [True, False])
def test_hosts_of_a_group_that_changed_along_with_the_level_are_named(
    same: bool, runs: Path, shown: HistoryCommand
) -> None:
    group = HOST | {"group": "ci"}
    write_nightly_runs(runs, [0.0] * 8, host=group | {"id": "a"})
    other = {"id": "b"} if same else {"id": "b", "cpu": "four"}
    write_nightly_runs(runs, [0.2] * 8, first=9, host=group | other)
    said = " ".join(shown().split())
    assert "flagged: " in said
    named = "beside: cpu was 'two' and is 'four': that may have brought it"
    assert (named in said) == (not same)


def test_what_had_to_be_left_out_is_named(runs: Path, shown: HistoryCommand) -> None:
    write_nightly_runs(runs, [0.0] * 10)
    torn = create_run(structs.replace(make_run(), name="torn"), runs)
    said = shown()
    assert f"left out: {torn.path.name}: no valid block of select" in said


def test_what_is_no_history_is_refused_with_what_is_missing(
    runs: Path, tmp_path: Path, refused: HistoryCommand
) -> None:
    assert "there is no folder" in refused(str(tmp_path / "nowhere"))
    (tmp_path / "empty").mkdir()
    assert "there is no run under" in refused(str(tmp_path / "empty"))
    one = write_run(runs, 1, {"1.0": 0.0})
    said = refused(str(one))
    assert "the longest has 1 point" in said
    assert "at least 10 are needed" in said
    write_nightly_runs(runs, [0.0] * 9, first=2, driver_sha256="f" * 64)
    assert "series were cut where driver was" in refused(str(runs))


def test_a_damaged_or_newer_run_is_named_and_blocks_no_other(
    runs: Path, shown: HistoryCommand, tmp_path: Path
) -> None:
    *_, newer, torn, broken = write_nightly_runs(runs, [0.0] * 13)
    text = (newer / "run.json").read_text()
    (newer / "run.json").write_text(re.sub(r'"schema":\d+', '"schema":999', text))
    (torn / "run.json").write_text('{"name"')
    (broken / "trials" / "0001.json").write_text("[" * 100_000)
    for day in range(1, 10):
        create_run(structs.replace(make_run(), name=f"torn{day}"), runs)
    json_file, html_file = tmp_path / "x.json", tmp_path / "x.html"
    said = shown("--json", str(json_file), "--html", str(html_file))
    assert " 10 " in said
    for text in (said, json_file.read_text(), html_file.read_text()):
        assert f"{newer.name}" in text and "of schema 999, from a newer dyno" in text
        assert f"{torn.name}" in text and f"{broken.name}" in text
        assert "0001.json is damaged: it is nested too deeply" in text


def test_a_damaged_record_is_named(runs: Path, refused: HistoryCommand) -> None:
    last = write_nightly_runs(runs, [0.0] * 10)[-1]
    (last / "trials" / "0001.json").write_text("{")
    said = refused(str(runs))
    assert "0001.json is damaged" in said
