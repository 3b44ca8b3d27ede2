"""`dyno history --gate`: what a fresh comparison says of a flagged change, and the exit code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from nightly_runs import fail_restarts, write_nightly_runs, write_run

from dyno.cli import run_words

#: Of 12 points no order is rare enough for a gate that is asked every night.
STEP = [0.0] * 8 + [0.05] * 8
Gate = Callable[..., tuple[int, str]]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def gate(runs: Path, capsys: pytest.CaptureFixture[str]) -> Gate:
    def shut(*words: str) -> tuple[int, str]:
        code = run_words(["history", "--gate", *words, str(runs)])
        return code, capsys.readouterr().out

    return shut


def test_a_slowdown_that_nobody_tried_is_inconclusive(runs: Path, gate: Gate) -> None:
    write_nightly_runs(runs, STEP)
    code, said = gate()
    assert code == 2
    assert "verdict: flagged, not tried" in said


def test_a_fresh_comparison_confirms(runs: Path, gate: Gate) -> None:
    write_nightly_runs(runs, STEP)
    fresh = write_run(runs, 20, {"1.8": 0.0, "1.9": 0.05}, restarts=6)
    code, said = gate()
    assert code == 1
    assert "verdict: slower, [+" in said
    assert f"by the fresh comparison in {fresh.name}" in said


def test_a_strict_gate_ends_with_4_where_the_fresh_comparison_is_doubtful(
    runs: Path, gate: Gate
) -> None:
    write_nightly_runs(runs, STEP)
    fresh = write_run(runs, 20, {"1.8": 0.0, "1.9": 0.05}, restarts=6)
    assert gate("--strict")[0] == 1
    fail_restarts(fresh, "1.9")
    code, said = gate("--strict")
    assert code == 4
    assert f"{fresh.name}, doubtful: select on 1.9: 2 of 8 restarts failed" in said
    assert gate()[0] == 1, "without --strict its word counts"


def test_a_doubtful_comparison_says_so_first_and_why_on_the_terminal(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = str(write_run(runs, 20, {"1.8": 0.0, "1.9": 0.05}, restarts=6))
    assert run_words(["report", made, "--strict"]) == 1
    assert "doubtful" not in capsys.readouterr().out.replace(str(runs), "")
    fail_restarts(Path(made), "1.9")
    assert run_words(["report", made, "--strict"]) == 4
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("Doubtful: 1.9 is slower than 1.8: it takes 5.4 % more time")
    assert "failed_restarts: select on 1.9: 2 of 8 restarts failed" in said
    assert "slower, doubtful" in said, "in the table, too"
    assert "exit code 4" not in said, "it is asked for already"
    assert run_words(["report", made]) == 0
    assert "exit code 4 for a doubtful verdict, with --strict" in capsys.readouterr().out
    page = (Path(made) / "report.html").read_text()
    assert '<p class="box doubt">Doubtful: 1.9' in page
    assert "<title>1.8 vs 1.9: doubtful: slower</title>" in page


def test_a_fresh_comparison_rejects(runs: Path, gate: Gate) -> None:
    write_nightly_runs(runs, [0.0] * 6 + [0.05] * 9)
    write_run(runs, 20, {"1.6": 0.0, "1.7": -0.03}, restarts=6)
    code, said = gate()
    assert code == 0
    assert "verdict: faster, [−" in said


def test_of_two_fresh_comparisons_the_newer_counts(runs: Path, gate: Gate) -> None:
    write_nightly_runs(runs, STEP)
    write_run(runs, 20, {"1.8": 0.0, "1.9": 0.05}, restarts=6)
    newer = write_run(runs, 21, {"1.8": 0.0, "1.9": 0.0}, restarts=6)
    code, said = gate()
    assert f"by the fresh comparison in {newer.name}" in said
    assert code != 1


def test_the_run_that_flags_does_not_confirm(runs: Path, gate: Gate) -> None:
    levels = {f"1.{n}": 0.05 * (n > 8) for n in range(1, 17)}
    write_run(runs, 1, levels, restarts=6)
    assert gate()[0] == 2


def test_a_comparison_without_which_nothing_would_be_flagged_is_not_fresh(
    runs: Path, gate: Gate
) -> None:
    write_nightly_runs(runs, [0.0] * 5 + [0.1] * 4)
    write_run(runs, 20, {"1.5": 0.0, "1.6": 0.1}, restarts=6)
    code, said = gate()
    assert "1 flagged change" in said
    assert "verdict: flagged, not tried" in said
    assert code == 0  # of 11 points none is rare enough


def test_what_became_faster_passes(runs: Path, gate: Gate) -> None:
    write_nightly_runs(runs, STEP[::-1])
    code, said = gate()
    assert "1 flagged change" in said
    assert code == 0


def test_a_slowdown_that_was_undone_passes(runs: Path, gate: Gate) -> None:
    write_nightly_runs(runs, [0.0] * 8 + [0.3] * 8 + [0.1] * 8)
    code, said = gate()
    assert "slowdown +3" in said
    assert "the level has come back since" in said
    assert code == 0


@pytest.mark.parametrize("day, code", [("2026-01-09", 2), ("2026-01-10", 0)])
def test_only_what_is_new_since_a_day_counts(runs: Path, gate: Gate, day: str, code: int) -> None:
    write_nightly_runs(runs, STEP)
    assert gate("--since", day)[0] == code


def test_without_the_gate_a_confirmed_change_ends_with_0(runs: Path) -> None:
    write_nightly_runs(runs, STEP)
    write_run(runs, 20, {"1.8": 0.0, "1.9": 0.05}, restarts=6)
    assert run_words(["history", str(runs)]) == 0


def test_too_short_a_history_passes_no_gate(runs: Path, gate: Gate) -> None:
    write_nightly_runs(runs, [0.0] * 9)
    assert gate()[0] == 64


def test_a_flagged_change_counts_once_it_is_rare_enough_for_one_of_many_nights(
    runs: Path, gate: Gate
) -> None:
    write_nightly_runs(runs, [0.0] * 6 + [0.05] * 6)
    code, said = gate()
    assert ("1 flagged change" in said, code) == (True, 0)
    write_nightly_runs(runs, [0.05] * 4, first=13)
    assert gate()[0] == 2


def test_a_base_that_is_measured_along_takes_the_host_s_nights_out(runs: Path, gate: Gate) -> None:
    """The host slows down by a tenth from the ninth night on; the builds do not."""
    for night in range(1, 17):
        hour = 0.1 * (night > 8)
        write_run(runs, night, {"1.0": hour, f"2.{night}": hour + 0.03})
    code, said = gate()
    assert "1 flagged change in 2 series" in said  # that of the base, which is one program
    assert "the same program on both sides" in said
    assert code == 2


def test_a_slowdown_against_a_base_that_is_measured_along_is_flagged_and_tried(
    runs: Path, gate: Gate
) -> None:
    nights = [0.04 * (-1) ** night for night in range(1, 17)]
    for night, hour in enumerate(nights, 1):
        write_run(runs, night, {"1.0": hour, f"2.{night}": hour + 0.05 * (night > 8)})
    code, said = gate()
    assert "before: null@2.8 " in said and "after:  null@2.9 " in said
    assert code == 2
    write_run(runs, 20, {"2.8": 0.0, "2.9": 0.05}, restarts=6)
    code, said = gate()
    assert (code, "verdict: slower" in said) == (1, True)
