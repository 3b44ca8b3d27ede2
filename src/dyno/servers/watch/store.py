"""A record on disk: a folder of segments, each a folder with one Parquet file per source; and what
changed from one sample of a source to the next.

A segment is written aside and renamed, so that one that can be seen is whole; one that a disk has
damaged since is set aside (`list_segments`). Only we may read a record. `20261122T210300.5Z`
is what one flush wrote, a *part*; `20261122T21Z` the whole hour, which supersedes its parts. Each
hour begins with whole values, so that older ones can go. All times are UTC.

What the counters grew by in a lost segment is unknown: those who read a time that it belongs to
get a message.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dyno.builds import Say
from dyno.driver.plan import Session
from dyno.engines import Ask, find_engine
from dyno.errors import HostError, TrialFailed, UsageError
from dyno.locks import try_lock
from dyno.private_files import FILE, make_folder, open_private, sync, sync_tree, write_whole
from dyno.servers.watch.source import CHANGE, GONE, WHOLE, Row, WatchSource

#: How a time stands in a record.
TIME = "%Y-%m-%d %H:%M:%S.%f"
ASIDE = ".aside"
#: What says whose record a folder is.
ABOUT = "server.json"
#: Each sample: when, whether all was written anew, whether the server had restarted, what it cost.
SAMPLES = WatchSource(
    "samples", (), values=("ANEW", "RESTARTED", "UP_S", "TOOK_US"), words=("SERVER",), sampled=True
)
_READ = (
    "read_csv('{}', header = false, auto_detect = false, delim = ',', quote = '\"',"
    " escape = '\"', nullstr = '\\N', allow_quoted_nulls = false, columns = {{{}}})"
)


def open_library(ask: Ask, say: Say) -> Session:
    """Open a session on a DuckDB in memory; fetch its library if it is not there."""
    engine = find_engine("duckdb", ask)
    build = engine.program("", {}, say)
    found = engine.start(build, Path("/"), {}).session
    return {**found, "database": ":memory:"}


class WatchStore:
    """A folder that is written to, by one at a time (`open_folder`)."""

    def __init__(self, folder: Path, ask: Ask, duckdb: Session, say: Say = lambda _: None) -> None:
        self.folder = folder
        self._ask, self._duckdb, self._say = ask, duckdb, say

    def write(self, rows: Mapping[WatchSource, Sequence[Recorded]], begins: datetime) -> None:
        """Write a part with these rows, which is visible once it is whole."""
        aside = self._make_aside()
        told = {source: found for source, found in rows.items() if found}
        statements = []
        for source, found in told.items():
            path = aside / f"{source.name}.csv"
            with open(path, "w", newline="", encoding="utf-8", opener=open_private) as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerows([["\\N" if it is None else it for it in row] for row in found])
            columns = ", ".join(f"'{name}': '{kind}'" for name, kind in source.list_types())
            statements.append(_copy(source, _READ.format(path, columns), aside))
        self._ask(self._duckdb, statements)
        for source in told:
            (aside / f"{source.name}.csv").unlink()
        _move_into_place(aside, self.folder / begins.strftime(PART))

    def merge(self, before: datetime, sources: Mapping[str, WatchSource]) -> None:
        """Merge all parts of hours before this one into whole hours.

        Parts stay beside their hour until the next time: another process may be reading them.
        """
        for part in self._find_superseded():
            shutil.rmtree(part.folder)
        parts = [it for it in list_segments(self.folder) if not it.is_hour and it.hour < before]
        for hour in sorted({part.hour for part in parts}):
            self._merge_sound([part for part in parts if part.hour == hour], sources)

    def _merge_sound(self, parts: Sequence[Segment], sources: Mapping[str, WatchSource]) -> None:
        """Merge those of an hour's parts that can be read; the others are set aside."""
        sound = self._leave_out([it for it in parts if is_torn(it)], parts)
        try:
            if sound:
                self._merge(sound, sources)
        except TrialFailed:
            bad = find_unreadable(sound, self._ask, self._duckdb)
            if not bad:
                raise
            if sound := self._leave_out(bad, sound):
                self._merge(sound, sources)

    def _leave_out(self, bad: Sequence[Segment], parts: Sequence[Segment]) -> list[Segment]:
        for part in bad:
            set_aside(part)
            self._say(f"{part.sentence}; it was set aside")
        return [it for it in parts if it not in bad]

    def _find_superseded(self) -> list[Segment]:
        """Return parts that stand beside their hour."""
        found = list_all_segments(self.folder)
        return [it for it in found if not it.is_hour and _find_hour_folder(it).exists()]

    def _merge(self, parts: Sequence[Segment], sources: Mapping[str, WatchSource]) -> None:
        aside = self._make_aside()
        names = sorted({path.stem for part in parts for path in part.folder.iterdir()})
        statements = []
        for source in (sources[name] for name in names if name in sources):
            paths = [part.folder / f"{source.name}.parquet" for part in parts]
            listed = ", ".join(f"'{path}'" for path in paths if path.exists())
            statements.append(
                _copy(source, f"read_parquet([{listed}], union_by_name = true)", aside)
            )
        self._ask(self._duckdb, statements)
        _move_into_place(aside, _find_hour_folder(parts[0]))

    def _make_aside(self) -> Path:
        """Make an empty folder to write to."""
        aside = self.folder / ASIDE
        _clear(aside)
        make_folder(aside)
        return aside

    def forget(self, keep_bytes: int, keep_s: float, now: datetime) -> bool:
        """Remove the oldest segments until both bounds hold; return whether the newest hour lost
        any.
        """
        for gone in list_lost_segments(self.folder):
            if gone.begins < now - timedelta(seconds=keep_s):
                shutil.rmtree(gone.folder)
        kept = list_segments(self.folder)
        sizes = {each.folder: each.size_bytes for each in kept}
        total, cut = sum(sizes.values()), False
        for each in kept[:-1]:
            length = timedelta(hours=1) if each.is_hour else timedelta()
            if total <= keep_bytes and each.begins + length > now - timedelta(seconds=keep_s):
                break
            # parts of an hour that goes would come to count again
            for part in self._find_superseded():
                if part.hour == each.begins:
                    shutil.rmtree(part.folder)
            # renamed first, so that no reader finds half a segment
            aside = self.folder / ASIDE
            _clear(aside)
            each.folder.rename(aside)
            _clear(aside)
            total -= sizes[each.folder]
            cut = cut or each.hour == kept[-1].hour
        return cut


def measure_size_bytes(folder: Path) -> int:
    return sum(each.size_bytes for each in list_segments(folder))


def _move_into_place(aside: Path, folder: Path) -> None:
    """Rename a folder into its place once its content is on the disk."""
    for path in aside.iterdir():
        path.chmod(FILE)  # the driver wrote it
    sync_tree(aside)
    aside.rename(folder)
    sync(folder.parent)


def _clear(aside: Path) -> None:
    if aside.exists():
        shutil.rmtree(aside)


def _find_hour_folder(segment: Segment) -> Path:
    return segment.folder.with_name(segment.begins.strftime(HOUR))


def _copy(source: WatchSource, rows: str, folder: Path) -> str:
    order = ", ".join([*(name.lower() for name in source.keys), "ts", "kind"])
    path = folder / f"{source.name}.parquet"
    return (
        f"COPY (SELECT * FROM {rows} ORDER BY {order}) TO '{path}'"
        " (FORMAT parquet, COMPRESSION zstd)"
    )


@contextmanager
def open_folder(folder: Path, kind: str, name: str) -> Iterator[None]:
    """Hold the folder, made if missing: `UsageError` if it is another server's, or another Dyno
    records into it.
    """
    if "'" in str(folder):
        raise UsageError(
            "the folder's name must not hold a quote", hint="choose another with --into"
        )
    make_folder(folder, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not try_lock(handle):
            raise UsageError(
                f"another dyno records into {folder}", hint="choose another with --into"
            )
        about = folder / ABOUT
        ours = {"kind": kind, "server": name}
        if not about.exists():
            if any(path.name != ASIDE for path in folder.iterdir()):
                raise UsageError(
                    f"{folder} holds other files than a record", hint="choose another with --into"
                )
            write_whole(about, json.dumps(ours))
        elif (theirs := read_owner(folder)) != (kind, name):
            raise UsageError(
                f"{folder} is the record of {theirs[1]}", hint="choose another with --into"
            )
        yield
    finally:
        os.close(handle)


def read_owner(folder: Path) -> tuple[str, str]:
    """Return which kind of server a record is of, and its name; `UsageError` if there is none."""
    try:
        about = json.loads((folder / ABOUT).read_text())
        return str(about["kind"]), str(about["server"])
    except FileNotFoundError:
        raise UsageError(
            f"there is no record in {folder}",
            hint="dyno watch --dsn URL makes one in ./watched; --from FOLDER reads another",
        ) from None
    except OSError as refused:
        cause = (refused.strerror or "").lower()
        raise HostError(f"cannot read the record in {folder}", cause=cause) from refused
    except (ValueError, KeyError, TypeError, RecursionError):
        hint = 'write into it whose record it is: {"kind": "mysql", "server": "HOST:PORT"}'
        raise UsageError(f"{folder / ABOUT} is damaged", hint=hint) from None


def with_samples(sources: Mapping[str, WatchSource]) -> dict[str, WatchSource]:
    """The sources, and the samples' own."""
    return {**sources, SAMPLES.name: replace(SAMPLES)}


#: As it is written: time, kind, and the source's columns.
Recorded = list[str | int | None]


@dataclass(frozen=True)
class SampleTime:
    """How a sample was taken: `at` (UTC), whether `all_rows` were asked for, whether every value is
    to be written `anew`, and whether the server has `restarted` since the last one.
    """

    at: str
    all_rows: bool = True
    anew: bool = False
    restarted: bool = False


class Changes:
    """The last values of a source's rows, and how the next ones differ."""

    def __init__(self, source: WatchSource) -> None:
        self.source = source
        self._last: dict[tuple[str | None, ...], Row] = {}
        self._began = False
        keys, told = len(source.keys), len(source.told)
        self._keys, self._told = slice(0, keys), slice(keys, keys + told)
        self._counters = slice(keys + told, keys + told + len(source.counters))
        self._stands = slice(keys + told + len(source.counters), None)
        self._born = source.columns.index(source.born) if source.born else None

    def go_on(self, rows: Sequence[Row]) -> None:
        """Take these for the last ones: a record's, of an earlier recorder."""
        self._last = {tuple(row[self._keys]): row for row in rows}
        self._began = True

    def record_changes(self, rows: Sequence[Row], look: SampleTime) -> list[Recorded]:
        """Return what is to be recorded of a sample's rows; afterwards they are the last ones.

        A row that is new, or begins anew (a counter fell, or the server restarted), changed by all
        that it holds.
        """
        if self.source.sampled:
            return [[look.at, WHOLE, *row] for row in rows]
        anew = look.anew or look.restarted or not self._began
        known = {} if look.restarted else self._last
        last = self._last if not (look.restarted or look.all_rows) else {}
        found: list[Recorded] = []
        for row in rows:
            key = tuple(row[self._keys])
            before = known.get(key)
            last[key] = row
            if anew or before != row:
                found += self._record_row(row, before, look, anew)
        if look.all_rows:
            columns = len(self.source.columns)
            gone = known.keys() - last.keys()
            found += [[look.at, GONE, *key, *[None] * (columns - len(key))] for key in gone]
        self._last, self._began = last, True
        return found

    def _record_row(
        self, row: Row, before: Row | None, look: SampleTime, anew: bool
    ) -> list[Recorded]:
        """Return the row's change, and before it the whole row if changes are to continue from
        it.
        """
        now = self._parse_numbers(row)
        then = self._parse_numbers(before) if before else [0] * len(now)
        again = before is not None and self._has_restarted(row, before, now, then)
        if again:
            then = [0] * len(now)
        found: list[Recorded] = []
        if anew or again:
            texts = (*row[self._keys], *row[self._told])
            found.append([look.at, WHOLE, *texts, *now, *row[self._stands]])
        if (self._began or look.restarted) and before != row:
            told = row[self._told] if before is None else [None] * len(self.source.told)
            change = [None if a is None else a - (b or 0) for a, b in zip(now, then, strict=True)]
            found.append([look.at, CHANGE, *row[self._keys], *told, *change, *row[self._stands]])
        return found

    def _has_restarted(
        self, row: Row, before: Row, now: Sequence[int | None], then: Sequence[int | None]
    ) -> bool:
        if self._born is not None and row[self._born] != before[self._born]:
            return True
        fell = any((a or 0) < (b or 0) for a, b in zip(now, then, strict=True))
        return fell and not self.source.signed

    def _parse_numbers(self, row: Row) -> list[int | None]:
        return [None if it is None else int(it) for it in row[self._counters]]


PART, HOUR = "%Y%m%dT%H%M%S.%fZ", "%Y%m%dT%HZ"
#: The folder in a record for those that were set aside: a pattern of one level does not meet them.
DAMAGED = "damaged"
#: With this a file of Parquet begins and ends; before the end stands how long its footer is.
_MAGIC = b"PAR1"


@dataclass(frozen=True)
class Segment:
    """A folder with a Parquet file per source: its name's time, and how long it is of."""

    folder: Path
    begins: datetime
    is_hour: bool

    @property
    def hour(self) -> datetime:
        return self.begins.replace(minute=0, second=0, microsecond=0)

    @property
    def ends(self) -> datetime:
        return self.hour + timedelta(hours=1)

    @property
    def size_bytes(self) -> int:
        return sum(path.stat().st_size for path in self.folder.iterdir())

    @property
    def sentence(self) -> str:
        """Return the message about one that cannot be read."""
        what = f"the hour of {self.begins:%Y-%m-%d %H:%M}" if self.is_hour else "a part"
        when = "" if self.is_hour else f" that begins at {self.begins:%Y-%m-%d %H:%M:%S}"
        return f"{what}{when} UTC is damaged ({self.folder.name}): its counts are missing here"


def list_segments(folder: Path) -> list[Segment]:
    """Every segment that counts, in time's order: parts only of hours that are not whole."""
    found = list_all_segments(folder)
    whole = {each.begins for each in found if each.is_hour}
    kept = [each for each in found if each.is_hour or each.hour not in whole]
    return sorted(kept, key=lambda each: each.begins)


def list_all_segments(folder: Path) -> list[Segment]:
    """Parts that stand beside their hour, too."""
    return [found for path in folder.iterdir() if (found := _parse_segment(path))]


def list_lost_segments(folder: Path) -> list[Segment]:
    """Return those that were set aside, in time's order, but for hours whose parts are there."""
    aside = folder / DAMAGED
    lost = list_all_segments(aside) if aside.is_dir() else []
    hours = {each.hour for each in list_segments(folder)}
    kept = [each for each in lost if not (each.is_hour and each.begins in hours)]
    return sorted(kept, key=lambda each: each.begins)


def _parse_segment(path: Path) -> Segment | None:
    for form, is_hour in ((PART, False), (HOUR, True)):
        try:
            begins = datetime.strptime(path.name, form).replace(tzinfo=UTC)
        except ValueError:
            continue
        return Segment(path, begins, is_hour)
    return None


def set_aside(segment: Segment) -> None:
    """Move a damaged segment to where it counts no more. `OSError` if we may not."""
    place = segment.folder.parent / DAMAGED
    make_folder(place, exist_ok=True)
    segment.folder.rename(place / segment.folder.name)


def is_torn(segment: Segment) -> bool:
    """Return whether any of its files lacks its beginning or its end, or it has none. Costs two
    reads a file.

    One that goes meanwhile, into its hour, is not torn.
    """
    try:
        files = list(segment.folder.iterdir())
        return not files or not all(map(_has_ends, files))
    except FileNotFoundError:
        return False


def _has_ends(path: Path) -> bool:
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(4)
        file.seek(max(size - 8, 0))
        tail = file.read(8)
    footer_bytes = int.from_bytes(tail[:4], "little")
    return head == tail[4:] == _MAGIC and footer_bytes <= size - 12


def find_unreadable(found: Sequence[Segment], ask: Ask, duckdb: Session) -> list[Segment]:
    """Return those of which a file cannot be read to its end; every page of it is tried."""
    return [each for each in found if _is_unreadable(each, ask, duckdb)]


def _is_unreadable(segment: Segment, ask: Ask, duckdb: Session) -> bool:
    if is_torn(segment):
        return True
    files = sorted(segment.folder.glob("*.parquet"))
    try:
        ask(duckdb, [f"SELECT count(hash(COLUMNS(*))) FROM read_parquet('{it}')" for it in files])
    except TrialFailed:
        return segment.folder.exists()
    return False
