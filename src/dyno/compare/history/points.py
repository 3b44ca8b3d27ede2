"""Points of a history: what a run's restarts of one build say of one primary metric.

A point is a build in a run, not a restart: the restarts of a run share its hour, and would count
as many independent data where there is one. What must be alike for two points to be comparable
stands in their `SeriesConditions`; the build does not, since it is what a history is about.

A run keeps its points in `points.json`, which is written with its verdict. It is derived: where it
is missing or damaged, where the records have changed since, or another Dyno made it, whoever wants
the points reads the records. What many points share is decoded once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Raw

from dyno.builds import cache
from dyno.record import HistoryPoint, Metric, decode
from dyno.record.schema import Finite, Record

#: What decides how points come out: records, their judging, conditions.
SOURCES = (
    "record",
    "judge",
    "host/controls",
    "instruments",
    "runs/run_folder.py",
    "compare/history",
)

Named = tuple[tuple[str, str], ...]


class SeriesConditions(Record):
    """A metric of an engine, and all else that points of one series have alike, by name."""

    engine: str
    metric: Metric
    alike: Named


#: A build under its conditions.
Key = tuple[str, Named, Named]


class Beside(Record):
    """The base that a point was measured along with: what it is, and the mean of its logs."""

    key: Key
    value: Finite


class PlayedWorkload(Record):
    """How a point was measured, as far as the command needs it that plays it again: the workload's
    name and script, its options with the candidate's own, and the run's controls; the command, and
    its own options (`words`).
    """

    name: str
    script: str
    options: Named
    controls: Named
    command: str = "compare"
    words: tuple[str, ...] = ()


class ExactRepeats(Record):
    """What an exact instrument gave in each repetition, of so many inputs, and its margin."""

    repeats: tuple[Finite, ...]
    inputs: int
    margin_percent: Finite


class RunSource(Record):
    """The run that a point is of: where it lies, its folder's name, the stamp of its records."""

    place: str
    name: str
    stamp: str


class Point(Record):
    """A build in a run. `value` is the mean of the logs of the time that its `restarts` took: of
    restarts of one run, so one datum; `low` and `high` are the 95 % t interval of it, None where
    there was one restart.

    `spec` is as the user wrote the first candidate of the run with that build (an A/A comparison
    has two), `origin` says where the build is from. `host` holds the facts of the host it was
    played on, of which points of a group have several, and what the pilot chose. `beside` is the
    run's base in the same blocks; None where the point is that itself, or it has no number. Where
    it is `exact`, a lone step is judged by its repetitions, and no series is searched.
    """

    source: RunSource
    began_utc: str
    spec: str
    build: Named
    conditions: SeriesConditions
    played: PlayedWorkload
    restarts: int
    value: Finite
    low: Finite | None
    high: Finite | None
    host: Named = ()
    beside: Beside | None = None
    exact: ExactRepeats | None = None
    origin: Named = ()

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

    @property
    def committed(self) -> str:
        """When its commit was made (UTC), empty where that is not known."""
        return dict(self.origin).get("committed", "")


class ReadRun(Record):
    """What a history needs of one run, whose path is below its home.

    `stamp` tells whether the records are those that were read, `sizes` the same wherever they were
    copied to. `identity` is the same for copies of a run; of these the one of most `played_bytes`
    counts. `unreadable` says why nothing can be told of it, `losses` what of it is in no series,
    and why.
    """

    path: str
    stamp: str
    sizes: str = ""
    identity: str = ""
    played_bytes: int = 0
    unreadable: str = ""
    losses: tuple[str, ...] = ()
    points: tuple[Point, ...] = ()


def write_sizes(run_bytes: int, played: Sequence[int]) -> str:
    """The sizes of a run's records, by which they are known wherever they were copied to."""
    return f"{run_bytes} bytes, {len(played)} trials of {sum(played)} bytes"


def encode_run(run: ReadRun) -> bytes:
    """The content of `points.json`."""
    told = decode.encode(run)
    for row in told["points"]:
        del row["source"]
    del told["path"], told["unreadable"]
    return json.dumps({"sources_sha256": cache.compute_sources_sha256(*SOURCES)} | told).encode()


class _Base(Record):
    key: Raw
    value: Finite


class _Row(Record):
    """A point in its file: what others may share is left as it stands there."""

    began_utc: str
    spec: str
    build: Raw
    conditions: Raw
    played: Raw
    restarts: int
    value: Finite
    low: Finite | None
    high: Finite | None
    host: Raw
    beside: _Base | None
    exact: ExactRepeats | None
    origin: Raw


class _PointsFile(Record):
    sources_sha256: str
    stamp: str
    sizes: str
    identity: str
    played_bytes: int
    losses: tuple[str, ...]
    points: list[_Row]


def build_history_point(point: Point, value: float) -> HistoryPoint:
    """Return the point as a history has it, with `value` in the metric's unit and no interval."""
    return HistoryPoint(
        run=point.folder,
        began_utc=point.began_utc,
        candidate=point.spec,
        version=point.version,
        build=dict((*point.build, *point.origin)),
        restarts=point.restarts,
        value=value,
        low=None,
        high=None,
        path=point.source.place,
    )


class PointsReader:
    """Reads files of points. What is written alike is decoded once and is one object: builds and
    conditions are few, and points many.
    """

    def __init__(self) -> None:
        self._decoded: dict[tuple[str, bytes], Any] = {}

    def decode_run(self, content: bytes, source: RunSource, path: str) -> ReadRun | None:
        """The run of a file's bytes; None where its records are others than those at `source`,
        another Dyno made it, or it is none of ours.
        """
        told = decode.decode_quickly(_PointsFile, content)
        if not told or told.sources_sha256 != cache.compute_sources_sha256(*SOURCES):
            return None
        if source.stamp not in (told.stamp, told.sizes):
            return None
        try:
            points = tuple(self._read_point(source, row) for row in told.points)
        except ValueError:
            return None
        return ReadRun(
            path=path,
            stamp=source.stamp,
            sizes=told.sizes,
            identity=told.identity,
            played_bytes=told.played_bytes,
            losses=told.losses,
            points=points,
        )

    def _read_point(self, source: RunSource, row: _Row) -> Point:
        base = row.beside
        return Point(
            source=source,
            began_utc=row.began_utc,
            spec=row.spec,
            build=self._decode("build", row.build),
            conditions=self._decode("conditions", row.conditions),
            played=self._decode("played", row.played),
            restarts=row.restarts,
            value=row.value,
            low=row.low,
            high=row.high,
            host=self._decode("host", row.host),
            beside=Beside(self._decode("key", base.key), base.value) if base else None,
            exact=row.exact,
            origin=self._decode("origin", row.origin),
        )

    def _decode(self, name: str, text: Raw) -> Any:
        key = name, bytes(text)
        if key not in self._decoded:
            found = decode.decode_quickly(_SHARED[name], key[1])
            if found is None:
                raise ValueError(f"{name} is not as it was written")
            self._decoded[key] = found
        return self._decoded[key]


#: What points share.
_SHARED: dict[str, Any] = {
    "build": Named,
    "host": Named,
    "origin": Named,
    "conditions": SeriesConditions,
    "played": PlayedWorkload,
    "key": Key,
}
