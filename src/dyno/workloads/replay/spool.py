"""Spools a log while it is read: in memory up to a bound, beyond it in an unnamed file that is
gone with the process.
"""

from __future__ import annotations

import marshal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

#: Bytes in memory, about, and what a record takes beside its text.
IN_MEMORY, RECORD = 4 << 20, 400


class SpoolRecord(NamedTuple):
    """A statement that is kept: `number` is that of its kind, -1 where it is judged anew."""

    at_s: float
    number: int
    line: int
    sql: str
    values: tuple[str | None, ...]
    database: str
    duration_s: float

    @property
    def span_s(self) -> tuple[float, float]:
        return self.at_s, self.at_s + self.duration_s


class _Block(NamedTuple):
    """Records on disk: where, which of their chain, and when the last was sent and answered."""

    offset: int
    length: int
    first: int
    records: int
    last_s: tuple[float, float]


class Chain:
    """A session's records in order. Those from a place on can be taken back."""

    __slots__ = ("_blocks", "_first", "_spool", "_tail")

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._blocks: list[_Block] = []
        #: Records that are in memory yet, and the place of the first.
        self._tail: list[SpoolRecord] = []
        self._first = 0

    def __len__(self) -> int:
        return self._first + len(self._tail)

    def append(self, record: SpoolRecord) -> None:
        if not self._tail:
            self._spool.changed[id(self)] = self
        self._tail.append(record)
        self._spool.in_memory += RECORD + len(record.sql)
        if self._spool.in_memory > self._spool.in_memory_most:
            self._spool.write_all()

    def __iter__(self) -> Iterator[SpoolRecord]:
        """All records, a block of them in memory at a time."""
        return self._iterate_from(0)

    def _iterate_from(self, place: int) -> Iterator[SpoolRecord]:
        for block in self._blocks:
            if block.first + block.records > place:
                yield from self._spool.read(block)[max(0, place - block.first) :]
        yield from self._tail[max(0, place - self._first) :]

    @property
    def last_s(self) -> tuple[float, float]:
        return self._tail[-1].span_s if self._tail else self._blocks[-1].last_s

    def take_back(self, place: int) -> Iterator[SpoolRecord]:
        """Yield the records from `place` on; once all are read they are gone."""
        yield from self._iterate_from(place)
        if place >= self._first:
            del self._tail[place - self._first :]
            return
        while self._blocks and self._blocks[-1].first >= place:
            self._blocks.pop()
        if self._blocks and self._blocks[-1].first + self._blocks[-1].records > place:
            last = self._blocks.pop()
            self._tail, self._first = self._spool.read(last)[: place - last.first], last.first
            self._spool.changed[id(self)] = self
        else:
            self._tail, self._first = [], place

    def write(self) -> None:
        if self._tail:
            self._blocks.append(self._spool.write(self._tail, self._first))
            self._first += len(self._tail)
            self._tail = []


class Spool:
    """The file of all chains, in `folder`; nothing can be read after its exit."""

    def __init__(self, folder: Path, in_memory_most: int = IN_MEMORY) -> None:
        self.in_memory_most = in_memory_most
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - open as long as we are
        self._end = 0
        #: Bytes in memory, about, and the chains that have something there.
        self.in_memory, self.changed = 0, dict[int, Chain]()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Free the room on disk."""
        self._file.close()

    def write_all(self) -> None:
        for chain in self.changed.values():
            chain.write()
        self.changed.clear()
        self.in_memory = 0

    def write(self, records: list[SpoolRecord], first: int) -> _Block:
        data = marshal.dumps([tuple(record) for record in records])
        self._file.seek(self._end)
        self._file.write(data)
        block = _Block(self._end, len(data), first, len(records), records[-1].span_s)
        self._end += len(data)
        return block

    def read(self, block: _Block) -> list[SpoolRecord]:
        self._file.seek(block.offset)
        return [SpoolRecord._make(each) for each in marshal.loads(self._file.read(block.length))]
