"""Audit `driver_late`: lateness that no queue explains is found, a queue's own is not."""

from __future__ import annotations

from typing import Any

import pytest
from audit_records import a_run, a_trial, only, recorded
from fakes import make_latency, make_phase

from dyno.record import Finding, Reading


def _judged(late_ns: float, served_ns: float, kind: str = "uniform", **changes: Any) -> Finding:
    """100 events a second for ten seconds, late by so much and then served for so long."""
    phase = make_phase(primary=("latency_ns_p99",))
    phase["streams"][0]["pace"] = {"kind": kind, "rate_per_s": 100.0}
    both = make_latency(late_ns + served_ns, 1000), make_latency(late_ns, 1000)
    tally: dict[str, Any] = {"done": 1000, "intended": 1000, "target_per_s": 100.0}
    tally |= {"latency": both[0], "lateness": both[1]}
    return only("driver_late", a_run(phase=phase), a_trial(3, "new", **(tally | changes)))


@pytest.mark.parametrize(
    ("late_ns", "served_ns", "soundness"),
    [
        (1e3, 1e6, "sound"),
        (0.8e6, 1e6, "sound"),
        (1.2e6, 1e6, "doubtful"),
        (20e6, 1e6, "invalid"),
    ],
)
def test_lateness_beside_a_free_connection_is_judged_by_its_length(
    late_ns: float, served_ns: float, soundness: str
) -> None:
    finding = _judged(late_ns, served_ns)
    assert finding.soundness == soundness
    if soundness != "sound":
        assert (finding.trials, finding.phase) == ((3,), "run")
        assert "though a user was free" in finding.sentence


def test_a_queue_behind_ones_own_connection_is_the_engines() -> None:
    """At 9 ms for each of 100 events a second one user is busy for 90 % and more of the time."""
    assert _judged(60e6, 9e6).soundness == "not checked"


def test_a_late_driver_with_free_connections_is_doubtful() -> None:
    assert _judged(60e6, 9e6, connections=64).soundness == "doubtful"


def test_a_burst_is_late_by_design() -> None:
    assert _judged(20e6, 1e6, kind="burst").soundness == "not checked"


@pytest.mark.parametrize(("percent", "soundness"), [(45.0, "sound"), (55.0, "doubtful")])
def test_a_driver_that_waits_half_of_the_time_for_a_core_is_doubtful(
    percent: float, soundness: str
) -> None:
    waited = Reading("client", "driver_waited_percent", "%", "lower", percent, False)
    trial = recorded(a_trial(3, "new"), readings=(waited,))
    finding = only("driver_late", a_run(), trial)
    assert finding.soundness == soundness and f"{percent:.0f} % of the time" in finding.sentence


@pytest.mark.parametrize(("held_up_s", "soundness"), [(0.05, "not checked"), (0.5, "doubtful")])
def test_users_who_waited_while_their_thread_connected_for_another_are_told(
    held_up_s: float, soundness: str
) -> None:
    trial = recorded(a_trial(3, "new"), held_up_ns=int(held_up_s * 1e9), held_up_ns_max=300_000_000)
    finding = only("driver_late", a_run(), trial)
    assert finding.soundness == soundness
    if soundness == "doubtful":
        assert "kept others of its thread waiting" in finding.sentence
        assert "0.3 s" in finding.sentence
