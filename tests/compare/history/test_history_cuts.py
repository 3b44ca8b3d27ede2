"""`dyno history` where runs are not comparable, left out, too few, or damaged."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
from fakes import make_run
from nightly_runs import HistoryCommand, history_command, write_nightly_runs, write_run

from dyno.cli import run_words
from dyno.compare.run_folder import create_run
from dyno.record import Interleaving, Slice


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def shown(runs: Path, capsys: pytest.CaptureFixture[str]) -> HistoryCommand:
    return history_command(runs, capsys)


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> HistoryCommand:
    def refuse(*words: str) -> str:
        assert run_words(["history", *words]) == 64
        sentence, hint = capsys.readouterr().err.splitlines()
        assert (sentence[:6], hint[:6]) == ("dyno: ", "hint: ")
        return f"{sentence}\n{hint}"

    return refuse


def interleaved_run(
    length_s: float, drain_s: float = 0.005, *, frozen: bool = True
) -> dict[str, Any]:
    """A run whose trials are interleaved in slices of that length."""
    turns = Interleaving(Slice(length_s, drain_s), 0.25, frozen)
    return {"design": dataclasses.replace(make_run().design, interleaving=turns)}


CUTS: dict[str, tuple[dict[str, object], str]] = {
    "host": ({"host": {"cpu": "four of them"}}, "host's cpu was 'two of them' and is 'four of"),
    "driver": ({"driver_sha256": "f" * 64}, "driver was '' and is 'ffffffff'"),
    "control": (
        {"design": dataclasses.replace(make_run().design, controls={"aslr": "off"})},
        "control aslr was '' and is 'off'",
    ),
    "order": (interleaved_run(0.02), "order was '' and is 'interleaved'"),
}


@pytest.mark.parametrize(
    "other, clause",
    [
        (interleaved_run(0.02), "slice was '5 ms, 5 ms of drain' and is '20 ms, 5 ms of drain'"),
        (
            interleaved_run(0.005, 0.001),
            "slice was '5 ms, 5 ms of drain' and is '5 ms, 1 ms of drain'",
        ),
        (interleaved_run(0.005, frozen=False), "without a turn was 'suspended' and is 'run on'"),
    ],
)
def test_a_series_is_cut_where_the_pilot_chose_other_turns(
    other: dict[str, Any], clause: str, runs: Path, shown: HistoryCommand
) -> None:
    write_nightly_runs(runs, [0.0] * 10, **interleaved_run(0.005))
    write_nightly_runs(runs, [0.1] * 10, first=11, **other)
    flat = " ".join(shown().split())
    assert "0 flagged changes in 2 series" in flat
    assert clause in flat


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


def test_what_had_to_be_left_out_is_named(runs: Path, shown: HistoryCommand) -> None:
    write_nightly_runs(runs, [0.0] * 10)
    torn = create_run(dataclasses.replace(make_run(), name="torn"), runs)
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
        create_run(dataclasses.replace(make_run(), name=f"torn{day}"), runs)
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
