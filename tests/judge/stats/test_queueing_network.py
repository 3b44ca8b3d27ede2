"""The network against a simulation of it, and where its answer is known."""

from __future__ import annotations

import math

import pytest
from scale_simulation import Simulation

from dyno.judge.stats.queueing_network import Cores, Demand, estimate_held_ns, solve

C = 100_000.0
#: Demands, cores and users.
CASES = {
    "delays": (Demand(C, delay_ns=2 * C), 4, 8),
    "a lock, few users": (Demand(C, {"a": 0.1 * C}), 8, 8),
    "a lock that fills": (Demand(C, {"a": 0.1 * C}), 16, 32),
    "a long lock on two cores": (Demand(C, {"a": 0.3 * C}), 2, 4),
    "two locks": (Demand(C, {"a": 0.1 * C, "b": 0.15 * C}), 4, 16),
    "a lock and delays": (Demand(C, {"a": 0.1 * C}, delay_ns=C), 8, 32),
    "a line": (Demand(C, transfers={"l": 8}), 8, 16),
    "a line that fills": (Demand(C, transfers={"l": 8}), 16, 64),
    "two lines": (Demand(C, transfers={"l": 4, "k": 8}), 24, 48),
    "a lock and a line": (Demand(C, {"a": 0.05 * C}, transfers={"l": 8}), 16, 32),
    "few who sync": (Demand(C, syncs=1, sync_ns=5 * C), 2, 4),
    "many who sync": (Demand(C, syncs=1, sync_ns=5 * C), 4, 32),
    "short syncs": (Demand(C, syncs=1, sync_ns=C), 4, 8),
    "a lock and syncs": (Demand(C, {"a": 0.1 * C}, syncs=1, sync_ns=10 * C), 8, 64),
    "all": (
        Demand(C, {"a": 0.1 * C}, transfers={"l": 8}, delay_ns=C, syncs=1, sync_ns=2 * C),
        8,
        48,
    ),
    "a granted lock, two users": (Demand(C, {"a": 0.3 * C}, granted=frozenset("a")), 2, 2),
    "a granted lock, many users": (Demand(C, {"a": 0.1 * C}, granted=frozenset("a")), 4, 16),
    "a granted lock and a plain one": (
        Demand(C, {"a": 0.1 * C, "b": 0.1 * C}, granted=frozenset("a"), delay_ns=C),
        8,
        32,
    ),
}
#: How long one sleeps on after it was woken.
WAKEUP_NS = 0.2 * C


@pytest.mark.parametrize("name", CASES)
def test_the_network_is_within_5_percent_of_its_simulation(name: str) -> None:
    demand, cores, users = CASES[name]
    machine = Cores(cores, transfer_ns=1500.0, wakeup_ns=WAKEUP_NS)
    rate, idle = Simulation(demand, machine, users, seed=1).run(4000)
    found = solve(demand, machine, users)
    assert found.rate == pytest.approx(rate, rel=0.05)
    assert found.idle == pytest.approx(idle, abs=0.05)


@pytest.mark.parametrize("users", [1, 7, 300])
def test_one_core_does_one_operation_after_the_other(users: int) -> None:
    demand = Demand(C, {"a": 0.2 * C}, transfers={"l": 8})
    assert solve(demand, Cores(1, 100.0), users).rate == pytest.approx(1 / C)


def test_a_lock_alone_lets_one_through_at_a_time() -> None:
    found = solve(Demand(C, {"a": 0.25 * C}), Cores(192), 400)
    assert found.rate == pytest.approx(1 / (0.25 * C))
    assert found.used["a"] == pytest.approx(1.0)
    assert found.idle == pytest.approx(1 - 4 / 192, abs=0.01)


def test_a_granted_lock_costs_a_wake_up_when_anybody_waits() -> None:
    demand = Demand(C, {"a": 0.25 * C}, granted=frozenset("a"))
    machine = Cores(192, wakeup_ns=C)
    found = solve(demand, machine, 400)
    assert found.rate == pytest.approx(1 / (1.25 * C))
    assert found.used["a"] == pytest.approx(1.0)
    assert solve(demand, machine, 1).rate == pytest.approx(1 / C)


def test_with_cores_for_all_a_user_waits_for_nobody() -> None:
    found = solve(Demand(C, delay_ns=3 * C), Cores(64), 64)
    assert found.rate == pytest.approx(64 / (4 * C), rel=1e-3)


def test_no_more_than_amdahls_law_allows() -> None:
    """A serial share of 10 % on many cores."""
    for cores in (2, 4, 8, 16, 64):
        rate = solve(Demand(C, {"a": 0.1 * C}), Cores(cores), 8 * cores).rate
        assert rate * C <= min(cores, 10) * (1 + 1e-9)


def test_two_sockets_may_be_worse_than_one() -> None:
    demand = Demand(C, transfers={"l": 100})
    one, two = (
        solve(demand, Cores(cores, 50.0, far_ns=150.0, near_cores=24), 8 * cores).rate
        for cores in (24, 48)
    )
    assert two < 0.6 * one


def test_a_lock_moves_with_its_holder() -> None:
    demand = Demand(C, {"a": 0.0}, acquired={"a": 10.0})
    assert solve(demand, Cores(1, 100.0), 8).used["a"] == 0.0
    many = solve(demand, Cores(192, 100.0), 800)
    assert many.rate == pytest.approx(1 / (10 * 100 * 191 / 192), rel=0.01)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.4])
def test_what_is_held_is_inferred_from_what_is_waited(share: float) -> None:
    plain, machine = Demand(C), Cores(2, 80.0)
    held = Demand(C, {"it": share * C}, acquired={"it": 2.0})
    found = solve(held, machine, 4)
    waited_ns = found.blocked / found.rate
    assert estimate_held_ns(waited_ns, plain, machine, 4, 2.0) == pytest.approx(share * C, rel=0.01)
    assert estimate_held_ns(0.0, plain, machine, 4, 2.0) == 0.0
    assert estimate_held_ns(math.inf, plain, machine, 4, 2.0) == pytest.approx(C, rel=0.01)
