"""A plan as data: what will be seen, how long it takes, how long a trial is best."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sight:
    """What one primary (or, where spreads are assumed, each of them) will see.

    Percentages: the sd of a block, MDE80, MDE80 with twice the blocks, the margin. `found` is the
    chance that a slowdown of the margin is called so, `cleared` that an equal build is.
    """

    primary: str
    sd_percent: float
    mde80_percent: float
    doubled_percent: float
    margin_percent: float
    found: float
    cleared: float


@dataclass(frozen=True)
class Length:
    """How long a phase is measured in each trial, how long would be best, what that saves."""

    phase: str
    seconds: float
    best_seconds: float
    time_saved: float


@dataclass(frozen=True)
class Planned:
    """A plan: `expected_s` if nothing differs, `full_s` if all of MAX is played, `worst_s` with
    every replay of blocks that noise spoils. `source` names the run that it is measured in; empty:
    assumed. `primaries` are candidates × primaries, which Holm runs over.
    """

    source: str
    looks: tuple[int, ...]
    block_s: float
    expected_s: float
    full_s: float
    worst_s: float
    primaries: int
    sights: tuple[Sight, ...]
    lengths: tuple[Length, ...]
