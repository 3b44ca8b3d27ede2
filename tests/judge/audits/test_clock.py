"""Audit and probe `clock`: a clock that is set, bent or dear is found; ours here is none of it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from audit_records import CLEAN, a_run, a_trial, only, recorded, with_margin
from fakes import make_latency

from dyno.host.probes import ProbeTarget, clock
from dyno.record import Finding, Reading


def _judged(mean_ns: float = 1e6, **readings: float) -> Finding:
    read = tuple(Reading("clock", n, "ns", "lower", v, False) for n, v in readings.items())
    trial = a_trial(3, "new", latency=make_latency(mean_ns, 10_000))
    return only("clock", a_run(), *CLEAN[:2], recorded(trial, readings=read))


@pytest.mark.parametrize("step_ns", [2e6, -3.6e12])
def test_a_wall_clock_that_was_set_is_doubtful(step_ns: float) -> None:
    finding = _judged(realtime_step_ns=step_ns)
    assert (finding.soundness, finding.trials, finding.phase) == ("doubtful", (3,), "run")
    assert "the wall clock was set" in finding.sentence


@pytest.mark.parametrize(
    ("slew_ns", "soundness"),
    [(1e6, "sound"), (-1e6, "sound"), (9e6, "doubtful"), (-9e6, "doubtful"), (3e8, "invalid")],
)
def test_ten_seconds_may_be_bent_by_so_much(slew_ns: float, soundness: str) -> None:
    assert _judged(clock_slew_ns=slew_ns).soundness == soundness


@pytest.mark.parametrize(
    ("cost_ns", "mean_ns", "soundness"),
    [(60, 500, "sound"), (900, 1e6, "sound"), (900, 2e4, "doubtful")],
)
def test_a_clock_that_costs_much_of_an_event_is_doubtful(
    cost_ns: float, mean_ns: float, soundness: str
) -> None:
    finding = _judged(mean_ns, clock_read_ns=cost_ns)
    assert finding.soundness == soundness
    assert soundness == "sound" or "costs 900 ns" in finding.sentence


def test_the_probe_sees_a_step_and_nothing_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    watched = ProbeTarget(None, os.getpid(), tmp_path)
    before = clock.PROBE.sample(watched)
    after = clock.PROBE.sample(watched)
    assert abs(after["realtime_step_ns"] - before["realtime_step_ns"]) < 1e6
    assert abs(after["clock_slew_ns"] - before["clock_slew_ns"]) < 1e6
    assert 0 < after["clock_read_ns"] < 1e6
    real = time.clock_gettime_ns
    late = 5_000_000_000

    def set_forward(which: int) -> int:
        return real(which) + (late if which == time.CLOCK_REALTIME else 0)

    monkeypatch.setattr("time.clock_gettime_ns", set_forward)
    stepped = clock.PROBE.sample(watched)
    assert abs(stepped["realtime_step_ns"] - before["realtime_step_ns"] - late) < 1e6


@pytest.mark.parametrize(("margin_percent", "soundness"), [(1.0, "invalid"), (5.0, "doubtful")])
def test_what_may_be_bent_is_the_primarys_own_margin(margin_percent: float, soundness: str) -> None:
    slew_ns = {1.0: 1.5e8, 5.0: 3e8}[margin_percent]
    read = (Reading("clock", "clock_slew_ns", "ns", "lower", slew_ns, False),)
    run = with_margin(a_run(), margin_percent)
    finding = only("clock", run, *CLEAN[:2], recorded(a_trial(3, "new"), readings=read))
    assert finding.soundness == soundness
