"""`dyno history`: series of comparable points, cut where they are not, and what is flagged."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from nightly_runs import HistoryCommand, make_build, write_nightly_runs, write_run

from dyno.cli import command, run_words


def test_a_step_is_flagged_with_both_builds_and_the_command_that_confirms(
    runs: Path, shown: HistoryCommand
) -> None:
    write_nightly_runs(runs, [0.0] * 6 + [0.05] * 6)
    said = shown()
    assert "1 flagged change in 1 series" in said
    assert re.search(
        r"slowdown \+[45]\.\d %, 99 % interval \[\+[34]\.\d, \+[567]\.\d\], p 0\.0", said
    )
    assert "before: null@1.6 (1.6), 2026-01-06, 3 restarts in 20260106" in said
    assert "after:  null@1.7 (1.7), 2026-01-07, 3 restarts in 20260107" in said
    assert "slower" not in said
    (line,) = [line for line in said.splitlines() if "to confirm or reject: " in line]
    words = shlex.split(line.partition(": ")[2])
    assert words == ["dyno", "compare", "null@1.6", "null@1.7", "-w", "select.lua"]
    assert words[1] in command.commands


def test_one_run_far_out_flags_nothing(runs: Path, shown: HistoryCommand) -> None:
    write_nightly_runs(runs, [0.0] * 11 + [0.8])
    assert "0 flagged changes in 1 series" in shown()


def test_versions_of_one_run_stand_in_the_order_of_versions(
    runs: Path, shown: HistoryCommand
) -> None:
    levels = {f"8.0.{n}": 0.1 if n > 9 else 0.0 for n in (4, 33, 12, 5, 6, 7, 11, 10, 8, 9, 14)}
    write_run(runs, 1, levels)
    said = shown()
    assert "before: null@8.0.9 " in said
    assert "after:  null@8.0.10 " in said


def test_builds_of_one_version_stand_in_the_order_of_the_nights(
    runs: Path, shown: HistoryCommand
) -> None:
    for day in range(1, 13):
        head = make_build("9.0", build={"version": "9.0", "sha256": str(99 - day)})
        write_run(runs, day, {"9.0": 0.1 * (day > 7)}, candidates=(head,))
    said = shown()
    assert "before: null@9.0 (9.0), 2026-01-07" in said
    assert "another program under the same name" in said


def test_a_change_of_one_program_accuses_no_build(runs: Path, shown: HistoryCommand) -> None:
    for day in range(1, 13):
        write_run(runs, day, {"9.0": 0.1 * (day > 7)})
    assert "the same program on both sides" in shown()


def test_the_same_run_named_twice_counts_once(runs: Path, shown: HistoryCommand) -> None:
    one = write_nightly_runs(runs, [0.0] * 10)[0]
    assert " 10 " in shown(str(one))


def test_runs_of_an_a_a_comparison_are_one_point_each(runs: Path, shown: HistoryCommand) -> None:
    for day in range(1, 11):
        sides = (make_build("1.0"), make_build("1.0", name="1.0#2"))
        write_run(runs, day, {"1.0": 0.0, "1.0#2": 0.0}, candidates=sides)
    assert " 10 " in shown()


@pytest.mark.slow
def test_a_step_injected_in_the_null_engine_is_flagged(
    runs: Path, shown: HistoryCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(runs))
    delays = [*range(10000, 10005), *range(100000, 100005)]
    toml = tmp_path / "x.toml"
    toml.write_text(
        f"candidates = {[f'null@{delay}us' for delay in delays]}\n"
        "blocks = 3\nlimits = { steal_percent = 100, foreign_percent = 100 }\n"
        '[[workload]]\nname = "oltp_point_select"\n'
        'options = { time = "0.3", warmup_time = "0" }\n'
    )
    assert run_words(["run", str(toml)]) == 0
    said = shown("--alpha", "0.05")
    assert "before: null@10004us" in said
    assert "dyno compare null@10004us null@100000us -w oltp_point_select" in said
