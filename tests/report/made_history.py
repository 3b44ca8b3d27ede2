"""Histories made of numbers, for tests of their page."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from dyno.record import (
    FlaggedChange,
    FreshComparison,
    History,
    HistoryPoint,
    HistorySeries,
    LeftOutRun,
    Metric,
)

RATE = Metric("insert", "l.i0", "insert", "rate_per_s", "row/s", "higher")
P99 = Metric("insert", "l.i0", "insert", "latency_ns_p99", "ns", "lower")


def make_points(values: Sequence[float], name: str = "null") -> tuple[HistoryPoint, ...]:
    """A build a night; the last of them had one restart only, hence no interval."""
    points = [
        HistoryPoint(
            run=f"202601{day:02}-{name}",
            began_utc=f"2026-01-{day:02}T00:00:00Z",
            candidate=f"{name}@1.{day}",
            version=f"1.{day}",
            build={"version": f"1.{day}"},
            restarts=3,
            value=value,
            low=0.99 * value,
            high=1.01 * value,
        )
        for day, value in enumerate(values, 1)
    ]
    *most, last = points
    alone = HistoryPoint(**{**structs.asdict(last), "restarts": 1, "low": None, "high": None})
    return (*most, alone)


def make_flagged(at: int, slowdown: float, trial: FreshComparison | None = None) -> FlaggedChange:
    """A change of that size, one percent to either side."""
    command = "dyno compare a b -w insert"
    return FlaggedChange(
        at, at, at, slowdown, slowdown - 1, slowdown + 1, 0.002, True, command, trial=trial
    )


def make_history(name: str = "null") -> History:
    """A rate with a confirmed slowdown and an untried speed-up, a quiet p99, a short one of another
    host, and a run that gave nothing.
    """
    alike = {"option threads": "4", "host's cpu": "two of them"}
    tried = FreshComparison("20260120-fresh", "slower", 4.5, 6.1)
    changed = (make_flagged(4, 5.0, tried), make_flagged(8, -8.0))
    values = [1e4] * 4 + [9.5e3] * 4 + [1.03e4] * 4
    rates = HistorySeries(
        RATE, "null", alike, make_points(values, name), True, (1e4, 9.5e3, 1.03e4), changed
    )
    quiet = HistorySeries(
        P99,
        "null",
        alike,
        make_points([2e6] * 12),
        True,
        (2e6,),
        cut=("driver was 'a' and is 'b'",),
    )
    other = alike | {"host's cpu": "four of them"}
    short = HistorySeries(RATE, "null", other, make_points([1e4] * 3), False, (1e4,))
    lost = LeftOutRun("20260119-torn", "no valid block of insert")
    return History(0.01, 10, (rates, quiet, short), (lost,))
