"""The search finds the rate at the limit of servers whose truth is known, in few steps, whatever a
hiccup says once.
"""

from __future__ import annotations

import math

import pytest
from made_rates import MadeServers, find_true_rate

from dyno.instruments.capacity.search import ASKED, NARROW, STEPS_MOST, RateSearch
from dyno.judge.analysis.capacity import find_restart_rate
from dyno.judge.stats.rate_at_limit import find_rate_at_limit
from dyno.record.capacity import CapacityStep


@pytest.mark.parametrize(("servers", "service_s", "limit_s"), [(1, 1e-3, 5e-3), (4, 1e-3, 2e-3)])
def test_restarts_of_known_servers_lie_around_the_truth(
    servers: int, service_s: float, limit_s: float
) -> None:
    truth = find_true_rate(servers, service_s, limit_s, 99.0)
    made, known, logs, steps = MadeServers(servers, service_s, limit_s, events=6000), None, [], []
    for number in range(64):
        restart = made.search(None if number % 8 == 0 else known)
        known = find_restart_rate(restart)
        assert known is not None
        logs.append(math.log(known / truth))
        steps.append(len(restart.steps))
    assert abs(sum(logs) / len(logs)) < 0.015
    assert sum(steps) / len(steps) < 10


def test_one_step_that_a_hiccup_broke_does_not_lead_the_search_astray() -> None:
    truth = find_true_rate(4, 1e-3, 2e-3, 99.0)
    made = MadeServers(4, 1e-3, 2e-3, events=6000, spoil=lambda rate, number: number == 1)
    rate = find_restart_rate(made.search(0.6 * truth))
    assert rate == pytest.approx(truth, rel=0.1)


def test_a_limit_below_the_service_time_holds_at_no_rate() -> None:
    made = MadeServers(2, 1e-2, 5e-3, events=500)
    restart = made.search(lowest=10.0)
    assert restart.exhausted and find_restart_rate(restart) is None
    assert min(step.rate_per_s for step in restart.steps) == 10.0


def test_a_host_that_answers_at_random_ends_the_search_all_the_same() -> None:
    made = MadeServers(4, 1e-3, 2e-3, events=500)
    made.spoil = lambda rate, number: made.rng.random() < 0.5
    assert len(made.search().steps) <= STEPS_MOST


def make_step(rate: float, load: float | None) -> CapacityStep:
    return CapacityStep(rate, 1.0, 100, 100, 0, 0, (load,), load, rate)


def test_both_ends_of_the_bracket_are_asked_again() -> None:
    search = RateSearch(100.0, 1.0, 1.2)
    while (rate := search.choose_rate()) is not None:
        search.take(make_step(rate, rate / 130.0))
    low, high = search.bracket
    assert low and high and low <= 130.0 < high and high / low <= NARROW
    asked = [step.rate_per_s for step in search.steps]
    assert asked.count(low) >= ASKED and asked.count(high) >= ASKED


def test_the_fit_passes_the_limit_between_the_rates_around_it() -> None:
    assert find_rate_at_limit([100, 200], [0.8, 1.25]) == pytest.approx(math.sqrt(20_000))
    assert find_rate_at_limit([100, 200], [0.8, None]) == pytest.approx(118.4, rel=0.01)
    assert find_rate_at_limit([100, 200], [1.1, 1.2]) is None
    assert find_rate_at_limit([100, 200], [0.1, 0.2]) == pytest.approx(200.0)
    # one spoilt step among many that held is outvoted
    rates, loads = [100, 110, 120, 130, 140], [9.0, 0.7, 0.75, 0.8, 1.3]
    assert 130.0 < (find_rate_at_limit(rates, loads) or 0.0) < 140.0
