"""The runs of a home, from its index as far as that is fresh, else from their records.

The index is never needed: without DuckDB, or where it is damaged, all records are read. A run that
cannot be read is not kept in it, and one that changed a moment ago neither: it may change again
within the same tick of the file system's clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from dyno.compare.history import index
from dyno.compare.history.homes import (
    ForeignFile,
    FoundRecords,
    FoundRun,
    LocalHome,
    RunsHome,
    read_stamp,
)
from dyno.compare.history.points import ReadRun, RunSource
from dyno.errors import UsageError
from dyno.runs.run_folder import RunFolder

#: Fewer runs in a folder are read as quickly without an index.
INDEX_LEAST = 100
#: A run whose records are younger is not kept.
SETTLED_S = 0.1

Say = Callable[[str], None]


@dataclass
class HomeRuns:
    """The runs of a home. `index` is None where none is kept; `is_changed` where it must be written
    anew.
    """

    home: RunsHome
    found: FoundRecords
    runs: list[ReadRun]
    index: index.HistoryIndex | None = None
    is_changed: bool = False


def read_folders(
    folders: Iterable[RunFolder],
    counts: Iterable[Path] = (),
    tell: Callable[[int], None] = lambda _: None,
) -> list[HomeRuns]:
    """Some runs of one home or several, and some records of counts: by the indexes that the homes
    have, which stay as they are. `tell` hears how many runs are read.
    """
    homes: dict[Path, FoundRecords] = {}
    for folder in folders:
        stamp = read_stamp(str(folder.path))
        found = homes.setdefault(folder.path.parent, FoundRecords([], []))
        found.runs.append(FoundRun(folder.path.name, stamp))
    for file in counts:
        homes.setdefault(file.parent, FoundRecords([], [])).counts.append(file.name)
    read: list[HomeRuns] = []
    for home, found in homes.items():
        before = sum(len(each.runs) for each in read)
        read.append(_read_some(LocalHome(home), found, tell, before))
    return read


def _read_some(
    home: LocalHome, found: FoundRecords, tell: Callable[[int], None], before: int
) -> HomeRuns:
    few = len(found.runs) < INDEX_LEAST
    known = index.HistoryIndex() if few else _load_index(home, lambda _: None, anew=False)[0]
    runs = []
    for each in found.runs:
        was = known.runs.get(each.path)
        runs.append(was if was and was.stamp == each.stamp else _read(home, each))
        tell(before + len(runs))
    return HomeRuns(home, found, runs)


def read_home(home: RunsHome, say: Say, *, anew: bool = False) -> HomeRuns:
    """All runs of a home; `anew` passes its index over. `UsageError` where there is neither run nor
    count.
    """
    began_ns = time.time_ns()
    found = home.find_records()
    if not found.runs and not found.counts:
        cause = "a run of disks, or a capacity, has no history" if found.has_others else ""
        hint = "`dyno compare` makes one"
        raise UsageError(f"there is no run under {home.name}", cause=cause, hint=hint)
    if not (home.is_remote or len(found.runs) >= INDEX_LEAST):
        return HomeRuns(home, found, [_read(home, each) for each in found.runs])
    known, keeps = _load_index(home, say, anew)
    runs, kept, is_changed = [], {}, False
    for each in found.runs:
        was = known.runs.get(each.path)
        if was is not None and was.stamp == each.stamp:  # it was settled when it was kept
            kept[each.path] = was
            runs.append(was)
            continue
        read = _read(home, each)
        if read.unreadable or not _is_settled(each, began_ns):
            is_changed |= was is not None
        else:
            is_changed = True
            kept[each.path] = read
        runs.append(read)
    is_changed |= len(kept) != len(known.runs)
    mine = index.HistoryIndex(kept, known.analyses) if keeps else None
    return HomeRuns(home, found, runs, mine, is_changed)


def _read(home: RunsHome, found: FoundRun) -> ReadRun:
    place = home.locate(found.path)
    source = RunSource(place, place.rpartition("/")[2], found.stamp)
    with home.open_run(found.path) as folder:
        return _call_by_place(folder, source, found.path)


def _call_by_place(folder: RunFolder, source: RunSource, path: str) -> ReadRun:
    from dyno.compare.history.gather import read_run

    return read_run(folder, source, path)


def _is_settled(found: FoundRun, now_ns: int) -> bool:
    times = [int(word) for word in found.stamp.split() if word.isdigit()]
    return now_ns - max(times, default=0) > SETTLED_S * 1e9


def _load_index(home: RunsHome, say: Say, anew: bool) -> tuple[index.HistoryIndex, bool]:
    """The index as it lies there, empty where it cannot serve; and whether one may be kept."""
    empty = index.HistoryIndex()
    if not index.is_available():
        say(
            f"every record of {home.name} is read; an index would make it quick: "
            "pip install 'dyno-bench[history]'"
        )
        return empty, False
    try:
        content = None if anew else home.read_index()
        return (index.decode_index(content, home.locate) if content else empty), True
    except ForeignFile as error:
        say(f"no index is kept: what lies in its place in {home.name} {error}")
        return empty, False
    except index.OutdatedIndex:
        return empty, True
    except index.DamagedIndex as error:
        say(f"the index in {home.name} is damaged and made anew: {' '.join(str(error).split())}")
        return empty, True


def keep_index(read: HomeRuns, say: Say) -> None:
    """Writes the index of a home, if there is one and something in it changed."""
    if read.index is None or not read.is_changed:
        return
    try:
        read.home.write_index(index.encode_index(read.index))
    except OSError as error:
        why = getattr(error, "strerror", None) or error
        say(f"no index is kept in {read.home.name}: {' '.join(str(why).split())}")


@dataclass
class RunsArchive:
    """The runs of several homes, each once, and the finished analyses of their series."""

    homes: Sequence[HomeRuns]
    analyses: dict[str, str] = field(default_factory=dict)
    _places: dict[str, tuple[RunsHome, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in self.homes:
            self.analyses |= each.index.analyses if each.index else {}
            for run in each.runs:
                self._places.setdefault(each.home.locate(run.path), (each.home, run.path))

    def list_runs(self) -> list[tuple[str, ReadRun]]:
        """Each run once, with its place."""
        found: dict[str, ReadRun] = {}
        for each in self.homes:
            for run in each.runs:
                found.setdefault(each.home.locate(run.path), run)
        return list(found.items())

    def open_run(self, place: str) -> AbstractContextManager[RunFolder]:
        """The run at a place as a folder."""
        home, path = self._places[place]
        return home.open_run(path)

    def keep(self, analyses: dict[str, str], say: Say) -> None:
        """Keeps the analyses, and every index that changed."""
        for each in self.homes:
            if each.index is not None:
                each.is_changed |= each.index.analyses.keys() != analyses.keys()
                each.index.analyses = analyses
            keep_index(each, say)
