"""Cases from the field: small inputs that Dyno once read, played or judged wrongly. A page's table
names the tests of all; what belongs to no other module is tested here."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from disk_runs import LOG, make_run, make_side
from repository import ROOT

from dyno.cli import run_words
from dyno.cli.disk import tell_disks
from dyno.cli.judged_run import RunOptions
from dyno.cli.terminal.explanation import print_explanation
from dyno.record.disk import DISK_RECORD
from dyno.record.explanation import REST, Explanation, PathStage, StagePart
from dyno.runs.run_folder import write_json

CASES = ROOT / "docs/evidence/log-fixtures.md"
ROW = re.compile(r"^\| ([^|]+) \| [^|]+ \| `(tests/[^`]+)` \| (.+) \|$", re.MULTILINE)


def test_the_page_has_every_case() -> None:
    numbers = {
        int(it)
        for said, *_ in ROW.findall(CASES.read_text())
        for it in said.split(", ")
        if it != "–"
    }
    assert numbers == set(range(1, 36))


@pytest.mark.parametrize(("said", "file", "tests"), ROW.findall(CASES.read_text()))
def test_each_case_names_tests_that_are_there(said: str, file: str, tests: str) -> None:
    text, names = (ROOT / file).read_text(), re.findall(r"`(\w+)`", tests)
    assert names, said
    assert [name for name in names if f"def {name}(" not in text] == []


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def test_a_candidate_whose_one_event_outlasts_the_phase_is_slower(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Case 28."""
    file = tmp_path / "one.sql"
    file.write_text("-- run:\nSELECT 1;\n")
    sides = ["null@100us", "null@700ms"]
    short = ["--sql", str(file), "--time", "0.1", "--set", "warmup_time=0.05", "--threads", "1"]
    short += ["--blocks", "6", "--limit", "foreign=100%", "--limit", "steal=100%"]
    assert run_words(["compare", *sides, *short]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "× slower" in said and "is slower than" in said
    assert "an event of null@700ms takes longer than the phase of 0.1 s" in said
    assert "would measure it" in said
    assert "ledger" not in said


MARKED = "-- weight: 9\n-- name: one\nSELECT 1;\n-- name: two\nSELECT 2;\n"


@pytest.mark.parametrize("words", [["play", "null"], ["compare", "null@1us", "null@2us"]])
def test_a_file_with_marks_is_not_played_as_comments(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Case 35."""
    file = tmp_path / "marked.sql"
    file.write_text(MARKED)
    assert run_words([*words, "-w", str(file)]) == 64
    said = capsys.readouterr().err
    assert "`-- weight: 9` is a mark of an SQL file" in said and "--set marked=true" in said


def test_a_file_with_marks_is_played_by_its_option_and_as_pgbench_would(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "marked.sql"
    file.write_text(MARKED)
    for words, is_marked in (
        (["--sql", str(file)], True),
        (["-w", str(file), "--set", "marked=true"], True),
        (["-w", str(file), "--set", "marked=off"], False),
    ):
        assert run_words(["play", "null", *words, "--set", "events=400"]) == 0
        assert ("two" in capsys.readouterr().out) is is_marked


@pytest.mark.parametrize(
    "words", [["bisect", "sqlite@3.24..3.54"], ["capacity", "null", "--slo", "p99<1s"], ["count"]]
)
def test_every_command_that_plays_one_workload_takes_sql(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*words, "null", "null@1us"] if words == ["count"] else words
    assert run_words([*words, "--sql", "none.sql"]) == 64
    assert "no SQL file at 'none.sql'" in capsys.readouterr().err


def test_parts_of_a_stage_that_take_time_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Case 31."""
    parts = (
        StagePart("JIT compilation", (374_194.0,)),
        StagePart("trigger stamp", (20_000.0,)),
        StagePart("trigger idle", (9.0,)),
    )
    stages = (PathStage("execute", (400_000.0,), "the server", parts), PathStage(REST, (0.0,)))
    print_explanation(
        Explanation("e", "1", "//s", "SELECT 1", "2026", stages=stages, bare_us=(400_000.0,))
    )
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    (jit,) = [it for it in lines if it[:1] == ["JIT"]]
    assert jit[:3] == ["JIT", "compilation", "374,194"] and jit[-2:] == ["94", "%"]
    assert ["trigger", "stamp", "20,000"] in [it[:3] for it in lines]
    assert "idle" not in str(lines), "it took nearly nothing"


def test_the_p99_of_a_flush_is_told_and_in_json_all_of_each_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Case 32."""
    write_json(tmp_path / DISK_RECORD, run := make_run([make_side()], [LOG]))
    tell_disks(tmp_path, run, RunOptions(json_file=tmp_path / "x.json"))
    said = capsys.readouterr().out
    assert "sync p99" in said and "900 µs" in said
    (job,) = json.loads((tmp_path / "x.json").read_text())["jobs"]
    assert (job["sync_p50"], job["sync_p99"]) == (400_000, 900_000) and job["rate"] > 0
