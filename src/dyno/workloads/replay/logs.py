"""A server's log as what was sent when, by whom; and what reads one (each engine's own).

A log is read as a stream: nothing here holds more than one statement, and of one that is longer
than the limit only the beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from dyno.workloads.replay.statements import Dialect

#: Characters of the longest statement that is played, and what is kept of one that is longer.
LIMIT, BEGINNING = 16 << 20, 200
#: Places of one kind that a report lists.
PLACES = 3


class LogEntry(NamedTuple):
    """A statement of a log, sent at `at_s` (seconds since 1970) by `session`; `values` are those of
    its parameters, None for NULL.

    `database` is where the session was, "" where the log does not say; `line` where it begins.
    Bytes that are no UTF-8 are escaped by surrogates. `letters` is 0, or how many there are of one
    that is longer than the limit, of which `sql` is the beginning.
    """

    at_s: float
    session: str
    sql: str
    line: int
    values: tuple[str | None, ...] = ()
    database: str = ""
    duration_s: float = 0.0
    letters: int = 0


@dataclass
class LeftOutStatements:
    """What is not played for one reason: how many, and the lines of the first, with remarks."""

    count: int = 0
    lines: list[int] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def add(self, line: int, remark: str = "") -> None:
        """One more."""
        self.count += 1
        if len(self.lines) < PLACES:
            self.lines.append(line)
            self.remarks.append(remark)

    def __str__(self) -> str:
        """Where the first are."""
        more = ", …" if self.count > len(self.lines) else ""
        plural = "s" if self.count > 1 else ""
        told = [
            f"{line}: {remark}" if remark else str(line)
            for line, remark in zip(self.lines, self.remarks, strict=True)
        ]
        return f"line{plural} {', '.join(told)}{more}"


#: Reasons that are told apart.
REASONS = 60


class Reasons(dict[str, LeftOutStatements]):
    """What is left out, by its reason."""

    def add(self, why: str, line: int, remark: str = "") -> None:
        """One more."""
        if why not in self and len(self) >= REASONS:
            why = "for other reasons"
        self.setdefault(why, LeftOutStatements()).add(line, remark)


@dataclass(frozen=True)
class Log:
    """A log that is read while its `entries` are gone through, once; `kind` in words. `unread`:
    lines that say nothing a replay could use, as far as it was read.
    """

    kind: str
    dialect: Dialect
    entries: Iterable[LogEntry]
    unread: Reasons = field(default_factory=Reasons)


class LogReader(Protocol):
    """Reads logs of one kind; `kind` in words, `written_by` what makes a server write one."""

    kind: str
    written_by: str

    def knows(self, head: Sequence[str]) -> bool:
        """Is it of this kind, by its first lines?"""

    def read(self, path: Path, limit: int) -> Log:
        """All statements in the order of the log, those over `limit` characters cut; `UsageError`
        (while they are read) where a replay is lost.
        """


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
