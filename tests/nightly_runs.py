"""Runs on disk, a night each, whose restarts took the time that a test says."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes import make_run, make_trial
from msgspec import structs

from dyno.cli import run_words
from dyno.record import Candidate
from dyno.record.run import LIMITS
from dyno.runs.run_folder import RunFolder, create_run

HistoryCommand = Callable[..., str]


def history_command(runs: Path, capsys: pytest.CaptureFixture[str]) -> HistoryCommand:
    """What `dyno history` says of the runs; its exit code is 0 whatever it flags."""

    def show(*words: str) -> str:
        assert run_words(["history", *words, str(runs)]) == 0
        return capsys.readouterr().out

    return show


def make_build(version: str, **changes: object) -> Candidate:
    """A build of `null`, of that version."""
    made = Candidate(version, f"null@{version}", "null", True, {"version": version}, {}, {})
    return structs.replace(made, **changes)


def write_run(
    runs: Path, day: int, logs: dict[str, float], restarts: int = 3, **changes: Any
) -> Path:
    """A run of that day: each version's log of time, so many restarts of 1 % around it; `design`
    among the changes are those of the design.
    """
    stamp = f"2026-01-{day:02}T00:00:00Z"
    sides = changes.pop("candidates", [make_build(version) for version in logs])
    made = make_run(sides, **{"limits": LIMITS} | changes.pop("design", {}))
    made = structs.replace(made, **{"created_utc": stamp} | changes)
    kept = create_run(made, runs)
    rng, numbers = np.random.default_rng(day), iter(range(1, 1000))
    for block in range(restarts):
        for side, log in zip(made.candidates, logs.values(), strict=True):
            per_s = 1e4 * math.exp(-log - rng.normal(0, 0.01))
            kept.write_trial(make_trial(next(numbers), side.name, block, per_s))
    return kept.path


def fail_restarts(run: Path, candidate: str, times: int = 2) -> None:
    """So many restarts of a candidate fail besides: what is compared are those that did not."""
    kept = RunFolder(run)
    for number in range(900, 900 + times):
        kept.write_trial(make_trial(number, candidate, 0, 1.0, status="failed", attempt=0))


def write_nightly_runs(
    runs: Path, levels: Sequence[float], first: int = 1, **changes: Any
) -> list[Path]:
    """A run a night, of a new build each."""
    return [
        write_run(runs, day, {f"1.{day}": level}, **changes)
        for day, level in enumerate(levels, first)
    ]
