"""Where runs lie: a folder, or a place that `fsspec` opens; what is there, and whether it changed.

A run within a run is none, and links are not followed. A record is never rewritten by Dyno, so a
folder's run is as it was where `run.json` and the folder of its trials have their sizes and times.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from dyno import private_files
from dyno.builds import cache
from dyno.errors import UsageError
from dyno.runs.run_folder import COUNT_RECORD, COUNTS, RunFolder, list_records

#: The index of a home lies in it, hidden.
INDEX_NAME = ".dyno-history.parquet"
#: A larger file is no index.
INDEX_BYTES_MAX = 1 << 30


@dataclass(frozen=True)
class FoundRun:
    """A run below its home: the path there, with slashes, `.` for the home itself; and a `stamp`
    that is another one where its records are.
    """

    path: str
    stamp: str


@dataclass(frozen=True)
class FoundRecords:
    """What lies in a home: its runs, and the paths of records of counts (`count.json`);
    `has_others` where there is another kind of run, which has no history.
    """

    runs: list[FoundRun]
    counts: list[str]
    has_others: bool = False


class ForeignFile(Exception):
    """Something that is no index lies in its place; says what."""


class RunsHome(Protocol):
    """A place where runs lie. `name` is as the user wrote it, without secrets."""

    name: str
    is_remote: bool

    def find_records(self) -> FoundRecords:
        """All runs and counts; `UsageError` where the home is not there."""

    def open_run(self, path: str) -> AbstractContextManager[RunFolder]:
        """The run at a path as a folder; of a remote one a copy, gone at the end."""

    def open_count(self, path: str) -> AbstractContextManager[Path]:
        """The record of a count as a file, its folders named as they are."""

    def locate(self, path: str) -> str:
        """Where a path of this home is, for others: absolute, or a URL."""

    def read_index(self) -> bytes | None:
        """The index as it lies there; None where there is none. Raises `ForeignFile`."""

    def write_index(self, content: bytes) -> None:
        """Writes it whole, or raises `OSError`."""


class LocalHome:
    """A folder, which may be a run itself."""

    is_remote = False

    def __init__(self, folder: Path) -> None:
        self.folder, self.name = folder, str(folder)

    def find_records(self) -> FoundRecords:
        """All runs and counts below the folder, by path."""
        if not self.folder.is_dir():
            hint = "name a folder with runs in it, or a run's own"
            raise UsageError(f"there is no folder {self.folder}", hint=hint)
        runs: list[FoundRun] = []
        counts: list[str] = []
        for path, run, count in _walk_records(str(self.folder), "."):
            if run:
                runs.append(FoundRun(path, run))
            counts += count
        others = not runs and not counts and self._has_others()
        return FoundRecords(sorted(runs, key=lambda each: each.path), sorted(counts), others)

    def _has_others(self) -> bool:
        return any(next(self.folder.rglob(name), None) for name in list_records())

    def open_run(self, path: str) -> AbstractContextManager[RunFolder]:
        """The run's own folder."""
        return nullcontext(RunFolder(self.folder / path))

    def open_count(self, path: str) -> AbstractContextManager[Path]:
        """The file itself."""
        return nullcontext(self.folder / path)

    def locate(self, path: str) -> str:
        """The absolute path, links resolved."""
        return self._resolved if path == "." else f"{self._resolved}/{path}"

    @cached_property
    def _resolved(self) -> str:
        return os.path.realpath(self.folder)

    def find_index(self) -> Path:
        """In the folder; where that cannot be written, in the cache, by the folder's path."""
        inside = self.folder / INDEX_NAME
        if os.access(self.folder, os.W_OK):
            return inside
        aside = find_cached_index(self._resolved)
        return aside if aside.exists() or not inside.exists() else inside

    def read_index(self) -> bytes | None:
        """What `find_index` holds."""
        return read_index_file(self.find_index())

    def write_index(self, content: bytes) -> None:
        """Beside the runs, or in the cache."""
        inside = os.access(self.folder, os.W_OK)
        place = self.folder / INDEX_NAME if inside else find_cached_index(self._resolved)
        write_index_file(place, content)


def find_cached_index(home: str) -> Path:
    """The index of a home that nobody may write to, by its place."""
    name = f"{sha256(home.encode()).hexdigest()[:24]}.parquet"
    return cache.find_root() / "history" / name


def read_index_file(file: Path) -> bytes | None:
    """A plain file's bytes, if it is there; `ForeignFile` for what is no file of ours."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ForeignFile(f"cannot be read: {(error.strerror or '').lower()}") from error
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise ForeignFile("is not a plain file")
        if found.st_size > INDEX_BYTES_MAX:
            raise ForeignFile("is too large for an index")
        with os.fdopen(handle, "rb", closefd=False) as opened:
            return opened.read()
    finally:
        os.close(handle)


def write_index_file(file: Path, content: bytes) -> None:
    """For nobody but us, whole; `OSError`."""
    if file.is_dir():
        raise IsADirectoryError(f"{file} is a folder")
    private_files.make_folder(file.parent, exist_ok=True)
    private_files.write_bytes_whole(file, content)


def _walk_records(folder: str, path: str) -> Iterator[tuple[str, str, list[str]]]:
    """Each folder with a record: its path, its stamp where it is a run, and its counts."""
    if stamp := read_stamp(folder):
        yield path, stamp, _find_counts(folder, path)
        return
    folders = []
    with suppress(PermissionError, FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name == COUNT_RECORD and entry.is_file(follow_symlinks=False):
                yield path, "", [_join(path, COUNT_RECORD)]
            elif entry.is_dir(follow_symlinks=False):
                folders.append(entry)
    for entry in folders:
        yield from _walk_records(entry.path, _join(path, entry.name))


def _join(path: str, name: str) -> str:
    return name if path == "." else f"{path}/{name}"


def read_stamp(folder: str) -> str:
    """Sizes and times of a run's records; empty where it is no run."""
    try:
        run = os.stat(f"{folder}/run.json")
    except OSError:
        return ""
    try:
        trials = os.stat(f"{folder}/trials")
    except OSError:
        return f"{run.st_size} {run.st_mtime_ns} {run.st_ctime_ns}"
    times = f"{run.st_mtime_ns} {run.st_ctime_ns} {trials.st_mtime_ns} {trials.st_ctime_ns}"
    return f"{run.st_size} {times}"


def _find_counts(folder: str, path: str) -> list[str]:
    """The records of counts that were made with a comparison."""
    try:
        entries = os.scandir(f"{folder}/{COUNTS}")
    except OSError:  # nearly all runs have none
        return []
    with entries:
        found = sorted(each.name for each in entries if Path(each.path, COUNT_RECORD).is_file())
    return [_join(path, f"{COUNTS}/{name}/{COUNT_RECORD}") for name in found]
