"""What a survey saw of the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Mark = Literal["good", "fair", "poor", "unknown"]


@dataclass(frozen=True)
class Observation:
    """What a survey saw of one thing of the host, and what that means for a measurement.

    `why` is one clause, `hint` what to do where the mark is not good (a command, or the control
    that holds it), `points` what the mark costs the host's score of 100.
    """

    name: str
    found: str
    mark: Mark
    why: str
    hint: str = ""
    points: int = 0


def host_score(survey: Sequence[Observation]) -> int:
    """A hundred, less what each observation costs; never below 0."""
    return max(0, 100 - sum(observation.points for observation in survey))
