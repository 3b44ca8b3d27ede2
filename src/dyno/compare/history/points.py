"""Points of a history: what a run's restarts of one build say of one primary metric.

A point is a build in a run, not a restart: the restarts of a run share its hour, and would count
as many independent data where there is one. What must be alike for two points to be comparable
stands in their `SeriesConditions`; the build does not, since it is what a history is about.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dyno.compare.run_folder import RunFolder
from dyno.judge.stats.interval import Floats
from dyno.record import Metric

Named = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SeriesConditions:
    """A metric of an engine, and all else that points of one series have alike, by name."""

    engine: str
    metric: Metric
    alike: Named


#: A build under its conditions.
Key = tuple[str, Named, Named]


@dataclass(frozen=True)
class Beside:
    """The base that a point was measured along with: what it is, and the mean of its logs."""

    key: Key
    value: float


@dataclass(frozen=True)
class PlayedWorkload:
    """How a point was measured, as far as the command needs it that plays it again: the workload's
    name and script, its options with the candidate's own, and the run's controls.
    """

    name: str
    script: str
    options: Named
    controls: Named


@dataclass(frozen=True)
class Point:
    """A build in a run; `logs` are those of the time that its restarts took, one for each.

    `spec` is as the user wrote the first candidate of the run with that build (an A/A comparison
    has two), `host` holds the facts of the host it was played on, of which points of a group have
    several. `beside` is the run's base in the same blocks; None where the point is that itself, or
    it has no number.
    """

    source: RunFolder = field(repr=False)
    began_utc: str
    spec: str
    build: Named
    conditions: SeriesConditions
    played: PlayedWorkload = field(repr=False)
    logs: Floats
    host: Named = ()
    beside: Beside | None = None

    @property
    def key(self) -> Key:
        """The build under its conditions."""
        return self.conditions.engine, self.build, self.conditions.alike

    @property
    def folder(self) -> str:
        """The name of the run's folder."""
        return self.source.path.name

    @property
    def version(self) -> str:
        """The build's version, as its engine calls it."""
        return dict(self.build).get("version", "")

    @property
    def value(self) -> float:
        """The mean of the logs: of restarts of one run, so one datum."""
        return float(self.logs.mean())
