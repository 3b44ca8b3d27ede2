"""Where runs lie: a folder, or a place that `fsspec` opens; what is there, and the points of each.

A run within a run is none, and links are not followed. A record is never rewritten by Dyno, so a
folder's run is as it was where its record and the folder of its trials have their sizes and times.
A run that changed a moment ago keeps no points yet: it may change again within the same tick of the
file system's clock.
"""

from __future__ import annotations

import functools
import itertools
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from dyno import private_files
from dyno.builds import cache
from dyno.compare.history.points import PointsReader, ReadRun, RunSource, encode_run
from dyno.errors import UsageError
from dyno.runs.run_folder import POINTS, SERVER_PROFILES, RunFolder, load_instruments

#: A larger file holds no points.
POINTS_BYTES_MAX = 64 << 20
#: A run whose records are younger keeps no points.
SETTLED_S = 0.1


@dataclass(frozen=True)
class FoundRun:
    """A run below its home: the path there, with slashes, `.` for the home itself; and a `stamp`
    that is another one where its records are.
    """

    path: str
    stamp: str


@dataclass(frozen=True)
class FoundRecords:
    """What lies in a home: its runs; where there is none, a noun for what is there and has no
    history.
    """

    runs: list[FoundRun]
    other: str = ""


class RunsHome(Protocol):
    """A place where runs lie. `name` is as the user wrote it, without secrets."""

    name: str

    def find_records(self) -> FoundRecords:
        """All runs; `UsageError` where the home is not there."""

    def open_run(self, path: str) -> AbstractContextManager[RunFolder]:
        """The run at a path as a folder; of a remote one a copy, gone at the end."""

    def locate(self, path: str) -> str:
        """Where a path of this home is, for others: absolute, or a URL."""

    def read_points(self, runs: Sequence[FoundRun]) -> Mapping[str, bytes]:
        """What lies in the places of the runs' points, by path."""

    def write_points(self, run: FoundRun, content: bytes) -> None:
        """Keeps the points of a run, if it is settled and that can be."""


@dataclass(frozen=True)
class HomeRuns:
    """The runs of a home, as they were read."""

    home: RunsHome
    runs: list[ReadRun]


def read_home(home: RunsHome, *, anew: bool = False) -> HomeRuns:
    """All runs of a home, each of which keeps its points from then on; `anew` reads every record.
    `UsageError` where there is none.
    """
    found = home.find_records()
    if not found.runs:
        cause = f"{found.other} has no history" if found.other else ""
        hint = "`dyno compare` makes one"
        raise UsageError(f"there is no run under {home.name}", cause=cause, hint=hint)
    return _read_runs(home, found.runs, anew=anew, keeps=True)


def read_folders(
    folders: Iterable[Path], tell: Callable[[int], None] = lambda _: None
) -> list[HomeRuns]:
    """Some runs of homes; nothing is written there. `tell` hears how many are read."""
    homes: dict[Path, list[FoundRun]] = {}
    for folder in folders:
        run = FoundRun(folder.name, read_stamp(str(folder)))
        homes.setdefault(folder.parent, []).append(run)
    count = itertools.count(1)
    return [
        _read_runs(LocalHome(home), found, tell=lambda: tell(next(count)))
        for home, found in homes.items()
    ]


def _read_runs(
    home: RunsHome,
    found: Sequence[FoundRun],
    *,
    anew: bool = False,
    keeps: bool = False,
    tell: Callable[[], None] = lambda: None,
) -> HomeRuns:
    kept = {} if anew else home.read_points(found)
    reader, runs = PointsReader(), []
    for each in found:
        place = home.locate(each.path)
        source = RunSource(place, place.rpartition("/")[2], each.stamp)
        content = kept.get(each.path)
        run = reader.decode_run(content, source, each.path) if content else None
        if run is None:
            run = _read_records(home, source, each.path)
            if keeps and not run.unreadable:
                home.write_points(each, encode_run(run))
        runs.append(run)
        tell()
    return HomeRuns(home, runs)


def _read_records(home: RunsHome, source: RunSource, path: str) -> ReadRun:
    from dyno.compare.history.gather import read_run

    with home.open_run(path) as folder:
        return read_run(folder, source, path)


class LocalHome:
    """A folder, which may be a run itself."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.name = folder, str(folder)

    def find_records(self) -> FoundRecords:
        """All runs below the folder, by path."""
        if not self.folder.is_dir():
            hint = "name a folder with runs in it, or a run's own"
            raise UsageError(f"there is no folder {self.folder}", hint=hint)
        runs = sorted(_walk_runs(str(self.folder), "."), key=lambda each: each.path)
        silent = [it for it in load_instruments().values() if not (runs or it.has_history)]
        records = {
            it.noun: f"{SERVER_PROFILES}/*.json" if it.is_file else it.record for it in silent
        }
        others = [noun for noun, record in records.items() if any(self.folder.rglob(record))]
        return FoundRecords(runs, " or ".join(others))

    def open_run(self, path: str) -> AbstractContextManager[RunFolder]:
        """The run's own folder."""
        return nullcontext(RunFolder(self.folder / path))

    def locate(self, path: str) -> str:
        """The absolute path, links resolved."""
        return self._resolved if path == "." else f"{self._resolved}/{path}"

    @cached_property
    def _resolved(self) -> str:
        return os.path.realpath(self.folder)

    def read_points(self, runs: Sequence[FoundRun]) -> Mapping[str, bytes]:
        """Those in the runs' folders; else those in the cache."""
        found = {}
        for run in runs:
            place = self.locate(run.path)
            content = read_plain_file(f"{place}/{POINTS}")
            if content is None:
                content = read_plain_file(str(find_cached_points(place)))
            if content is not None:
                found[run.path] = content
        return found

    def write_points(self, run: FoundRun, content: bytes) -> None:
        """In the run's folder, or in the cache where nobody may write there."""
        newest_ns = max(map(int, run.stamp.split()), default=0)
        if time.time_ns() - newest_ns < SETTLED_S * 1e9:
            return
        file = Path(self.locate(run.path), POINTS)
        if os.access(file.parent, os.W_OK):
            with suppress(OSError):
                private_files.write_bytes_whole(file, content)
        else:
            write_cached_points(str(file.parent), content)


def find_cached_points(place: str) -> Path:
    """The points of a run that nobody may write to, by its place."""
    return cache.find_root() / "history" / f"{sha256(place.encode()).hexdigest()[:24]}.json"


def write_cached_points(place: str, content: bytes) -> None:
    """Keeps the points of such a run, if that can be."""
    file = find_cached_points(place)
    with suppress(OSError):
        private_files.make_folder(file.parent, exist_ok=True)
        private_files.write_bytes_whole(file, content)


def read_plain_file(file: str) -> bytes | None:
    """The bytes of a plain file; None for anything else, and for one that is too large."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > POINTS_BYTES_MAX:
            return None
        return os.read(handle, found.st_size)
    finally:
        os.close(handle)


def _walk_runs(folder: str, path: str) -> Iterator[FoundRun]:
    if stamp := read_stamp(folder):
        yield FoundRun(path, stamp)
        return
    with suppress(PermissionError, FileNotFoundError), os.scandir(folder) as entries:
        folders = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
        for entry in folders:
            inner = entry.name if path == "." else f"{path}/{entry.name}"
            yield from _walk_runs(entry.path, inner)


@functools.cache
def list_stamped() -> tuple[tuple[str, ...], ...]:
    """What tells whether a run changed, by the kinds of runs that have a history: its record, and
    the folder of what was measured.
    """
    found = [it for it in load_instruments().values() if it.has_history]
    return tuple(it.measured for it in sorted(found, key=lambda it: not it.has_trials))


def read_stamp(folder: str) -> str:
    """The size of a run's record, its time and that of its trials' folder; empty where it is no
    run.
    """
    for record, *inner in list_stamped():
        with suppress(OSError):
            run = os.stat(f"{folder}/{record}")
            played_ns = 0
            with suppress(OSError):
                played_ns = os.stat(f"{folder}/{inner[0]}").st_mtime_ns if inner else 0
            return f"{run.st_size} {run.st_mtime_ns} {played_ns}"
    return ""
