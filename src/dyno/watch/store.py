"""A record on disk: a folder of segments, each a folder with one Parquet file per source.

A segment is written aside and renamed, so that one that can be seen is whole. `20261122T210300.5Z`
is what one flush wrote, a *part*; `20261122T21Z` the whole hour, which supersedes its parts. Each
hour begins with whole values, so that older ones can go. All times are UTC.
"""

from __future__ import annotations

import csv
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dyno.builds import Say
from dyno.engines import Ask, find_engine
from dyno.errors import UsageError
from dyno.plan import Session
from dyno.watch.changes import Recorded
from dyno.watch.source import Source

PART, HOUR = "%Y%m%dT%H%M%S.%fZ", "%Y%m%dT%HZ"
#: How a time stands in a record.
TIME = "%Y-%m-%d %H:%M:%S.%f"
ASIDE = ".aside"
#: What says whose record a folder is.
ABOUT = "server.json"
#: Each sample: when, whether all was written anew, whether the server had restarted, what it cost.
SAMPLES = Source(
    "samples", (), values=("ANEW", "RESTARTED", "UP_S", "TOOK_US"), words=("SERVER",), sampled=True
)
_READ = (
    "read_csv('{}', header = false, auto_detect = false, delim = ',', quote = '\"',"
    " escape = '\"', nullstr = '\\N', allow_quoted_nulls = false, columns = {{{}}})"
)


@dataclass(frozen=True)
class Segment:
    """A folder that is whole: its name's time, and how long it is of."""

    folder: Path
    begins: datetime
    is_hour: bool

    @property
    def hour(self) -> datetime:
        """The hour that it belongs to."""
        return self.begins.replace(minute=0, second=0, microsecond=0)

    @property
    def size_bytes(self) -> int:
        """What its files take."""
        return sum(path.stat().st_size for path in self.folder.iterdir())


def segments(folder: Path) -> list[Segment]:
    """Every segment that counts, in time's order: parts only of hours that are not whole."""
    found = [segment for path in folder.iterdir() if (segment := _segment(path))]
    whole = {each.begins for each in found if each.is_hour}
    kept = [each for each in found if each.is_hour or each.hour not in whole]
    return sorted(kept, key=lambda each: each.begins)


def _segment(path: Path) -> Segment | None:
    for form, is_hour in ((PART, False), (HOUR, True)):
        try:
            begins = datetime.strptime(path.name, form).replace(tzinfo=UTC)
        except ValueError:
            continue
        return Segment(path, begins, is_hour)
    return None


def library(ask: Ask, say: Say) -> Session:
    """A session on a DuckDB in memory, its library fetched where it is not there."""
    engine = find_engine("duckdb", ask)
    build = engine.program("", {}, say)
    found = engine.start(build, Path("/"), {}).session
    return {**found, "database": ":memory:"}


class Store:
    """A folder that is written to, by one at a time (`opened`)."""

    def __init__(self, folder: Path, ask: Ask, duckdb: Session) -> None:
        self.folder = folder
        self._ask, self._duckdb = ask, duckdb

    def write(self, rows: Mapping[Source, Sequence[Recorded]], begins: datetime) -> None:
        """A part with these rows, which may be seen once it is whole."""
        aside = self.folder / ASIDE
        _clear(aside)
        aside.mkdir()
        told = {source: found for source, found in rows.items() if found}
        statements = []
        for source, found in told.items():
            path = aside / f"{source.name}.csv"
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerows([["\\N" if it is None else it for it in row] for row in found])
            columns = ", ".join(f"'{name}': '{kind}'" for name, kind in source.types())
            statements.append(_copy(source, _READ.format(path, columns), aside))
        self._ask(self._duckdb, statements)
        for source in told:
            (aside / f"{source.name}.csv").unlink()
        _place(aside, self.folder / begins.strftime(PART))

    def merge(self, before: datetime, sources: Mapping[str, Source]) -> None:
        """Makes whole hours of all parts of hours before this one.

        Parts stay beside their hour until the next time: somebody may be reading them.
        """
        for part in self._superseded():
            shutil.rmtree(part.folder)
        parts = [it for it in segments(self.folder) if not it.is_hour and it.hour < before]
        for hour in sorted({part.hour for part in parts}):
            self._merge([part for part in parts if part.hour == hour], sources)

    def _superseded(self) -> list[Segment]:
        """Parts that stand beside their hour."""
        found = [segment for path in self.folder.iterdir() if (segment := _segment(path))]
        return [it for it in found if not it.is_hour and _hour_folder(it).exists()]

    def _merge(self, parts: Sequence[Segment], sources: Mapping[str, Source]) -> None:
        aside = self.folder / ASIDE
        _clear(aside)
        aside.mkdir()
        names = sorted({path.stem for part in parts for path in part.folder.iterdir()})
        statements = []
        for source in (sources[name] for name in names if name in sources):
            paths = [part.folder / f"{source.name}.parquet" for part in parts]
            listed = ", ".join(f"'{path}'" for path in paths if path.exists())
            statements.append(
                _copy(source, f"read_parquet([{listed}], union_by_name = true)", aside)
            )
        self._ask(self._duckdb, statements)
        _place(aside, _hour_folder(parts[0]))

    def forget(self, keep_bytes: int, keep_s: float, now: datetime) -> bool:
        """Removes the oldest segments until both bounds hold: has the newest hour lost any?"""
        kept = segments(self.folder)
        sizes = {each.folder: each.size_bytes for each in kept}
        total, cut = sum(sizes.values()), False
        for each in kept[:-1]:
            length = timedelta(hours=1) if each.is_hour else timedelta()
            if total <= keep_bytes and each.begins + length > now - timedelta(seconds=keep_s):
                break
            # parts of an hour that goes would come to count again
            for part in self._superseded():
                if part.hour == each.begins:
                    shutil.rmtree(part.folder)
            # renamed first, so that nobody meets half a segment
            aside = self.folder / ASIDE
            _clear(aside)
            each.folder.rename(aside)
            _clear(aside)
            total -= sizes[each.folder]
            cut = cut or each.hour == kept[-1].hour
        return cut


def size_bytes(folder: Path) -> int:
    """What a record takes."""
    return sum(each.size_bytes for each in segments(folder))


def _place(aside: Path, folder: Path) -> None:
    """Renames a folder into its place once what is in it is on the disk."""
    for path in aside.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
    aside.rename(folder)


def _clear(aside: Path) -> None:
    if aside.exists():
        shutil.rmtree(aside)


def _hour_folder(segment: Segment) -> Path:
    return segment.folder.with_name(segment.begins.strftime(HOUR))


def _copy(source: Source, rows: str, folder: Path) -> str:
    order = ", ".join([*(name.lower() for name in source.keys), "ts", "kind"])
    path = folder / f"{source.name}.parquet"
    return (
        f"COPY (SELECT * FROM {rows} ORDER BY {order}) TO '{path}'"
        " (FORMAT parquet, COMPRESSION zstd)"
    )


@contextmanager
def opened(folder: Path, kind: str, name: str) -> Iterator[None]:
    """The folder, made where it is not there, and held: `UsageError` where it is another server's,
    or somebody records into it.
    """
    if "'" in str(folder):
        raise UsageError("the folder's name has a quote in it", hint="choose another with --into")
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"somebody records into {folder} already", hint="choose another with --into"
            ) from None
        _check_owner(folder, kind, name)
        yield
    finally:
        os.close(handle)


def _check_owner(folder: Path, kind: str, name: str) -> None:
    about = folder / ABOUT
    ours = {"kind": kind, "server": name}
    if not about.exists():
        if any(folder.iterdir()):
            raise UsageError(f"{folder} holds something else", hint="choose another with --into")
        aside = folder / f"{ABOUT}.new"
        aside.write_text(json.dumps(ours))
        aside.rename(about)
    elif (theirs := json.loads(about.read_text())) != ours:
        raise UsageError(
            f"{folder} is the record of {theirs['server']}", hint="choose another with --into"
        )


def owner(folder: Path) -> tuple[str, str]:
    """Which kind of server a record is of, and its name; `UsageError` where there is none."""
    try:
        about = json.loads((folder / ABOUT).read_text())
        return str(about["kind"]), str(about["server"])
    except (OSError, ValueError, KeyError):
        raise UsageError(
            f"there is no record in {folder}",
            hint="dyno watch --dsn URL makes one in ./watched; --from FOLDER reads another",
        ) from None


def with_samples(sources: Mapping[str, Source]) -> dict[str, Source]:
    """The sources, and the samples' own."""
    return {**sources, SAMPLES.name: replace(SAMPLES)}
