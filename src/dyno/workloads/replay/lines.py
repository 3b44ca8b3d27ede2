"""A log's file as lines, read once as a stream: nothing here holds more than one statement, and of
one that is longer than the limit only the beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dyno.workloads.replay.logs import BEGINNING, LogEntry


@dataclass(frozen=True)
class LogFile:
    """A log's file, and what its user says of it: `prefix` is PostgreSQL's `log_line_prefix`, ""
    where it is not said.
    """

    path: Path
    prefix: str = ""

    def read_lines(self, limit: int) -> Lines:
        """Its lines, those over `limit` characters cut."""
        return Lines(self.path, limit)


class Lines:
    """The lines of a file with their numbers, without their ends, read once. Of a line over `limit`
    characters there is the beginning, and `cut` is the length of what is not there, `cut_quotes`
    how many double quotes that has.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.cut, self.cut_quotes, self._path, self._limit = 0, 0, path, limit

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """The numbers and the lines."""
        limit = self._limit
        with self._path.open(encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            readline, number = file.readline, 0
            while line := readline(limit):
                number += 1
                if line[-1] != "\n" and len(line) == limit:
                    while more := readline(1 << 16):
                        self.cut += len(more.rstrip("\r\n"))
                        self.cut_quotes += more.count('"')
                        if more[-1] == "\n":
                            break
                    yield number, line
                    self.cut = self.cut_quotes = 0
                else:
                    yield number, line.rstrip("\r\n")


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
