"""Counts in a history: each point is judged by its repetitions against where its level began."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from counts import make_count
from nightly_runs import make_build, write_nightly_runs

from dyno.cli import run_words
from dyno.compare.history.exact import find_steps
from dyno.compare.history.points import ExactRepeats
from dyno.runs.run_folder import write_json


def write_counts(
    runs: Path, levels: Mapping[str, float | tuple[float, ...]], day: int = 1, **more: Any
) -> None:
    """A count of these versions: a level is that of both repetitions, several are of each."""
    made = make_count(
        {name: own if isinstance(own, tuple) else (own, own) for name, own in levels.items()},
        tuple(make_build(version) for version in levels),
        created_utc=f"2026-01-{day:02}T00:00:00Z",
        **more,
    )
    folder = runs / f"202601{day:02}T000000Z-count"
    folder.mkdir(parents=True)
    write_json(folder / "count.json", made)


def show(runs: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = run_words(["history", str(runs), *words])
    return code, capsys.readouterr().out


def test_a_step_of_the_margin_is_a_change_and_a_smaller_one_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    levels = {"1.0": 1000.0, "1.1": 1004.9, "1.2": 1006.0, "1.3": 1006.0}
    write_counts(tmp_path / "runs", levels)
    code, said = show(tmp_path / "runs", capsys, "--gate")
    assert code == 1
    assert "1 step in 1 series of instruction counts" in said
    assert "before: null@1.1" in said
    assert "after:  null@1.2" in said
    assert "heavier by its repetitions; a count is not time" in said
    assert "which functions: dyno count null@1.1 null@1.2 -w select" in said
    assert "p 0" not in said


@pytest.mark.parametrize(
    ("nights", "code", "told"),
    [
        ([(1000.0, 1080.0), (1015.0, 1095.0)], 2, "inconclusive: its repetitions vary too far"),
        ([(1000.0, 1080.0), (1015.0, 1095.0), (1000.0, 1080.0)], 0, "0 steps in 1 series"),
        ([(1000.0,), (1015.0,)], 2, "inconclusive"),
        ([(1000.0, 1000.2), (1015.0, 1015.1)], 1, "heavier by its repetitions"),
        ([(1000.0, 1000.2), (1003.0, 1003.9)], 0, "0 steps in 1 series"),
    ],
)
def test_counts_that_vary_are_judged_by_their_repetitions(
    nights: list[tuple[float, ...]],
    code: int,
    told: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for day, own in enumerate(nights, 1):
        write_counts(tmp_path / "runs", {"1.0": own}, day)
    found, said = show(tmp_path / "runs", capsys, "--gate")
    assert (found, told in said) == (code, True), said


FACTS = {"machine": "x86_64", "libc": "glibc 2.36", "cpu_features": "avx2 fma", "cpu": "A"}


@pytest.mark.parametrize(
    ("host", "valgrind", "joins"),
    [
        ({"cpu": "B", "cores": "64", "id": "other"}, "valgrind-3.19.0", True),
        ({"libc": "glibc 2.41"}, "valgrind-3.19.0", False),
        ({"cpu_features": "avx2"}, "valgrind-3.19.0", False),
        ({}, "valgrind-3.24.0", False),
    ],
)
def test_counts_of_another_host_join_where_libc_valgrind_and_features_agree(
    host: dict[str, str],
    valgrind: str,
    joins: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_counts(tmp_path / "runs", {"1.0": 1000.0}, 1, host=FACTS)
    write_counts(tmp_path / "runs", {"1.1": 1100.0}, 2, host=FACTS | host, valgrind=valgrind)
    code, said = show(tmp_path / "runs", capsys, "--gate")
    assert (code, "heavier by its repetitions" in said) == ((1, True) if joins else (64, False))


def test_counts_without_those_facts_join_on_one_model_and_distribution_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for day, cpu in ((1, "A"), (2, "A"), (3, "B")):
        host = {"machine": "x86_64", "distribution": "d", "cpu": cpu}
        write_counts(tmp_path / "runs", {f"1.{day}": 1000.0 + 100 * day}, day, host=host)
    assert "1 step in " in show(tmp_path / "runs", capsys)[1]


@pytest.mark.parametrize("repeats", [2, 4])
def test_a_build_whose_counts_vary_is_hardly_ever_heavier_than_itself_in_a_month(
    repeats: int,
) -> None:
    months = np.random.default_rng(6).normal(1000.0, 30.0, (150, 30, repeats))
    wrong = sum(
        any(step.word == "slower" for step in find_steps(counted).values())
        for month in months
        for counted in [[ExactRepeats(tuple(own), 1, 0.5) for own in month]]
    )
    assert wrong / 150 <= 0.05 + 0.027, "one and a half standard errors"


def test_a_drift_of_small_steps_is_held_against_where_it_began(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_counts(tmp_path / "runs", {f"1.{n}": 1000.0 + 2 * n for n in range(6)})
    _, said = show(tmp_path / "runs", capsys)
    assert "before: null@1.2" in said
    assert "after:  null@1.3" in said


def test_lighter_passes_the_gate_and_a_level_that_came_back_does_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_counts(tmp_path / "lighter", {"1.0": 1000.0, "1.1": 900.0})
    assert show(tmp_path / "lighter", capsys, "--gate")[0] == 0
    write_counts(tmp_path / "back", {"1.0": 1000.0, "1.1": 1100.0, "1.2": 1000.0})
    code, said = show(tmp_path / "back", capsys, "--gate")
    assert code == 0
    assert "the level has come back since" in said


def test_counts_of_several_nights_are_one_series_beside_those_of_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, file, page = tmp_path / "runs", tmp_path / "history.json", tmp_path / "page.html"
    write_nightly_runs(runs, [0.0] * 12)
    write_counts(runs, {"1.0": 1000.0}, day=1)
    write_counts(runs, {"1.1": 1000.0}, day=2)
    write_counts(runs, {"1.2": 1010.0}, day=3)
    write_counts(runs, {"1.3": 2000.0}, day=4, options={"table_size": "7"})
    code, said = show(runs, capsys, "--json", str(file), "--html", str(page))
    assert code == 0
    assert "0 flagged changes in 1 series" in said
    exact = [each for each in json.loads(file.read_text())["series"] if each["is_exact"]]
    assert sorted(len(each["points"]) for each in exact) == [1, 3]
    assert "instructions +1.00" in page.read_text()


def test_a_damaged_count_is_left_out_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_counts(tmp_path / "runs", {"1.0": 1000.0, "1.1": 1000.0})
    broken = tmp_path / "runs" / "20260105T000000Z-count"
    broken.mkdir()
    (broken / "count.json").write_text("{")
    assert "left out: 20260105T000000Z-count: " in show(tmp_path / "runs", capsys)[1]
