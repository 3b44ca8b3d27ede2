"""Change points: the rate of false ones, the power for a clear step, and what one outlier does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator

from dyno.judge.stats.changes import (
    Change,
    Piece,
    clip_far_values,
    compute_least_points,
    compute_nightly_alpha,
    find_changes,
)
from dyno.judge.stats.log_ratio import Floats

RUNS = 200
Draw = Callable[[Generator], Floats]


#: As exact at 5 % as 999, since 1 + 199 is a multiple of 20; a fifth of the time.
SHUFFLES = 199


def searched(draw: Draw, alpha: float = 0.05, runs: int = RUNS) -> list[list[Change]]:
    rng = np.random.default_rng(13)
    return [find_changes(draw(rng), alpha, seed, SHUFFLES) for seed in range(runs)]


def halves(size: int) -> Floats:
    return np.array([0.0] * (size // 2) + [1.0] * (size - size // 2))


def normal(size: int) -> Draw:
    return lambda rng: rng.normal(0, 0.02, size)


def stepped(size: int, after: int, sd: float) -> Draw:
    step = np.where(np.arange(size) >= size - after, sd, 0.0)
    return lambda rng: rng.normal(size=size) + step


def with_outlier(size: int, at: int) -> Draw:
    wild = np.where(np.arange(size) == at % size, 50.0, 0.0)
    return lambda rng: rng.normal(size=size) + wild


@pytest.mark.slow
@pytest.mark.parametrize(
    "draw",
    [
        normal(10),
        normal(40),
        lambda rng: rng.standard_t(2, 30),
        lambda rng: rng.choice([0.0, 0.05], 30),
        with_outlier(30, 0),
        with_outlier(30, 28),
        with_outlier(30, 15),
        with_outlier(150, -1),
    ],
    ids=("normal10", "normal40", "tails", "two", "first", "last", "middle", "long"),
)
def test_of_series_without_a_change_no_more_than_alpha_get_one(draw: Draw) -> None:
    runs = 60 if len(draw(np.random.default_rng())) > 100 else RUNS
    hits = sum(bool(found) for found in searched(draw, runs=runs))
    # the number of hits that a true rate of 5 % exceeds once in 1000 times
    assert hits <= {RUNS: 21, 60: 10}[runs]


@pytest.mark.parametrize("size,after,sd", [(12, 6, 5.0), (40, 20, 2.0), (30, 5, 4.0)])
def test_a_clear_step_is_found_where_it_is(size: int, after: int, sd: float) -> None:
    found = searched(stepped(size, after, sd), runs=100)
    near = [[c for c in each if abs(c.at - (size - after)) <= 2] for each in found]
    assert sum(bool(each) for each in near) >= 90, len(near)
    sizes = [change.estimate for each in near for change in each]
    assert np.mean(sizes) == pytest.approx(sd, rel=0.15)


def test_two_steps_are_two_changes_with_their_sizes() -> None:
    series = np.repeat([0.0, 0.1, 0.05], 12) + np.random.default_rng(3).normal(0, 0.005, 36)
    first, second = find_changes(series, 0.05, shuffles=SHUFFLES)
    assert (first.at, second.at) == (12, 24)
    assert first.low < 0.1 < first.high
    assert second.low < -0.05 < second.high


def test_a_step_is_seen_from_its_third_point_on_and_not_before() -> None:
    quiet = np.random.default_rng(7).normal(0, 0.01, 30)
    for after in (1, 2, 3):
        series = quiet + np.repeat([0.0, 0.1], [30 - after, after])
        found = find_changes(series, 0.01, shuffles=SHUFFLES)
        assert [change.at for change in found] == ([27] if after == 3 else [])


def test_series_of_equal_points_and_short_ones_have_no_change() -> None:
    assert find_changes(np.zeros(40), 0.2, shuffles=SHUFFLES) == []
    assert find_changes(np.arange(5.0), 0.2, shuffles=SHUFFLES) == []
    assert find_changes(halves(20), 0.05, shuffles=SHUFFLES)[0].at == 10


def test_no_series_shorter_than_the_least_could_have_a_change() -> None:
    assert [compute_least_points(alpha) for alpha in (0.05, 0.01)] == [8, 10]
    for alpha, least in ((0.05, 8), (0.01, 10)):
        found = [find_changes(halves(size), alpha, shuffles=4999) for size in (least - 1, least)]
        assert [len(each) for each in found] == [0, 1]


def test_an_outlier_is_drawn_in_and_nothing_else() -> None:
    values = np.append(np.random.default_rng(1).normal(size=20), 100.0)
    drawn = clip_far_values(values)
    assert (drawn[:20] == values[:20]).all()
    assert drawn[20] < 6
    two = np.array([1.0] * 6 + [2.0] * 4)
    assert (clip_far_values(two) == two).all()


def farthest(series: Floats) -> Floats:
    """How far the best place parts each of many series, by their own mean distance."""
    found = np.empty(len(series))
    for at, one in enumerate(series):
        piece = Piece(0, one)
        found[at] = piece.split().unlike / (piece.distances.mean() / piece.size)
    return found


@pytest.mark.slow
def test_a_gate_that_is_asked_every_night_spends_alpha_over_all_of_them() -> None:
    """METHOD.md, History: within 40 nights 3 %, at α = 5 % each night 32 %."""
    rng = np.random.default_rng(12)
    watched = rng.normal(size=(400, 40))
    spent, every = np.zeros((2, 400), dtype=bool)
    for night in range(10, 41, 2):
        usual = np.sort(farthest(rng.normal(size=(1500, night))))
        p_values = 1.0 - np.searchsorted(usual, farthest(watched[:, :night])) / usual.size
        spent |= p_values <= compute_nightly_alpha(0.05, night)
        every |= p_values <= 0.05
    assert spent.mean() < 0.05
    assert every.mean() > 0.20


def test_a_p_value_is_told_apart_from_a_level_below_what_the_shuffles_could() -> None:
    coarse = find_changes(halves(30), 0.01, shuffles=SHUFFLES)[0].p
    fine = find_changes(
        halves(30), 0.01, shuffles=SHUFFLES, finest=compute_nightly_alpha(0.01, 30)
    )[0].p
    assert coarse >= 1 / (SHUFFLES + 1)
    assert fine < compute_nightly_alpha(0.01, 30) < coarse
