"""What a power cut leaves of an engine's files: the log of unsynced writes (`_unsynced.h`), and its
way back to the last sync of each file.

Of a file, what was written after its last sync is undone, the newest first. A name that was made,
moved or removed is as it was before, unless its folder was synced after that, or the new file
itself, as journaling file systems have it (ext4, XFS). With a seed, each sector that was not synced
stays or goes by chance, and so many of the first names stay. A folder's own name is durable at
once.
"""

from __future__ import annotations

import mmap
import os
import random
import struct
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from dyno.builds import Say
from dyno.builds.compiler import Recipe, compile_library
from dyno.errors import HostError

SOURCE = Path(__file__).with_name("_unsynced_log.c")
BESIDE = [SOURCE.with_name(f"_unsynced{it}") for it in (".h", "_contents.c", "_names.c")]
#: `struct state` as far as it is ours: cut, silent, watched, scratch; and room for the rest.
STATE, STATE_BYTES = struct.Struct("=II4096s256s"), 8192
#: `struct record`: magic, kind, device, inode, offset, length, size.
RECORD, MAGIC = struct.Struct("=IIQQQQQ"), 0x44594E4F
#: What a disk writes whole or not at all, in bytes.
SECTOR = 512
#: The variable that names the folder of both files.
VARIABLE = "DYNO_CRASH"

#: A file by device and inode.
FileKey = tuple[int, int]


class RecordKind(IntEnum):
    """`enum kind`."""

    IMAGE, SYNC, SYNC_ALL, FRESH, DURABLE, UNSEEN = range(1, 7)
    NAMED, REMOVED, RENAMED, FOLDER_MOVED = range(7, 11)


#: What becomes of names.
NAMES = (RecordKind.NAMED, RecordKind.REMOVED, RecordKind.RENAMED)


@dataclass(frozen=True)
class UndoRecord:
    """A record; `place` is where it begins, `bytes_at` where the bytes that follow it do."""

    place: int
    kind: RecordKind
    file: FileKey
    offset: int
    length: int
    size: int
    bytes_at: int

    @property
    def folder(self) -> FileKey:
        """That of a name."""
        return self.file[0], self.offset


@dataclass(frozen=True)
class PowerCut:
    """What was lost: bytes of how many files, and how many sectors stayed by chance; the syncs that
    were done; `unseen`, the files that were mapped to be written, of which nothing is known; and
    how many `names` are again as they were.
    """

    lost_bytes: int
    files: int
    kept_sectors: int
    syncs: int
    unseen: tuple[str, ...]
    names: int = 0


@dataclass(frozen=True)
class UnsyncedLayer:
    """The layer under the files in `watched`; `folder` holds its log and its switch. `silent`: a
    sync answers and does nothing. Files whose names end with one of `scratch` are no data.
    """

    folder: Path
    watched: Path
    scratch: Sequence[str] = ()
    silent: bool = False

    def lay(self, say: Say) -> dict[str, str]:
        """Make log and switch anew; return the environment of the processes under it."""
        library = compile_library(Recipe("unsynced", SOURCE, "-O2", "", beside=BESIDE), say).program
        self.folder.mkdir(exist_ok=True)
        self.folder.chmod(0o711)  # a server may run as another user
        (self.folder / "gone").mkdir(exist_ok=True)
        (self.folder / "gone").chmod(0o777)
        ends = b"".join(each.encode() + b"\0" for each in self.scratch)
        watched = os.fsencode(self.watched.resolve())
        if len(watched) > 4000 or len(ends) > 250:
            raise HostError(f"the path {self.watched} is too long")
        head = STATE.pack(0, self.silent, watched, ends)
        (self.folder / "state").write_bytes(head.ljust(STATE_BYTES, b"\0"))
        (self.folder / "undo").write_bytes(b"")
        for name in ("state", "undo"):
            (self.folder / name).chmod(0o666)
        return {"LD_PRELOAD": str(library), VARIABLE: str(self.folder.resolve())}

    def cut(self) -> None:
        """Turn the power off: from now on no call of the processes changes or syncs a file."""
        with (self.folder / "state").open("r+b") as file, mmap.mmap(file.fileno(), 4) as state:
            state[0] = 1

    def put_back(self, torn_seed: str = "") -> PowerCut:
        """Put the files back to what was synced, each sector that was not by chance where there is
        a seed; the processes must have ended.
        """
        with (self.folder / "undo").open("rb") as log:
            entries = list(_read_entries(log.fileno()))
            names = _list_undurable_names(entries)
            kept_names = random.Random(torn_seed).randint(0, len(names)) if torn_seed else 0
            for it in reversed(names[kept_names:]):
                self._take_name_back(it, os.pread(log.fileno(), it.length, it.bytes_at))
            paths = _find_paths(self.watched)
            histories = _select_unsynced(entries)
            taken = [
                _take_back(paths[key], log.fileno(), history, torn_seed)
                for key, history in histories.items()
                if key in paths
            ]
            unseen = {
                os.pread(log.fileno(), it.length, it.bytes_at)
                for it in entries
                if it.kind is RecordKind.UNSEEN
            }
        told = sorted(os.path.relpath(os.fsdecode(it), self.watched.resolve()) for it in unseen)
        syncs = sum(
            it.kind in (RecordKind.SYNC, RecordKind.SYNC_ALL, RecordKind.DURABLE) for it in entries
        )
        kept = sum(it.kept for it in taken)
        lost_bytes = SECTOR * (sum(it.sectors for it in taken) - kept)
        lost_names = len(names) - kept_names
        return PowerCut(lost_bytes, len(taken), kept, syncs, tuple(told), lost_names)

    def _take_name_back(self, it: UndoRecord, paths: bytes) -> None:
        """A folder that was removed since takes its names with it."""
        new, _, old = (Path(os.fsdecode(each)) for each in paths.partition(b"\0"))
        kept = self.folder / "gone" / str(it.size)
        with suppress(FileNotFoundError):
            if it.kind is RecordKind.NAMED:
                new.unlink()
            elif it.kind is RecordKind.RENAMED:
                new.rename(old)
            if it.size:
                kept.rename(new)


def _read_entries(log: int) -> Iterator[UndoRecord]:
    """Yield the records; the last may be torn by the kill, and its write did not begin then."""
    at, end = 0, os.fstat(log).st_size
    while at + RECORD.size <= end:
        magic, kind, device, inode, offset, length, size = RECORD.unpack(
            os.pread(log, RECORD.size, at)
        )
        if magic != MAGIC:
            raise HostError(f"the log of unsynced writes is damaged at byte {at}")
        begins = at + RECORD.size
        if begins + length > end:
            return
        yield UndoRecord(at, RecordKind(kind), (device, inode), offset, length, size, begins)
        at = begins + length


def _list_undurable_names(records: Sequence[UndoRecord]) -> list[UndoRecord]:
    """Return what was done to names and not synced, in its order."""
    left: list[UndoRecord] = []
    for it in records:
        if it.kind in NAMES:
            left.append(it)
        elif it.kind is RecordKind.SYNC:
            before = [each for each in left if each.place < it.offset]
            given = [each for each in before if each.kind is not RecordKind.REMOVED]
            folders = {it.file, *(each.folder for each in given if each.file == it.file)}
            synced = {each.place for each in before if each.folder in folders}
            left = [each for each in left if each.place not in synced]
        elif it.kind is RecordKind.SYNC_ALL:
            left = [each for each in left if each.place >= it.offset]
        elif it.kind is RecordKind.FOLDER_MOVED:
            left = []
    return left


def _find_paths(watched: Path) -> dict[FileKey, Path]:
    found = {}
    for place, _, names in os.walk(watched):
        for name in names:
            path = Path(place) / name
            told = path.lstat()
            found[told.st_dev, told.st_ino] = path
    return found


def _select_unsynced(entries: Sequence[UndoRecord]) -> dict[FileKey, list[UndoRecord]]:
    """Return of each file what came after its last sync began, in its order."""
    synced: dict[FileKey, int] = defaultdict(int)
    all_synced = 0
    for it in entries:
        if it.kind is RecordKind.SYNC:
            synced[it.file] = max(synced[it.file], it.offset)
        elif it.kind is RecordKind.SYNC_ALL:
            all_synced = max(all_synced, it.offset)
        elif it.kind is RecordKind.FRESH:
            synced[it.file] = it.place
    found: dict[FileKey, list[UndoRecord]] = defaultdict(list)
    for it in entries:
        if it.kind in (RecordKind.IMAGE, RecordKind.DURABLE) and it.place >= max(
            synced[it.file], all_synced
        ):
            found[it.file].append(it)
    return found


@dataclass(frozen=True)
class _TakenBack:
    """How many sectors of a file had been written and not synced, and how many stayed by chance."""

    sectors: int
    kept: int


def _take_back(path: Path, log: int, history: Sequence[UndoRecord], seed: str) -> _TakenBack:
    """Undo a file's writes, the newest first. What a synced write held at its end is put back
    after that; and so are, where there is a `seed`, the sectors that it draws.
    """
    with path.open("r+b", buffering=0) as opened:
        file, synced = opened.fileno(), []
        newest = _read_sectors(file, history)
        for it in reversed(history):
            if it.kind is RecordKind.DURABLE:
                synced.append((it.offset, os.pread(file, it.size, it.offset)))
            else:
                os.pwrite(file, os.pread(log, it.length, it.bytes_at), it.offset)
                os.ftruncate(file, it.size)
        for offset, durable in reversed(synced):
            os.pwrite(file, durable, offset)
        drawn = random.Random(f"{seed}/{path.name}")
        kept = [number for number in sorted(newest) if seed and drawn.random() < 0.5]
        for number in kept:
            os.pwrite(file, newest[number], number * SECTOR)
    return _TakenBack(len(newest), len(kept))


def _read_sectors(file: int, history: Sequence[UndoRecord]) -> dict[int, bytes]:
    """Return, by number, the sectors of a file that its unsynced writes reached, as they are."""
    size, numbers = os.fstat(file).st_size, set[int]()
    least = min((it.size for it in history if it.kind is RecordKind.IMAGE), default=size)
    reached = [(it.offset, it.offset + it.length) for it in history if it.kind is RecordKind.IMAGE]
    for begin, end in [*reached, (least, size)]:
        numbers.update(range(begin // SECTOR, -(-end // SECTOR)))
    found = {number: os.pread(file, SECTOR, number * SECTOR) for number in numbers}
    return {number: held for number, held in found.items() if held}
