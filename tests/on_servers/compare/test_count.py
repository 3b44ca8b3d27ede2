"""`dyno count` under a real callgrind: the same build counts the same, another one does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dyno.cli import run_words

PLAYED = ("-w", "oltp_point_select", "--set", "table_size=100")


def count(runs: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[int, dict[str, Any]]:
    """The exit code, and the first row of `--json`."""
    monkeypatch.setenv("DYNO_RUNS", str(runs))
    told = runs / "rows.json"
    code = run_words(["count", *words, *PLAYED, "--json", str(told)])
    (row, *_) = json.loads(told.read_text())
    return code, row


def test_one_build_of_sqlite_counts_the_same_and_its_driver_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = ("a=sqlite@3.46.0", "b=sqlite@3.46.0", "--repeat", "1")
    code, row = count(tmp_path, monkeypatch, *sides, "--events", "500", "--before", "100")
    assert code == 0
    assert abs(row["change_percent"]) < 0.02
    assert 2_000 < row["base_value"] < 10_000
    assert "sqlite3VdbeExec" in (next(tmp_path.glob("*-count-*")) / "count.json").read_text()
    assert "sees no caches" in capsys.readouterr().out


def test_a_backend_of_postgres_counts_the_same_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = ("a=postgres@18", "b=postgres@18", "--repeat", "1")
    code, row = count(tmp_path, monkeypatch, *sides, "--events", "1000", "--before", "200")
    assert code == 0
    assert abs(row["change_percent"]) < 0.5
    assert row["base_value"] > 10_000
    assert list(tmp_path.glob("*-count-*/callgrind/*/callgrind.out.*"))
