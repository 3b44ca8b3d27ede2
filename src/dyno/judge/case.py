"""What the judge knows beside the lines: run, looks, what condemns; a line with its interval."""

from __future__ import annotations

from dataclasses import dataclass

from dyno.judge.lines import Line
from dyno.record import Run
from dyno.stats.interval import Interval
from dyno.stats.looks import Looks


@dataclass(frozen=True)
class Case:
    """What is the same for all comparisons of a run.

    `primaries` counts those declared, measured or not; `invalid` maps (workload, candidate, phase)
    to the finding that condemns it, with "" for all phases; `dropped` the blocks lost to noise, by
    workload.
    """

    run: Run
    primaries: int
    invalid: dict[tuple[str, str, str], str]
    dropped: dict[str, int]

    @property
    def looks(self) -> Looks:
        """When the data are looked at."""
        return Looks(self.run.design.looks, self.run.design.alpha)

    def condemned(self, line: Line) -> str:
        """The finding that makes `line` invalid, by one of its sides; else empty."""
        sides, phases = line.effect.cells, ("", line.metric.phase)
        places = [(line.metric.workload, side, phase) for side in sides for phase in phases]
        found = (self.invalid.get(place, "") for place in places)
        return next((sentence for sentence in found if sentence), "")


@dataclass(frozen=True)
class Seen:
    """A line with its interval; `p` counts all looks and all comparisons of its family."""

    line: Line
    interval: Interval
    p: float
