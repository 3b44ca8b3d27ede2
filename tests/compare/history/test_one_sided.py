"""The audit of a history: alarms that are nearly all of one side are told, and others not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs
from nightly_runs import history_command, write_run

from dyno.compare.history.one_sided import count_sides
from dyno.judge.stats.changes import find_changes
from dyno.judge.stats.log_ratio import Floats
from dyno.record import (
    FlaggedChange,
    FreshComparison,
    History,
    HistoryPoint,
    HistorySeries,
    Metric,
)
from dyno.report.words import describe_one_sided

TIME = Metric("w", "run", "s", "latency_ns_p50", "ns", "lower")


def make_series(
    logs: Sequence[float], changes: Sequence[FlaggedChange], first_day: int = 0
) -> HistorySeries:
    """A point a day."""
    days = [datetime(2026, 1, 1) + timedelta(days=first_day + day) for day in range(len(logs))]
    points = tuple(
        HistoryPoint(
            f"{day:%F}", f"{day:%F}", f"null@{at}", "", {}, 3, float(np.exp(log)), 1.0, 1.0
        )
        for at, (day, log) in enumerate(zip(days, logs, strict=True))
    )
    return HistorySeries(TIME, "null", {}, points, True, (), tuple(changes))


def make_change(at: int, percent: float, trial: FreshComparison | None = None) -> FlaggedChange:
    return FlaggedChange(at, at, at, percent, percent, percent, 0.001, True, "", trial=trial)


def make_alarms(sides: Sequence[float]) -> HistorySeries:
    """A change every second day."""
    changes = [make_change(2 * at + 1, side) for at, side in enumerate(sides)]
    return make_series([0.0] * (2 * len(sides) + 1), changes)


@pytest.mark.parametrize(
    "slowdowns,speedups,told",
    [(8, 0, True), (0, 8, True), (11, 1, True), (7, 0, False), (10, 1, False), (12, 6, False)],
)
def test_alarms_of_one_side_are_told_from_eight_events_on(
    slowdowns: int, speedups: int, told: bool
) -> None:
    series = make_alarms([5.0] * slowdowns + [-5.0] * speedups)
    sides = count_sides([series])
    assert (sides.slowdowns, sides.speedups) == (slowdowns, speedups)
    assert sides.is_one_sided == told
    sentence = describe_one_sided(History(0.01, 10, (series,), sides=sides))
    assert bool(sentence) == told
    if told:
        assert f"{max(slowdowns, speedups)} of {slowdowns + speedups} flagged events" in sentence


def test_changes_of_many_series_at_one_time_are_one_event() -> None:
    many = [make_alarms([5.0] * 5) for _ in range(20)]
    sides = count_sides(many)
    assert (sides.slowdowns, sides.is_one_sided) == (5, False)


def test_places_that_overlap_are_one_event_and_opposite_ones_cancel() -> None:
    wide = structs.replace(make_change(5, 5.0), first=3, last=9)
    near = make_change(8, 5.0)
    assert count_sides([make_series([0.0] * 20, [wide]), make_series([0.0] * 20, [near])]) == (
        count_sides([make_series([0.0] * 20, [near])])
    )
    against = make_change(8, -5.0)
    both = [make_series([0.0] * 20, [wide]), make_series([0.0] * 20, [against])]
    assert (count_sides(both).slowdowns, count_sides(both).speedups) == (0, 0)


def test_what_a_fresh_comparison_confirmed_is_no_suspicion() -> None:
    slower = FreshComparison("x", "slower", 4.0, 6.0)
    faster = FreshComparison("x", "not slower", -6.0, -4.0)
    open_ = FreshComparison("x", "inconclusive", -6.0, 4.0)
    changes = [
        *(make_change(2 * at + 1, 5.0, slower) for at in range(8)),
        *(make_change(2 * at + 1, -5.0, faster) for at in range(8, 16)),
        *(make_change(2 * at + 1, 5.0, open_) for at in range(16, 24)),
    ]
    sides = count_sides([make_series([0.0] * 60, changes)])
    assert (sides.slowdowns, sides.speedups, sides.is_one_sided) == (8, 0, True)


def search(logs: Floats) -> HistorySeries:
    """The series with what the search flags in it."""
    found = find_changes(logs, 0.01, shuffles=199)
    changes = [
        FlaggedChange(it.at, it.first, it.last, 100 * it.estimate, 0.0, 0.0, it.p, True, "")
        for it in found
    ]
    return make_series(logs.tolist(), changes)


def test_a_host_that_drifts_is_suspected_and_steps_both_ways_are_not() -> None:
    rng = np.random.default_rng(5)
    noise = rng.normal(0, 0.005, 200)
    drifting = search(np.linspace(0.0, 0.5, 200) + noise)
    assert len(drifting.flagged_changes) >= 8
    assert count_sides([drifting]).is_one_sided
    steps = np.repeat(np.cumsum([0.1, 0.1, -0.1, 0.1, -0.1, -0.1, 0.1, -0.1, 0.1, -0.1] * 2), 10)
    both = count_sides([search(steps + noise)])
    assert both.slowdowns and both.speedups and not both.is_one_sided


def test_histories_of_a_fair_coin_are_seldom_called_one_sided() -> None:
    rng = np.random.default_rng(9)
    told = [
        count_sides([make_alarms(rng.choice([-5.0, 5.0], 25).tolist())]).is_one_sided
        for _ in range(400)
    ]
    assert sum(told) <= 11  # what a rate of 1 % exceeds once in a thousand


def test_the_command_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for day in range(60):
        write_run(tmp_path / "runs", day, {f"1.{day}": 0.15 * (day // 6)}, restarts=2)
    said = " ".join(history_command(tmp_path / "runs", capsys)().split())
    assert "one-sided: 9 of 9 flagged events that nothing has confirmed are slowdowns" in said
