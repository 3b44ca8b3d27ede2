"""`dyno crash` on servers, killed for real."""

from __future__ import annotations

from pathlib import Path

import pytest

from dyno.cli import run_words
from dyno.record.crash import CrashRun
from dyno.runs.run_folder import read_json


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def play(runs: Path, *words: str) -> tuple[int, CrashRun]:
    code = run_words(["crash", *words, "--within", "0.5s"])
    (file,) = runs.glob("*/crash.json")
    return code, read_json(CrashRun, file)


def test_postgres_keeps_what_it_acknowledged(runs: Path) -> None:
    code, run = play(runs, "postgres?synchronous_commit=on", "--times", "2")
    assert code == 0, run.plays
    assert all(it.acknowledged and it.syncs and it.recovery_s for it in run.plays)
    assert run.promise == "a power cut" and not any(it.unseen for it in run.plays)


def test_postgres_without_fsync_loses(runs: Path) -> None:
    code, run = play(runs, "postgres?fsync=off&synchronous_commit=on", "--times", "1")
    assert code == 1 and run.plays[0].loses
