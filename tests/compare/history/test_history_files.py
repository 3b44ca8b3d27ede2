"""`dyno history --json` and `--html`: files that say what the terminal says, or one sentence."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from nightly_runs import write_nightly_runs, write_run

from dyno.cli import run_words
from dyno.record import SCHEMA, History, decode


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    write_nightly_runs(tmp_path / "runs", [0.0] * 6 + [0.05] * 6)
    write_nightly_runs(tmp_path / "runs", [0.0], first=20, host={"cpu": "four of them"})
    return tmp_path / "runs"


def test_json_reads_back_as_the_record_and_holds_every_point(runs: Path, tmp_path: Path) -> None:
    file = tmp_path / "history.json"
    assert run_words(["history", str(runs), "--json", str(file)]) == 0
    found = decode.decode(History, json.loads(file.read_text()))
    assert (found.alpha, found.points_least, found.schema) == (0.01, 10, SCHEMA)
    (tested,) = found.tested
    assert [point.version for point in tested.points] == [f"1.{day}" for day in range(1, 13)]
    first = tested.points[0]
    assert first.low is not None and first.high is not None
    assert first.low < first.value < first.high
    assert first.value == pytest.approx(1e4, rel=0.05)
    old, new = tested.levels
    assert new / old == pytest.approx(0.951, rel=0.02)
    (flagged,) = tested.flagged_changes
    assert flagged.at == 6
    assert flagged.low_percent < 5.1 < flagged.high_percent
    assert flagged.confirm == "dyno compare null@1.6 null@1.7 -w select.lua"
    (short,) = (each for each in found.series if not each.tested)
    assert short.alike["host's cpu"] == "four of them"


def test_a_fresh_comparison_is_judged_as_the_nights_were_by_as_many_blocks_as_it_takes(
    tmp_path: Path,
) -> None:
    """Its conditions would else be others, and it would neither confirm nor reject."""
    limits = {"foreign_percent": 100.0, "steal_percent": 2.0}
    design = {"quick": True, "limits": limits}
    write_nightly_runs(tmp_path / "runs", [0.0] * 6 + [0.05] * 6, design=design)
    file = tmp_path / "history.json"
    assert run_words(["history", str(tmp_path / "runs"), "--json", str(file)]) == 0
    (series,) = decode.decode(History, json.loads(file.read_text())).series
    told = "dyno compare null@1.6 null@1.7 -w select.lua --limit foreign_percent=100"
    assert series.flagged_changes[0].confirm == told
    write_run(tmp_path / "runs", 20, {"1.6": 0.0, "1.7": 0.05}, 10, design={"limits": limits})
    assert run_words(["history", str(tmp_path / "runs"), "--json", str(file)]) == 0
    (series,) = decode.decode(History, json.loads(file.read_text())).series
    assert (trial := series.flagged_changes[0].trial) and trial.verdict == "slower"


def test_the_page_says_what_the_terminal_says(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "history.html"
    assert run_words(["history", str(runs), "--html", str(file)]) == 0
    said, page = capsys.readouterr().out, file.read_text()
    assert f"page: {file}" in said
    assert "1 flagged change in 1 series" in page
    assert "dyno compare null@1.6 null@1.7 -w select.lua" in page
    assert not list(tmp_path.glob(".*"))


def test_the_first_run_has_a_page_with_its_point(tmp_path: Path) -> None:
    write_nightly_runs(tmp_path / "runs", [0.0])
    file = tmp_path / "history.html"
    assert run_words(["history", str(tmp_path / "runs"), "--html", str(file)]) == 0
    page = file.read_text()
    assert "Fewer than 10 points, not searched" in page and "null@1.1" in page
    assert page.count('class="chart') >= 1 or "<svg" in page


def test_a_change_leads_to_its_comparison_and_its_cause_in_one_click(
    runs: Path, tmp_path: Path
) -> None:
    tried = write_run(runs, 21, {"1.3": 0.0, "1.9": 0.05}, restarts=8)
    before, after = (sorted(runs.glob(f"202601{day:02}T*"))[0] for day in (6, 7))
    for run in (tried, before):
        (run / "report.html").write_text("")
    (tmp_path / "pages").mkdir()
    html, told = tmp_path / "pages" / "history.html", tmp_path / "history.json"
    assert run_words(["history", str(runs), "--html", str(html), "--json", str(told)]) == 0
    page = html.read_text()
    for link in (f"{tried.name}/report.html", f"{tried.name}/report.html#cause"):
        assert page.count(f'href="../runs/{link}"') == 2, "in the table, and beside the chart"
    assert f'href="../runs/{before.name}/report.html"' in page
    assert f'href="../runs/{after.name}' not in page, "it has no report"
    (tested,) = decode.decode(History, json.loads(told.read_text())).tested
    (flagged,) = tested.flagged_changes
    assert flagged.trial and flagged.trial.path == str(tried)
    sides = [point.path for point in tested.points[flagged.at - 1 : flagged.at + 1]]
    assert sides == [str(before), str(after)]


def test_a_pipe_is_written_to_and_not_replaced(runs: Path, tmp_path: Path) -> None:
    file, link = tmp_path / "real.json", tmp_path / "link.json"
    link.symlink_to(file)
    assert run_words(["history", str(runs), "--json", str(link)]) == 0
    assert link.is_symlink()
    assert json.loads(file.read_text())["alpha"] == 0.01


@pytest.mark.parametrize(
    "words, told",
    [
        (["--html", "/no/such/folder/x.html"], "there is no folder /no/such/folder"),
        (["--json", "/"], "is a directory"),
        (["--html", "x", "--json", "./x"], "--json and --html both name x"),
        (["--since", "2026-01-01"], "--since needs --gate or --strict"),
        (["--gate", "--since", "yesterday"], "'yesterday' does not match the format"),
        (["--alpha", "0.5"], "0.5 is not in the range"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    words: list[str],
    told: str,
    runs: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(runs)
    assert run_words(["history", str(runs), *words]) == 64
    sentence, hint = capsys.readouterr().err.splitlines()
    assert told in sentence
    assert hint.startswith("hint: ")
    assert not (runs / "x").exists()


def test_a_copy_of_a_run_is_no_further_point(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = sorted(runs.iterdir())[0]
    shutil.copytree(first, runs / "backup-of-it")
    file = tmp_path / "history.json"
    assert run_words(["history", str(runs), str(first), "--json", str(file)]) == 0
    found = decode.decode(History, json.loads(file.read_text()))
    assert [len(each.points) for each in found.tested] == [12]
    assert f"left out: backup-of-it: a copy of {first.name}" in capsys.readouterr().out


def test_the_page_is_written_from_the_first_run_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, page = tmp_path / "runs", tmp_path / "page.html"
    write_nightly_runs(runs, [0.0])
    assert run_words(["history", str(runs)]) == 64, "nothing can be flagged"
    assert run_words(["history", str(runs), "--html", str(page)]) == 0
    assert "0 flagged changes" in page.read_text() and "page:" in capsys.readouterr().out
    assert run_words(["history", str(runs), "--html", str(page), "--gate"]) == 64
