"""A log's file as lines, read once as a stream: nothing here holds more than one statement, and of
one that is longer than the limit only the beginning.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from dyno.workloads.replay.compressed import open_log
from dyno.workloads.replay.logs import BEGINNING, LogEntry, Reasons
from dyno.workloads.replay.shippers import (
    NumberedLine,
    Unwrapping,
    choose_tailed,
    unpack_lines,
)


@dataclass(frozen=True)
class LogFile:
    """A log's file, and what is known of it: `prefix` is PostgreSQL's `log_line_prefix`, "" where
    nobody says it, and `likely_prefix` that of a server which may have written it; `unwrappings`
    what shippers wrote before its lines, the outermost first; does a carriage return end each line
    (`has_returns`)? `tailed`: the one that is read of several files which `tail` joined (None: it
    did not). `skipped`: lines of others, once it was read.
    """

    path: Path
    prefix: str = ""
    unwrappings: tuple[Unwrapping, ...] = ()
    has_returns: bool = False
    likely_prefix: str = ""
    tailed: str | None = None
    skipped: Reasons = field(default_factory=Reasons, compare=False)

    def read_lines(self, limit: int) -> Lines:
        """Its lines, those over `limit` characters cut."""
        return Lines(self, limit)

    def read_head(self, count: int, limit: int) -> list[str]:
        """The first lines as they are in the file, with their ends."""
        with open_log(self.path) as opened, _decode(opened) as file:
            return [line for _ in range(count) if (line := file.readline(limit))]


class Lines:
    """The lines of a file with their numbers, without their ends, read once. Of a line over `limit`
    characters there is the beginning, and `cut` is the length of what is not there, `cut_quotes`
    how many double quotes that has. `at` and `process` are when and by whom the line was shipped.
    """

    def __init__(self, file: LogFile, limit: int) -> None:
        self.cut, self.cut_quotes, self._file, self._limit = 0, 0, file, limit
        self.at, self.process = "", ""

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """The numbers and the lines."""
        self._file.skipped.clear()
        if self._file.tailed is None and not self._file.unwrappings:
            yield from self._read_raw()
            return
        lines: Iterator[NumberedLine] = (NumberedLine(*line) for line in self._read_raw())
        if self._file.tailed is not None:
            lines = choose_tailed(lines, self._file.tailed, self._file.skipped)
        for unwrapping in self._file.unwrappings:
            lines = unpack_lines(lines, unwrapping, self._file.skipped)
        for number, text, self.at, self.process in lines:
            yield number, text

    def _read_raw(self) -> Iterator[tuple[int, str]]:
        limit, end = self._limit, "\r\n" if self._file.has_returns else "\n"
        with open_log(self._file.path) as opened, _decode(opened) as file:
            readline, number = file.readline, 0
            while line := readline(limit):
                number += 1
                if number == 1:
                    line = line.removeprefix("\ufeff")
                if line[-1:] != "\n" and len(line) == limit:
                    while more := readline(1 << 16):
                        self.cut += len(more.rstrip("\r\n"))
                        self.cut_quotes += more.count('"')
                        if more[-1] == "\n":
                            break
                    yield number, line
                    self.cut = self.cut_quotes = 0
                else:
                    yield number, line.removesuffix(end).removesuffix("\n")


@contextmanager
def _decode(opened: IO[bytes]) -> Iterator[io.TextIOWrapper]:
    decoding = io.TextIOWrapper(opened, encoding="utf-8", errors="surrogateescape", newline="\n")
    try:
        yield decoding
    finally:
        # whoever opened it closes it
        decoding.detach()


class Gathered:
    """A text gathered line by line, of which the beginning is kept where it is over `limit`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts = list[str]()
        self.letters = 0
        #: It is the line that it began with, whole.
        self.is_line = False

    def begin(self, line: str, cut: int = 0) -> None:
        """Begins with a line, of which `cut` characters are left out."""
        self._parts, self.letters = [line], len(line) + cut
        self.is_line = self.letters <= self._limit
        if not self.is_line:
            self._parts = [line[:BEGINNING]]

    def add(self, line: str, cut: int = 0) -> None:
        """Goes on with another line."""
        self.letters += len(line) + cut + 1
        self.is_line = False
        if self.letters <= self._limit:
            self._parts.append(line)
        elif len(self._parts) != 1 or len(self._parts[0]) > BEGINNING:
            self._parts = ["\n".join([*self._parts, line])[:BEGINNING]]

    def end(self) -> tuple[str, int]:
        """The text, and its length where that is over the limit, else 0."""
        return "\n".join(self._parts), self.letters if self.letters > self._limit else 0

    def put_into(self, entry: LogEntry) -> LogEntry:
        """The entry with this text."""
        sql, letters = self.end()
        return entry._replace(sql=sql, letters=letters)
