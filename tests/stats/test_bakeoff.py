"""The rules of the bake-off, on logs whose answer is known, and the logs that are made up."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dyno import calibration
from dyno.calibration.pilot import Shape
from dyno.resolve.experiment import host_here

BENCH = Path(__file__).resolve().parents[2] / "bench"
POOLED = ("welch_pooled", "mann_whitney_pooled")


@pytest.fixture(autouse=True)
def bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


def rules() -> Any:
    return importlib.import_module("rules")


def log(percent: float, sd: float, restarts: int = 10) -> Any:
    """Restarts of five windows each, the candidate's `percent` slower."""
    dice = np.random.default_rng(3)
    base, candidate = (dice.normal(100.0, sd, (restarts, 5)) for _ in range(2))
    return rules().Log(base, candidate * (1.0 + percent / 100.0))


def test_every_rule_sees_what_is_large_and_nothing_where_it_is_faster() -> None:
    for rule in rules().RULES.values():
        assert rule(log(20.0, 1.0))
        assert not rule(log(-20.0, 1.0))


def test_a_threshold_knows_no_spread_and_a_ratio_no_number_of_restarts() -> None:
    assert not rules().over_five_percent(log(4.0, 0.1))
    assert rules().over_five_percent(log(6.0, 0.1))
    assert rules().ratio_and_sd(log(3.0, 0.1))
    many = log(3.0, 10.0, restarts=2000)
    assert not rules().ratio_and_sd(many)
    assert rules().welch_pooled(many)


@pytest.mark.parametrize("name", POOLED)
def test_pooling_takes_windows_of_one_restart_for_independent(name: str) -> None:
    """Six restarts of 20 windows that differ as restarts do: the same build, called slower."""
    dice = np.random.default_rng(7)
    wrong = 0
    for _ in range(200):
        sides = dice.normal(100.0, 1.5, (2, 6, 1)) + dice.normal(0.0, 1.0, (2, 6, 20))
        wrong += getattr(rules(), name)(rules().Log(*sides))
    assert wrong > 0.15 * 200


def test_made_up_logs_are_those_that_dyno_judged() -> None:
    made = importlib.import_module("made_up")
    found = list(made.made_up(made.KINDS[1], 5.0, 50))
    assert sum(case.slower for case in found) >= 48
    for case in found:
        assert case.log.base.shape == case.log.candidate.shape
        assert case.log.base.shape[0] in (6, 10, 14, 18, 24)
        assert case.log.base.shape[1] == made.WINDOWS
    slow = np.mean([case.log.candidate.mean() / case.log.base.mean() for case in found])
    assert slow == pytest.approx(1.05, abs=0.01)


def test_logs_of_this_host_are_played_and_kept_and_those_of_old_calibrations_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DYNO_STATE", str(tmp_path / "state"))
    logs = importlib.import_module("restart_logs")
    calm = {"foreign_percent": 100.0, "steal_percent": 100.0}
    brief = {"time": "0.4", "warmup_time": "0.1"}
    logs.play("null@500us", Shape(options=brief, blocks=4, limits=calm))
    old = [
        {"block": 0, "candidate": side, "value": rate, "windows": [rate, rate]}
        for side, rate in (("base", 4000.0), ("candidate", 5000.0))
    ]
    line = {"engine": "sqlite", "what": "same build", "better": "higher", "words": {"slower": 1}}
    calibration.store_file(host_here()).write_text(json.dumps(line | {"restarts": old}) + "\n")
    found = logs.stored()
    assert set(found) == {("null@500us", "same build"), ("sqlite", "same build")}
    ((played,), (kept,)) = found.values()
    assert len(played.log.base) == len(played.log.candidate) >= 4
    assert 400e-6 < played.log.base.min() < 1e-3
    assert kept.slower and kept.log.base.tolist() == [[1 / 4000, 1 / 4000]]
