"""What changed from one sample of a source to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dyno.servers.watch.source import CHANGE, GONE, WHOLE, Row, WatchSource

#: As it is written: time, kind, and the source's columns.
Recorded = list[str | int | None]


@dataclass(frozen=True)
class SampleTime:
    """How a sample was taken: `at` (UTC), whether `all_rows` were asked for, whether every value
    is to be written `anew`, and whether the server has `restarted` since the last one.
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
        """Takes these for the last ones: a record's, of an earlier watcher."""
        self._last = {tuple(row[self._keys]): row for row in rows}
        self._began = True

    def record_changes(self, rows: Sequence[Row], look: SampleTime) -> list[Recorded]:
        """What is to be recorded of a sample's rows; afterwards they are the last ones.

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
            found += [self._record_gone(key, look) for key in known.keys() - last.keys()]
        self._last, self._began = last, True
        return found

    def _record_row(
        self, row: Row, before: Row | None, look: SampleTime, anew: bool
    ) -> list[Recorded]:
        """The row's change, and before it the whole row where changes are to count on from it."""
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

    def _record_gone(self, key: tuple[str | None, ...], look: SampleTime) -> Recorded:
        rest = len(self.source.columns) - len(key)
        return [look.at, GONE, *key, *[None] * rest]
