"""Audit `noise_effect`: a difference that goes with the noise is doubtful, and no other."""

from __future__ import annotations

import numpy as np
from fakes import make_readings, make_run, make_trials
from judging import logs
from msgspec import structs

from dyno.judge.analysis.run_view import RunView
from dyno.judge.audits import load_audits
from dyno.judge.audits.noise_effect import follows_noise
from dyno.record import Finding, Run

QUIET = {"steal_ns": 0.0, "busy_ns": 50.0, "idle_ns": 50.0, "own_ns": 50.0}


def found(values: list[float], foreign: list[float], run: Run | None = None) -> list[Finding]:
    """On blocks of these log ratios, in which others had so many percent."""
    hosts = [QUIET | {"busy_ns": 50.0 + each, "idle_ns": 50.0 - each} for each in foreign]
    trials = [
        structs.replace(
            trial,
            phases=tuple(
                structs.replace(record, readings=make_readings(hosts[trial.block]))
                for record in trial.phases
            ),
        )
        for trial in make_trials({"new": values})
    ]
    return load_audits()["noise_effect"].judge(RunView(run or make_run(), trials))


def test_a_difference_that_shrinks_beside_a_neighbour_is_doubtful_and_says_both() -> None:
    (finding,) = found(
        [0.60, 0.61, 0.59, 0.22, 0.23, 0.21, 0.20], [0.0, 1.0, 2.0, 30.0, 31.0, 29.0, 35.0]
    )
    assert finding.soundness == "doubtful"
    assert "on new: the slowdown depends on what others had of the machine: +8" in finding.sentence
    assert "where it was 35 %: measure where it is quiet" in finding.sentence


def test_dropped_blocks_are_asked_too() -> None:
    limited = make_run(limits={"foreign_percent": 10.0})
    values, foreign = (
        [0.3, 0.31, 0.29, 0.1, 0.11, 0.09, 0.08],
        [0.0, 1.0, 0.5, 20.0, 21.0, 22.0, 23.0],
    )
    assert found(values, foreign, limited)[0].soundness == "doubtful"


def test_chance_little_noise_or_few_blocks_are_sound() -> None:
    climbing = [0.1 * block for block in range(8)]
    assert (
        found(logs(0.3, 0.1, 8, seed=2), [3.0 * block for block in range(8)])[0].soundness
        == "sound"
    )
    assert found(climbing, [0.5 * block for block in range(8)])[0].soundness == "sound"
    (few,) = found(climbing[:5], [5.0 * block for block in range(5)])
    assert few.soundness == "not checked" and "fewer than 6 blocks" in few.sentence
    within = [0.002 * block for block in range(8)]
    assert found(within, [3.0 * block for block in range(8)])[0].soundness == "sound"


def test_noisy_blocks_that_spread_are_seldom_taken_for_a_difference_that_goes_along() -> None:
    rng = np.random.default_rng(7)
    alarms = 0
    for _ in range(400):
        others = np.where(rng.random(10) < 0.4, rng.uniform(10, 35, 10), rng.uniform(0, 2, 10))
        spread = np.where(others > 5, 0.08, 0.02)
        alarms += follows_noise(others, rng.normal(0.0, spread))
    assert alarms <= 400 * 0.04


def test_one_odd_block_is_not_enough() -> None:
    ten = [0.30, 0.31, 0.29, 0.30, 0.32, 0.28, 0.31, 0.29, 0.30, 0.0]
    foreign = [0.3, 0.4, 0.2, 0.6, 0.1, 0.5, 0.7, 0.9, 0.8, 30.0]
    assert not follows_noise(np.array(foreign), np.array(ten))
