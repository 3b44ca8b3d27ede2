"""The index of a home's runs: what a history needs of each, as one Parquet file, made and read by
DuckDB.

It is derived, and made anew from the records where it is missing, stale or damaged. Its metadata
hold a SHA-256 of the file, so that no flipped bit is taken for a number, and one of the sources
that made it: another Dyno may judge otherwise. Anybody may read it with DuckDB; a row is a point,
or a run without one, or a finished analysis of a series.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import dyno
from dyno import scratch
from dyno.compare.history.homes import ForeignFile
from dyno.compare.history.points import (
    Beside,
    Named,
    PlayedWorkload,
    Point,
    ReadRun,
    RunSource,
    SeriesConditions,
)
from dyno.record import Metric

#: What makes what the index holds: records, their judging, conditions.
SOURCES = ("record", "judge", "host/controls", "runs/run_folder.py", "compare/history")
#: The name of the sum in the metadata, and what stands for it while it is computed.
SUM = b"dyno-history-sha256:"
BLANK = b"0" * 64
#: What every Parquet file begins and ends with.
PARQUET = b"PAR1"
#: Columns by name, and their types.
COLUMNS = {
    "path": "VARCHAR",
    "stamp": "VARCHAR",
    "identity": "VARCHAR",
    "played_bytes": "BIGINT",
    "unreadable": "VARCHAR",
    "losses": "VARCHAR",
    "began_utc": "VARCHAR",
    "spec": "VARCHAR",
    "build": "VARCHAR",
    "engine": "VARCHAR",
    "metric": "VARCHAR",
    "alike": "VARCHAR",
    "played": "VARCHAR",
    "restarts": "INTEGER",
    "value": "DOUBLE",
    "low": "DOUBLE",
    "high": "DOUBLE",
    "host": "VARCHAR",
    "base_engine": "VARCHAR",
    "base_build": "VARCHAR",
    "base_alike": "VARCHAR",
    "base_value": "DOUBLE",
    "series": "VARCHAR",
    "analysis": "VARCHAR",
}


class DamagedIndex(Exception):
    """An index of ours that is not whole."""


class OutdatedIndex(Exception):
    """An index that another Dyno made."""


@dataclass
class HistoryIndex:
    """The runs by path, and finished analyses by the digest of all that they depend on."""

    runs: dict[str, ReadRun] = field(default_factory=dict)
    analyses: dict[str, str] = field(default_factory=dict)


def is_available() -> bool:
    """Is DuckDB installed?"""
    from importlib.util import find_spec

    return find_spec("duckdb") is not None


@cache
def compute_sources_sha256() -> str:
    """A sum of the sources that decide what an index holds."""
    package = Path(dyno.__file__).parent
    files = [
        file
        for name in SOURCES
        for place in [package / name]
        for file in ([place] if place.is_file() else sorted(place.rglob("*.py")))
    ]
    whole = sha256()
    for file in files:
        whole.update(str(file.relative_to(package)).encode() + b"\0" + file.read_bytes())
    return whole.hexdigest()


def encode_index(index: HistoryIndex) -> bytes:
    """The file's bytes; `OSError` where DuckDB cannot make it (of names that are no Unicode)."""
    import duckdb

    with scratch.make_folder("history") as folder:
        rows = folder / "rows.json"
        with rows.open("w") as out:
            for row in _list_rows(index):
                out.write(json.dumps(row) + "\n")
        made = folder / "index.parquet"
        names = ", ".join(f"{name}: '{kind}'" for name, kind in COLUMNS.items())
        with _refuse_as_os_error(duckdb.Error), duckdb.connect() as connection:
            connection.execute(
                f"COPY (SELECT * FROM read_json('{rows}', format = 'newline_delimited',"
                f" maximum_object_size = {1 << 28}, columns = {{{names}}}))"
                f" TO '{made}' (FORMAT parquet, COMPRESSION zstd, KV_METADATA {{"
                f"dyno_sum: '{(SUM + BLANK).decode()}', dyno_sources: '{compute_sources_sha256()}'"
                "})"
            )
        content = made.read_bytes()
    return content.replace(SUM + BLANK, SUM + sha256(content).hexdigest().encode())


@contextmanager
def _refuse_as_os_error(kind: type[Exception]) -> Iterator[None]:
    try:
        yield
    except kind as error:
        raise OSError(str(error)) from error


def decode_index(content: bytes, locate: Callable[[str], str]) -> HistoryIndex:
    """The index in a file's bytes; `locate` tells where a path of its home lies.

    Raises `DamagedIndex`, `OutdatedIndex`, and `ForeignFile` for what Dyno has not written.
    """
    import duckdb

    _check_sum(content)
    handle = os.memfd_create("dyno-history")
    try:
        with open(handle, "wb", closefd=False) as out:
            out.write(content)
        place = f"/proc/self/fd/{handle}"
        with duckdb.connect() as connection:
            query = f"SELECT decode(value) FROM parquet_kv_metadata('{place}') WHERE key = ?"
            ((made_by,),) = connection.execute(query, [b"dyno_sources"]).fetchall()
            if made_by != compute_sources_sha256():
                raise OutdatedIndex
            names = ", ".join(COLUMNS)
            rows = connection.execute(f"SELECT {names} FROM read_parquet('{place}')").fetchall()
        return _read_rows(rows, locate)
    except (duckdb.Error, ValueError, TypeError, KeyError) as error:
        raise DamagedIndex(str(error)) from error
    finally:
        os.close(handle)


def _check_sum(content: bytes) -> None:
    found = re.findall(SUM + rb"([0-9a-f]{64})", content)
    if len(found) != 1:
        is_whole = len(content) > 2 * len(PARQUET) and content.endswith(PARQUET)
        is_ours = any(mark in content for mark in (SUM, b"dyno_sum", b"dyno_sources"))
        if is_ours or (content.startswith(PARQUET) and not is_whole):
            raise DamagedIndex("it is not whole")
        raise ForeignFile("is no index of Dyno")
    if sha256(content.replace(SUM + found[0], SUM + BLANK)).hexdigest().encode() != found[0]:
        raise DamagedIndex("its sum is another one")


def _list_rows(index: HistoryIndex) -> Iterator[dict[str, Any]]:
    for run in index.runs.values():
        own = {
            "path": run.path,
            "stamp": run.stamp,
            "identity": run.identity,
            "played_bytes": run.played_bytes,
            "unreadable": run.unreadable,
            "losses": json.dumps(run.losses),
        }
        for point in run.points:
            yield own | _encode_point(point)
        if not run.points:
            yield own
    for key, analysis in index.analyses.items():
        yield {"series": key, "analysis": analysis}


def _encode_point(point: Point) -> dict[str, Any]:
    played, conditions, beside = point.played, point.conditions, point.beside
    metric = conditions.metric
    row = {
        "began_utc": point.began_utc,
        "spec": point.spec,
        "build": json.dumps(point.build),
        "engine": conditions.engine,
        "metric": json.dumps(
            [
                metric.workload,
                metric.phase,
                metric.transaction,
                metric.name,
                metric.unit,
                metric.better,
            ]
        ),
        "alike": json.dumps(conditions.alike),
        "played": json.dumps([played.name, played.script, played.options, played.controls]),
        "restarts": point.restarts,
        "value": point.value,
        "low": point.low,
        "high": point.high,
        "host": json.dumps(point.host),
    }
    if beside:
        engine, build, alike = beside.key
        row |= {
            "base_engine": engine,
            "base_build": json.dumps(build),
            "base_alike": json.dumps(alike),
            "base_value": beside.value,
        }
    return row


def _read_rows(rows: list[tuple[Any, ...]], locate: Callable[[str], str]) -> HistoryIndex:
    index = HistoryIndex()
    points: dict[str, list[Point]] = {}
    texts = _Texts()
    source = RunSource("", "", "")
    for row in rows:
        path, stamp, identity, played_bytes, unreadable, losses, *columns, series, analysis = row
        if series is not None:
            index.analyses[series] = analysis
            continue
        if path not in index.runs:
            told = texts.read_words(losses)
            index.runs[path] = ReadRun(path, stamp, identity, played_bytes, unreadable, told)
            place = locate(path)
            source = RunSource(place, place.rpartition("/")[2], stamp)
        if columns[0] is not None:
            points.setdefault(path, []).append(texts.decode_point(source, columns))
    for path, own in points.items():
        run = index.runs[path]
        index.runs[path] = ReadRun(
            path, run.stamp, run.identity, run.played_bytes, run.unreadable, run.losses, tuple(own)
        )
    return index


class _Texts:
    """Reads texts of JSON, each once: builds and conditions are few, and points many."""

    def __init__(self) -> None:
        self._named: dict[str, Named] = {}
        self._words: dict[str, tuple[str, ...]] = {}
        self._played: dict[str, PlayedWorkload] = {}
        self._conditions: dict[tuple[str, str, str], SeriesConditions] = {}

    def read_words(self, text: str) -> tuple[str, ...]:
        """A list of words."""
        if text not in self._words:
            self._words[text] = tuple(json.loads(text))
        return self._words[text]

    def read_named(self, text: str) -> Named:
        """Pairs of words."""
        if text not in self._named:
            self._named[text] = _pair(json.loads(text))
        return self._named[text]

    def decode_point(self, source: RunSource, columns: list[Any]) -> Point:
        """A row's point."""
        (began, spec, build, engine, metric, alike, played, restarts, value, low, high, host) = (
            columns[:12]
        )
        base_engine, base_build, base_alike, base_value = columns[12:]
        beside = None
        if base_value is not None:
            key = (base_engine, self.read_named(base_build), self.read_named(base_alike))
            beside = Beside(key, base_value)
        return Point(
            source,
            began,
            spec,
            self.read_named(build),
            self._read_conditions((engine, metric, alike)),
            self._read_played(played),
            restarts,
            value,
            low,
            high,
            self.read_named(host),
            beside,
        )

    def _read_conditions(self, texts: tuple[str, str, str]) -> SeriesConditions:
        if texts not in self._conditions:
            engine, metric, alike = texts
            found = SeriesConditions(engine, Metric(*json.loads(metric)), self.read_named(alike))
            self._conditions[texts] = found
        return self._conditions[texts]

    def _read_played(self, text: str) -> PlayedWorkload:
        if text not in self._played:
            name, script, options, controls = json.loads(text)
            self._played[text] = PlayedWorkload(name, script, _pair(options), _pair(controls))
        return self._played[text]


def _pair(listed: list[list[str]]) -> Named:
    return tuple((name, value) for name, value in listed)
