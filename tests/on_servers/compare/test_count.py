"""`dyno count` under a real callgrind: the same build counts the same, another one does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dyno.cli import run_words

#: callgrind slows what it counts, and a crowded host slows it once more
pytestmark = pytest.mark.timeout(300)

PLAYED = ("-w", "oltp_point_select", "--set", "table_size=100")


def count(runs: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[int, dict[str, Any]]:
    """The exit code, and the first row of `--json`."""
    monkeypatch.setenv("DYNO_RUNS", str(runs))
    told = runs / "rows.json"
    code = run_words(["count", *words, *PLAYED, "--json", str(told)])
    (row, *_) = json.loads(told.read_text())["comparisons"]
    return code, row


def test_one_build_of_sqlite_counts_the_same_and_its_driver_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = ("a=sqlite@3.46.0", "b=sqlite@3.46.0")
    code, row = count(tmp_path, monkeypatch, *sides, "--events", "200", "--before", "50")
    assert code == 0
    assert abs(row["change_percent"]) < 0.02
    assert 2_000 < row["base_value"] < 10_000
    assert "sqlite3VdbeExec" in (next(tmp_path.glob("*-count-*")) / "count.json").read_text()
    assert "sees no caches" in capsys.readouterr().out


def test_a_backend_of_postgres_counts_the_same_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = ("a=postgres@18", "b=postgres@18", "--repeat", "1")
    code, row = count(tmp_path, monkeypatch, *sides, "--events", "400", "--before", "100")
    assert code == 2 and row["word"] == "inconclusive", "counted once, which claims nothing"
    assert abs(row["change_percent"]) < 0.5
    assert row["base_value"] > 10_000
    assert list(tmp_path.glob("*-count-*/callgrind/*/callgrind.out.*"))


def test_a_file_of_statements_is_counted_for_two_inputs_with_the_calls_that_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path))
    file = tmp_path / "pairs.sql"
    file.write_text(
        "-- setup:\nCREATE TABLE pair (id INTEGER PRIMARY KEY, n INTEGER);\n-- times: 200\n"
        "INSERT INTO pair VALUES (:row, 7);\n-- run:\n-- :id = 1..200\n"
        "SELECT sum(n) FROM pair WHERE id < :id;\n"
    )
    words = ["count", "sqlite@3.24.0", "sqlite@3.54.1", "--sql", str(file)]
    words += ["--verbose", "--inputs", "2", "--repeat", "1", "--stacks"]
    words += ["--events", "100", "--before", "50"]
    assert run_words(words) in (0, 1, 2)
    told = capsys.readouterr().out
    assert "sqlite@3.24.0: 2 inputs lie " in told
    assert "Calls, with all that they call" in told
    assert "sqlite3_step" in told


def test_a_comparison_counts_beside_its_blocks_and_says_what_that_explains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path))
    words = [
        "compare",
        "sqlite@3.24.0",
        "sqlite@3.54.1",
        *PLAYED,
        "--set",
        "threads=2",
        "--set",
        "time=0.3",
    ]
    assert run_words([*words, "--quick", "--count"]) in (0, 1, 2, 3)
    told = " ".join(capsys.readouterr().out.split())
    assert "what changed: " in told
    assert "% an event (" in told, "instructions of one user, though two are played"
    (folder,) = tmp_path.glob("*-oltp_point_select-*")
    assert (folder / "counts/01-oltp_point_select/count.json").is_file()
    assert "Instructions per operation" in (folder / "report.html").read_text()
    assert run_words(["history", str(tmp_path)]) == 0
    assert "instructions/op" in capsys.readouterr().out
