"""`dyno history --gate`: what a fresh comparison says of a nomination, and the exit code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from nightly_runs import write_nightly_runs, write_run

from dyno.cli import exit_code

STEP = [0.0] * 6 + [0.05] * 6
Gate = Callable[..., tuple[int, str]]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def gate(runs: Path, capsys: pytest.CaptureFixture[str]) -> Gate:
    def shut(*words: str) -> tuple[int, str]:
        code = exit_code(["history", "--gate", *words, str(runs)])
        return code, capsys.readouterr().out

    return shut


def test_a_slowdown_that_nobody_tried_is_inconclusive(runs: Path, gate: Gate) -> None:
    write_nightly_runs(runs, STEP)
    code, said = gate()
    assert code == 2
    assert "verdict: nominated, not tried" in said


def test_a_fresh_comparison_convicts(runs: Path, gate: Gate) -> None:
    write_nightly_runs(runs, STEP)
    fresh = write_run(runs, 20, {"1.6": 0.0, "1.7": 0.05}, restarts=6)
    code, said = gate()
    assert code == 1
    assert "verdict: slower, [+" in said
    assert f"by the fresh comparison in {fresh.name}" in said


def test_a_fresh_comparison_acquits(runs: Path, gate: Gate) -> None:
    write_nightly_runs(runs, [0.0] * 6 + [0.05] * 9)
    write_run(runs, 20, {"1.6": 0.0, "1.7": -0.03}, restarts=6)
    code, said = gate()
    assert code == 0
    assert "verdict: faster, [−" in said


def test_of_two_fresh_comparisons_the_newer_counts(runs: Path, gate: Gate) -> None:
    write_nightly_runs(runs, STEP)
    write_run(runs, 20, {"1.6": 0.0, "1.7": 0.05}, restarts=6)
    newer = write_run(runs, 21, {"1.6": 0.0, "1.7": 0.0}, restarts=6)
    code, said = gate()
    assert f"by the fresh comparison in {newer.name}" in said
    assert code != 1


def test_the_run_that_nominates_does_not_convict(runs: Path, gate: Gate) -> None:
    levels = {f"1.{n}": 0.05 * (n > 6) for n in range(1, 13)}
    write_run(runs, 1, levels, restarts=6)
    assert gate()[0] == 2


def test_a_comparison_without_which_nothing_would_be_nominated_is_not_fresh(
    runs: Path, gate: Gate
) -> None:
    write_nightly_runs(runs, [0.0] * 5 + [0.1] * 4)
    write_run(runs, 20, {"1.5": 0.0, "1.6": 0.1}, restarts=6)
    code, said = gate()
    assert "1 nomination" in said
    assert code == 2


def test_what_became_faster_passes(runs: Path, gate: Gate) -> None:
    write_nightly_runs(runs, STEP[::-1])
    code, said = gate()
    assert "1 nomination" in said
    assert code == 0


def test_a_slowdown_that_was_undone_passes(runs: Path, gate: Gate) -> None:
    write_nightly_runs(runs, [0.0] * 8 + [0.3] * 8 + [0.1] * 8)
    code, said = gate()
    assert "slowdown +3" in said
    assert "the level has come back since" in said
    assert code == 0


@pytest.mark.parametrize("day, code", [("2026-01-07", 2), ("2026-01-08", 0)])
def test_only_what_is_new_since_a_day_counts(runs: Path, gate: Gate, day: str, code: int) -> None:
    write_nightly_runs(runs, STEP)
    assert gate("--since", day)[0] == code


def test_without_the_gate_a_conviction_ends_with_0(runs: Path) -> None:
    write_nightly_runs(runs, STEP)
    write_run(runs, 20, {"1.6": 0.0, "1.7": 0.05}, restarts=6)
    assert exit_code(["history", str(runs)]) == 0


def test_too_short_a_history_passes_no_gate(runs: Path, gate: Gate) -> None:
    write_nightly_runs(runs, [0.0] * 9)
    assert gate()[0] == 64
