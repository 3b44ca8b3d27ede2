"""A server's log as what was sent when, by whom; and what reads one (each engine's own).

A log is read as a stream: nothing here holds more than one statement, and of one that is longer
than the limit only the beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from dyno.workloads.replay.statements import Dialect

#: Characters of the longest statement that is played, and what is kept of one that is longer.
LIMIT, BEGINNING = 16 << 20, 200
#: Places of one kind that a report lists.
PLACES = 3


#: A byte that is no UTF-8, as `Lines` says it; and what is neither that nor a letter (`\\ud800` in
#: JSON), which no server sent.
_ODD, _NO_LETTER = re.compile("[\udc80-\udcff]"), re.compile("[\ud800-\udc7f\udd00-\udfff]")

#: Seconds: a longer statement, and a later time (since 1970), are errors of a log.
DURATION_MOST_S, TIME_MOST_S = 90 * 86400.0, 1e10
ABSURD = "entries with a duration that cannot be: they count as begun when they ended"
NO_TIME = "entries with a time that cannot be: they count as logged when the one before was"


def parse_number(text: str, most: float) -> float | None:
    """A number of a log from 0 up to `most`; None where the log is damaged there."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < most else None


def replace_no_letters(text: str) -> str:
    """A text of a log in which each code point that is no letter is U+FFFD."""
    return text if text.isascii() else _NO_LETTER.sub("\ufffd", text)


def has_odd_bytes(text: str) -> bool:
    """Does a text of a log have bytes that are no UTF-8?"""
    return not text.isascii() and bool(_ODD.search(text))


class LogEntry(NamedTuple):
    """A statement of a log, sent at `at_s` (seconds since 1970) by `session`; `values` are those of
    its parameters, None for NULL.

    `database` is where the session was, "" where the log does not say; `line` where it begins.
    Bytes that are no UTF-8 are escaped by surrogates. `letters` is 0, or how many there are of one
    that is longer than the limit, of which `sql` is the beginning. `lost` says why another is not
    there as it was sent, and completes "left out: 3 …". `user` is "", rows are None where the log
    does not say it. `calls`: it stands for so many that a server has counted (0: for itself).
    """

    at_s: float
    session: str
    sql: str
    line: int
    values: tuple[str | None, ...] = ()
    database: str = ""
    duration_s: float = 0.0
    letters: int = 0
    lost: str = ""
    user: str = ""
    rows_sent: int | None = None
    rows_read: int | None = None
    calls: int = 0


#: Before a statement of which the values are not known: it is prepared, and no more.
PREPARED = "PREPARE dyno AS "


class UnplayedStatement(NamedTuple):
    """A statement that cannot be played, and `why`; the server was sent `calls` of it."""

    digest: str
    why: str
    calls: int


@dataclass
class LeftOutStatements:
    """What is not played for one reason: how many, and the lines of the first, with remarks; `hint`
    says what would play them.
    """

    hint: str = ""
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


#: What to do about a log that was changed since, or of which a part is missing.
AS_WRITTEN = "replay the log as the server wrote it, whole"
#: Reasons that are told apart.
REASONS = 60


class Reasons(dict[str, LeftOutStatements]):
    """What is left out, by its reason."""

    def add(self, why: str, line: int, remark: str = "", hint: str = "") -> None:
        """One more."""
        if why not in self and len(self) >= REASONS:
            why = "for other reasons"
        self.setdefault(why, LeftOutStatements(hint)).add(line, remark)

    def find_hint(self, otherwise: str) -> str:
        """What would play most of them; `otherwise` where that is not known."""
        most = max(self.values(), key=lambda it: it.count, default=LeftOutStatements())
        return most.hint or otherwise


@dataclass(frozen=True)
class Log:
    """A log that is read while its `entries` are gone through, once; `kind` in words. As far as it
    was read: `unread`, lines that say nothing a replay could use, and `notes`, what the log does
    not tell apart, with what follows from that. `has_inner`: what triggers and functions sent is
    written as the session's own. `unplayed` are those that a server has counted, and not kept as
    they were sent.
    """

    kind: str
    dialect: Dialect
    entries: Iterable[LogEntry]
    unread: Reasons = field(default_factory=Reasons)
    notes: Reasons = field(default_factory=Reasons)
    has_inner: bool = False
    unplayed: tuple[UnplayedStatement, ...] = ()
