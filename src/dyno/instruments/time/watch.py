"""What a run reports while it plays: small facts, in the order in which they happen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dyno.driver import StreamProgress
from dyno.record import Run, Trial


@dataclass(frozen=True)
class RunStarted:
    """A run begins, or goes on: `played` blocks are already there. `folder` None: not kept."""

    run: Run
    folder: Path | None
    played: int


@dataclass(frozen=True)
class TrialStarted:
    """A trial begins; `number` is its file's, `place` its place among the `of` of its block.

    `block` counts from 0 and is -1 for the client-only baseline.
    """

    block: int
    attempt: int
    workload: str
    candidate: str
    number: int
    place: int
    of: int


@dataclass(frozen=True)
class PhaseStarted:
    """A phase was told to go; `expected_s` is the script's guess, 0 where it made none."""

    phase: str
    expected_s: float


@dataclass(frozen=True)
class Progressed:
    """Once a second while a phase plays."""

    phase: str
    elapsed_s: float
    streams: tuple[StreamProgress, ...]


@dataclass(frozen=True)
class Printed:
    """What the script, or a program that it started, wrote meanwhile; of much only the end."""

    text: str


@dataclass(frozen=True)
class PhaseEnded:
    """A phase is over; the driver waits to be told to go on."""

    phase: str


@dataclass(frozen=True)
class TrialEnded:
    """A trial is over and written down, whatever its status."""

    trial: Trial


@dataclass(frozen=True)
class BlockDropped:
    """A block counts for nothing: it broke a noise limit, somebody stood still in it, or a trial
    failed in it for good.
    """

    block: int
    reason: str


@dataclass(frozen=True)
class BlockJudged:
    """Where the run stands after a block: `blocks` are to be valid before the next interim
    analysis.

    `valid` counts them so far, by workload; `state` and `sentence` are the judge's
    (`judge.InterimResult`).
    """

    blocks: int
    valid: dict[str, int]
    state: str
    sentence: str


@dataclass(frozen=True)
class LengthLearnt:
    """A run takes longer than foretold, or as long as it may; `sentence` says it."""

    sentence: str


@dataclass(frozen=True)
class RunEnded:
    """Nothing is left to play; `reason` says why in words."""

    reason: str


Event = (
    RunStarted
    | TrialStarted
    | PhaseStarted
    | Progressed
    | Printed
    | PhaseEnded
    | TrialEnded
    | BlockDropped
    | BlockJudged
    | LengthLearnt
    | RunEnded
)

__all__ = [
    "BlockDropped",
    "BlockJudged",
    "Event",
    "LengthLearnt",
    "PhaseEnded",
    "PhaseStarted",
    "Printed",
    "Progressed",
    "RunEnded",
    "RunStarted",
    "StreamProgress",
    "TrialEnded",
    "TrialStarted",
    "Watch",
]

#: Told everything while a run plays; the CLI draws it.
Watch = Callable[[Event], None]
