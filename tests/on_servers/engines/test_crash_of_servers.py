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


@pytest.mark.parametrize(
    "engine",
    [
        "postgres?synchronous_commit=on",
        "mysql@8.0.33?innodb_flush_log_at_trx_commit=1",
        "mariadb@10.11?innodb_flush_log_at_trx_commit=1",
        "duckdb",
    ],
)
def test_an_engine_keeps_what_it_acknowledged(engine: str, runs: Path) -> None:
    code, run = play(runs, engine, "--times", "2")
    assert code == 0, run.plays
    assert all(it.acknowledged and it.syncs and it.recovery_s for it in run.plays)
    assert run.promise == "a power cut" and not any(it.unseen for it in run.plays)


@pytest.mark.parametrize(
    "engine",
    ["postgres?fsync=off&synchronous_commit=on", "mysql@8.0.33?innodb_flush_log_at_trx_commit=2"],
)
def test_an_engine_that_does_not_wait_for_a_sync_loses(engine: str, runs: Path) -> None:
    code, run = play(runs, engine, "--times", "1")
    assert code == 2 and run.plays[0].loses


def test_postgres_that_keeps_no_whole_pages_in_its_log_is_torn(runs: Path) -> None:
    """A buffer pool so small that changed pages are written all the time."""
    settings = "full_page_writes=off&synchronous_commit=on&shared_buffers=512kB"
    code, run = play(runs, f"postgres?{settings}", "--torn", "--times", "2")
    assert code == 2 and any(it.torn_count or it.damage or it.failure for it in run.plays)


def test_a_setting_by_which_writes_are_not_seen_is_refused(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["crash", "mysql@8.0.33?innodb_use_native_aio=ON"]) == 64
    assert "innodb_use_native_aio must be OFF in a crash" in capsys.readouterr().err
    assert not runs.exists()
