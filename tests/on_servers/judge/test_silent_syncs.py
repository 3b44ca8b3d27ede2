"""An engine whose sync does nothing promises what it does not keep: flushes are counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from ways_to_be_fooled import assert_caught

from dyno.builds.compiler import Recipe, compile_library
from dyno.host.controls import inject
from dyno.instruments.time.run import play_run
from dyno.judge.analysis.judge import judge
from dyno.record import Finding
from dyno.runs.experiment import Measuring, compare_candidates
from dyno.runs.resolve.experiment import draft_run
from dyno.runs.run_folder import create_run

pytestmark = [pytest.mark.timeout(300)]

SILENT = """
int fsync(int file) { return file < 0; }
int fdatasync(int file) { return file < 0; }
"""
OPTIONS = {"time": "0.3", "warmup_time": "0", "table_size": "500", "threads": "2"}
NEIGHBOURS = {"steal_percent": 100.0, "foreign_percent": 100.0}


def _judge_durability(home: Path, *sides: str) -> list[Finding]:
    measuring = Measuring(blocks=3, fixed=True, limits=NEIGHBOURS, loads=0)
    experiment = compare_candidates(sides, "oltp_update_non_index", OPTIONS, measuring)
    prepared = draft_run(experiment, lambda _: None)
    kept = create_run(prepared.run, home)
    play_run(prepared, kept, lambda _: None)
    found = judge(prepared.run, kept.read_trials()).findings
    return [each for each in found if each.audit == "durability"]


def _silence(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the control `inject` preload a sync that does nothing."""
    monkeypatch.setenv("DYNO_TMP", str(home))
    (home / "silent.c").write_text(SILENT)
    recipe = Recipe("silent", home / "silent.c", "-O1", "")
    library = str(compile_library(recipe, lambda _: None).program)
    monkeypatch.setattr(inject.CONTROL, "ensure_library", lambda: library)


@pytest.mark.parametrize(
    "engine",
    ["sqlite?", "duckdb?", "postgres@18?profile=durable&", "mysql@8.0.33?profile=durable&"],
)
def test_an_engine_whose_sync_does_nothing_is_found_out(
    home: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    _silence(home, monkeypatch)
    safe = f"{engine}synchronous=full&" if engine == "sqlite?" else engine
    found = _judge_durability(home, f"old={safe.rstrip('&?')}", f"new={safe}inject=0ns")
    assert_caught("silent-sync", found)
    (invalid,) = found
    assert "on new: " in invalid.sentence and " commits, 0 flushes, and " in invalid.sentence


def test_a_silent_sync_of_an_engine_with_an_io_uring_is_not_checked_by_name(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _silence(home, monkeypatch)
    safe = "mariadb@11.8?profile=durable"
    found = _judge_durability(home, f"old={safe}", f"new={safe}&inject=0ns")
    (said,) = [it for it in found if "new" in it.sentence]
    refused = "io_uring" not in said.sentence  # where the host has none, calls are all there is
    assert said.soundness == ("invalid" if refused else "not checked"), said


@pytest.mark.parametrize(
    "engine", ["sqlite?synchronous=full&journal_mode=truncate", "mariadb@11.8"]
)
def test_an_engine_that_flushes_is_sound(
    home: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.setenv("DYNO_TMP", str(home))
    durable = engine if "?" in engine else f"{engine}?profile=durable"
    (found,) = _judge_durability(home, f"old={durable}", f"new={durable}")
    assert found.soundness == "sound"
    assert "on 2 of 2 candidates a commit survives a power cut: " in found.sentence
