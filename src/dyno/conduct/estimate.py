"""What a run will cost and what it can detect, before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from dyno.conduct.prepared import Prepared


@dataclass(frozen=True)
class Forecast:
    """`expected_s` ends at the first look, `worst_s` plays every block and replay.

    `detectable` maps a block sd in percent (1, 2, 5) to the smallest slowdown, in percent, that
    the last look finds in four runs of five.
    """

    expected_s: float
    worst_s: float
    disk_bytes: int
    blocks_expected: int
    blocks_worst: int
    detectable: dict[float, float]


def forecast(prepared: Prepared) -> Forecast:
    """How long `prepared` will play, how much disk it needs, and what it can detect."""
    raise NotImplementedError


def fit(prepared: Prepared, budget_s: float) -> Prepared:
    """`prepared` with as many blocks as end within `budget_s`; `UsageError` if none do."""
    raise NotImplementedError
