"""Probe `clock`: was the clock set, bent or slow while a phase played?

- `realtime_step_ns`: what CLOCK_REALTIME gained on CLOCK_MONOTONIC. Both are slewed alike, so it
  is 0 unless the clock was set (clock_settime(2), a leap second, ntpd's step).
- `clock_slew_ns`: what CLOCK_MONOTONIC gained on CLOCK_MONOTONIC_RAW, which is never adjusted.
- `suspended_ns`: what CLOCK_BOOTTIME gained on CLOCK_MONOTONIC, which stands still while the
  machine is suspended.
- `clock_read_ns`: what reading the clock costs, Python's call included: little where the clock
  source is read in user space (TSC, kvm-clock), far more where the kernel is asked.

Differences of clocks are taken from the closest of several readings, and are true to about 1 µs.
"""

from __future__ import annotations

import time

from dyno.host.probes import Measure, ProbeTarget

#: Readings, of which the closest counts: a thread may lose its core between two clocks.
TRIES = 9
READS = 100


class ClockProbe:
    """CLOCK_MONOTONIC beside the two other clocks, and the price of it."""

    summary = "steps of the wall clock, slewing, suspends, and what reading the clock costs"
    is_condition = True
    measures = (
        Measure("realtime_step_ns", "ns", "lower", per_operation=False),
        Measure("clock_slew_ns", "ns", "lower", per_operation=False),
        Measure("suspended_ns", "ns", "lower", per_operation=False),
        Measure("clock_read_ns", "ns", "lower", counter=False, per_operation=False),
    )

    def sample(self, watched: ProbeTarget) -> dict[str, float]:
        del watched
        return {
            "realtime_step_ns": float(_measure_offset_ns(time.CLOCK_REALTIME)),
            "clock_slew_ns": -float(_measure_offset_ns(time.CLOCK_MONOTONIC_RAW)),
            "suspended_ns": float(_measure_offset_ns(time.CLOCK_BOOTTIME)),
            "clock_read_ns": _measure_cost_ns(),
        }


def _measure_offset_ns(clock: int) -> int:
    """`clock` minus CLOCK_MONOTONIC, read between two readings of the latter."""
    found = []
    for _ in range(TRIES):
        before = time.monotonic_ns()
        other = time.clock_gettime_ns(clock)
        after = time.monotonic_ns()
        found.append((after - before, other - (before + after) // 2))
    return min(found)[1]


def _measure_cost_ns() -> float:
    best = READS * 1_000_000
    for _ in range(TRIES):
        began = time.perf_counter_ns()
        for _ in range(READS):
            time.monotonic_ns()
        best = min(best, time.perf_counter_ns() - began)
    return best / READS


PROBE = ClockProbe()
