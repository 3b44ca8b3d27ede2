"""Points of a history: what a run's restarts of one build say of one primary metric.

A point is a build in a run, not a restart: the restarts of a run share its hour, and would count
as many independent data where there is one. What must be alike for two points to be comparable
stands in their `SeriesConditions`; the build does not, since it is what a history is about.
"""

from __future__ import annotations

from dataclasses import dataclass, field

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
class RunSource:
    """The run that a point is of: where it lies, its folder's name, the stamp of its records."""

    place: str
    name: str
    stamp: str


@dataclass(frozen=True)
class Point:
    """A build in a run. `value` is the mean of the logs of the time that its `restarts` took: of
    restarts of one run, so one datum; `low` and `high` are the 95 % t interval of it, None where
    there was one restart.

    `spec` is as the user wrote the first candidate of the run with that build (an A/A comparison
    has two), `host` holds the facts of the host it was played on, of which points of a group have
    several, and what the pilot chose. `beside` is the run's base in the same blocks; None where
    the point is that itself, or it has no number.
    """

    source: RunSource = field(repr=False)
    began_utc: str
    spec: str
    build: Named
    conditions: SeriesConditions
    played: PlayedWorkload = field(repr=False)
    restarts: int
    value: float
    low: float | None
    high: float | None
    host: Named = ()
    beside: Beside | None = None

    @property
    def key(self) -> Key:
        """The build under its conditions."""
        return self.conditions.engine, self.build, self.conditions.alike

    @property
    def folder(self) -> str:
        """The name of the run's folder."""
        return self.source.name

    @property
    def version(self) -> str:
        """The build's version, as its engine calls it."""
        return dict(self.build).get("version", "")


@dataclass(frozen=True)
class ReadRun:
    """What a history needs of one run, whose path is below its home.

    `identity` is the same for copies of a run; of these the one of most `played_bytes` counts.
    `unreadable` says why nothing can be told of it, `losses` what of it is in no series, and why.
    """

    path: str
    stamp: str
    identity: str = ""
    played_bytes: int = 0
    unreadable: str = ""
    losses: tuple[str, ...] = ()
    points: tuple[Point, ...] = ()
