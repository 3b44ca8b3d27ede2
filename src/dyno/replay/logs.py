"""A server's log as what was sent when, by whom; and what reads one (each engine's own)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from dyno.replay.statements import Dialect


@dataclass(frozen=True)
class Entry:
    """A statement of a log, sent at `at_s` (seconds since 1970) by `session`; `values` are those of
    its parameters, None for NULL.

    `database` is where the session was, "" where the log does not say; `line` where it begins.
    """

    at_s: float
    session: str
    sql: str
    line: int
    values: tuple[str | None, ...] = ()
    database: str = ""
    duration_s: float = 0.0


@dataclass(frozen=True)
class Unread:
    """A line of a log that says nothing a replay could use, and why."""

    why: str
    line: int


@dataclass(frozen=True)
class Log:
    """A log as read; `kind` in words."""

    kind: str
    dialect: Dialect
    entries: tuple[Entry, ...]
    unread: tuple[Unread, ...] = ()


class LogReader(Protocol):
    """Reads logs of one kind; `kind` in words, `written_by` what makes a server write one."""

    kind: str
    written_by: str

    def knows(self, head: Sequence[str]) -> bool:
        """Is it of this kind, by its first lines?"""

    def read(self, path: Path) -> Log:
        """All statements, by the time at which they began; `UsageError` where a replay is lost."""


def by_time(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Entries of statements that had ended when they were logged, by the time at which they began.

    A session's own stay in the order of the log: times are of milliseconds, and a statement may
    seem to have begun before the one before it.
    """
    latest_s: dict[str, float] = {}
    found = []
    for entry in entries:
        at_s = max(entry.at_s, latest_s.get(entry.session, entry.at_s))
        latest_s[entry.session] = at_s
        found.append(replace(entry, at_s=at_s))
    return tuple(sorted(found, key=lambda entry: entry.at_s))


def numbered(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers, without their ends."""
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        for number, line in enumerate(file, 1):
            yield number, line.rstrip("\r\n")
