"""Audit `steady_state`: a rate that drifts in all restarts is found, one that is noisy is not."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from audit_records import NEW, OLD, a_run, findings, only, with_margin
from fakes import make_phase, make_record, make_run, make_tally, make_trial, make_workload
from msgspec import structs

from dyno.record import Run, Series, Trial


def _played(candidate: str, per_second: Sequence[Sequence[int]]) -> list[Trial]:
    """A restart in each block, with what was done in each of its seconds."""
    trials = []
    for block, done in enumerate(per_second):
        series = Series(tuple(done), (0,) * len(done), (1,) * len(done))
        tally = structs.replace(make_tally(1000), series=series)
        record = make_record([tally], seconds=len(done) + 0.4)
        number = 2 * block + (candidate == "new")
        trials.append(make_trial(number, candidate, block, 1, phases=(record,)))
    return trials


def _noisy(rates: Sequence[float], seed: int, restarts: int = 8) -> list[list[int]]:
    """Seconds at these rates, each with a noise of 3 %."""
    rng = random.Random(seed)
    return [[round(rate * rng.gauss(1, 0.03)) for rate in rates] for _ in range(restarts)]


FLAT = [1000.0] * 10
WARMING = [600.0, 800.0, *[1000.0] * 8]
FALLING = [1000.0 - 12 * second for second in range(10)]
HALVED = [1000.0] * 4 + [400.0] * 6


@pytest.mark.parametrize(
    ("rates", "soundness", "words"),
    [
        (FLAT, "sound", "at most from one half"),
        (WARMING, "doubtful", "the rate of reader changed by +1"),
        (FALLING, "doubtful", "changed by -7 %"),
        (HALVED, "invalid", "changed by -55 %"),
        (HALVED[::-1], "invalid", "changed by +1"),
    ],
)
def test_a_drift_that_the_restarts_share(rates: list[float], soundness: str, words: str) -> None:
    finding = only("steady_state", a_run(), *_played("old", _noisy(rates, seed=1)))
    assert finding.soundness == soundness and words in finding.sentence
    assert finding.phase == ("" if soundness == "sound" else "run")


def test_restarts_that_drift_this_way_and_that_agree_upon_nothing() -> None:
    wild = [FALLING, FALLING[::-1]] * 4
    trials = _played("old", [[round(rate) for rate in rates] for rates in wild])
    assert only("steady_state", a_run(), *trials).soundness == "sound"


def test_noise_alone_is_never_blamed() -> None:
    for seed in range(50):
        trials = _played("old", _noisy([1000.0] * 3, seed)) + _played(
            "new", _noisy(FLAT[:3], -seed)
        )
        run = structs.replace(a_run(), design=make_run(margin_percent=5.0).design)
        assert only("steady_state", run, *trials).soundness == "sound", seed


def test_a_slowdown_that_grows_is_told_with_both_its_values() -> None:
    falling = [1000.0 - 9 * second for second in range(10)]
    trials = _played("old", _noisy(FLAT, seed=3)) + _played("new", _noisy(falling, seed=4))
    found = findings("steady_state", a_run(), *trials)
    assert [(each.soundness, each.phase) for each in found] == [("doubtful", "run")]
    assert "its slowdown in reader was +" in found[0].sentence
    assert "% in the second" in found[0].sentence


def test_a_slowdown_that_grows_is_held_against_the_primarys_own_margin() -> None:
    falling = [1000.0 - 9 * second for second in range(10)]
    trials = _played("old", _noisy(FLAT, seed=3)) + _played("new", _noisy(falling, seed=4))
    assert only("steady_state", with_margin(a_run(), 20.0), *trials).soundness == "sound"


def _declared(**changes: object) -> Run:
    phase = make_phase() | changes
    run = make_run(workloads=[make_workload(phases=[phase])])
    return structs.replace(run, candidates=(OLD, NEW))


def test_a_phase_that_is_not_stationary_may_drift() -> None:
    trials = _played("old", _noisy(HALVED, seed=1))
    assert only("steady_state", _declared(stationary=False), *trials).soundness == "does not apply"


@pytest.mark.parametrize(("seconds", "restarts"), [(1, 8), (10, 2)])
def test_too_little_to_tell_is_told(seconds: int, restarts: int) -> None:
    trials = _played("old", _noisy(HALVED[:seconds], seed=1, restarts=restarts))
    finding = only("steady_state", a_run(), *trials)
    assert finding.soundness == "not checked" and "under 2 s, or under 3" in finding.sentence
