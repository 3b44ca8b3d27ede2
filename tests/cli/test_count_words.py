"""`dyno count` and its folder: what is refused by a sentence, and what show and report tell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from counts import make_count

from dyno.cli import run_words
from dyno.runs.run_folder import write_json

POINTS = ("-w", "oltp_point_select")


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.fixture
def counted(runs: Path) -> Path:
    made = make_count({"1.0": (1000.0, 1000.0), "1.1": (1020.0, 1020.0)})
    folder = runs / "20260102T000000Z-count-1.0-vs-1.1"
    folder.mkdir(parents=True)
    write_json(folder / "count.json", made)
    return folder


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("sqlite@3.46.0", *POINTS), "a comparison needs two candidates"),
        (("sqlite", "b=sqlite", *POINTS, "--set", "threads=4"), "has 4 users, and one is counted"),
        (("sqlite", "b=sqlite", *POINTS, "--set", "rate=10"), "is paced, and cannot be counted"),
        (("sqlite", "sqlite"), "missing option '--workload'"),
        (("sqlite", "b=sqlite", *POINTS, "--phase", "rum"), "phase"),
        (("null@1us", "null@2us", *POINTS), "no program whose instructions could be counted"),
        (("sqlite", "mysql://u:secret@far.example:1/d", *POINTS), "runs already, and cannot be"),
        (("sqlite", "b=sqlite", *POINTS, "--margin", "0"), "--margin must be above 0"),
        (("sqlite", "b=sqlite", *POINTS, "--sql", "a.sql"), "cannot be combined"),
        (("sqlite", "sqlite", "--sql", "nowhere.sql"), "no SQL file at"),
        (
            ("sqlite", "b=sqlite", "-w", "insert"),
            "events, not 11,000",
        ),
    ],
)
def test_what_cannot_be_counted_is_refused_before_anything_is_loaded(
    runs: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    assert run_words(["count", *words]) == 64
    said = capsys.readouterr().err
    assert sentence in said
    assert "loading" not in said
    assert "secret" not in said
    assert not list(runs.glob("*"))


def test_a_comparison_that_cannot_be_counted_ends_before_its_first_block(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", "null@1us", "null@2us", *POINTS, "--quick", "--count"]
    assert run_words(words) == 64
    assert "no program whose instructions could be counted" in capsys.readouterr().err
    assert not list(runs.glob("*/trials/*.json"))


def test_a_comparison_of_factors_is_not_counted(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", "sqlite", "--factor", "journal_mode=wal,delete", *POINTS, "--count"]
    assert run_words(words) == 64
    assert "a count beside a comparison takes no factors" in capsys.readouterr().err


def test_a_stripped_build_is_said_to_have_functions_without_a_layer(
    counted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = counted / "count.json"
    file.write_text(file.read_text().replace('"b-tree"', '"unknown"'))
    assert run_words(["show", "last"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "1.0: 90 % of the instructions are in functions without a symbol" in said


def test_builds_by_other_compilers_are_told(
    counted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["show", "last"]) == 0
    assert "The builds differ" not in capsys.readouterr().out
    file = counted / "count.json"
    text = file.read_text()
    for version, how in (("1.0", "gcc 12.2.0"), ("1.1", "gcc 7.5.0")):
        text = text.replace(
            f'"build":{{"version":"{version}"}}',
            f'"build":{{"version":"{version}","compiler":"{how}","flags":"-O2"}}',
        )
    file.write_text(text)
    assert run_words(["show", "last"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The builds differ in compiler or flags" in said
    assert "1.0 by gcc 12.2.0 -O2; 1.1 by gcc 7.5.0 -O2." in said


@pytest.mark.parametrize("word", ["last", "20260102", "20260102T000000Z-count-1.0-vs-1.1"])
def test_show_tells_a_counts_functions_by_layer(
    counted: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    assert run_words(["show", word]) == 0
    said = capsys.readouterr().out
    assert "1.1 is heavier than 1.0" in said
    layer, function = said.rindex("b-tree"), said.rindex("find")
    assert layer < function


def test_report_makes_a_counts_page_again(
    counted: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = tmp_path / "rows.json"
    assert run_words(["report", "last", "--json", str(told)]) == 0
    assert "Functions that changed" in (counted / "report.html").read_text()
    found = json.loads(told.read_text())
    assert found["overall"] == "heavier" and found["comparisons"][0]["word"] == "heavier"
    assert "1.1 is heavier" in found["sentence"]


def test_counts_are_listed_among_the_runs(
    counted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["show", "runs"]) == 0
    assert "instructions counted" in capsys.readouterr().out
