"""PostgreSQL's log as stderr, csvlog and jsonlog (manual, "Error Reporting and Logging").

Statements are logged by `log_statement` when they arrive, or by `log_min_duration_statement` when
they have ended, with their duration: they began that much earlier. Of stderr's lines the prefix is
the user's own (`log_line_prefix`): a time (%m, %t, %n) and a session (%c, or %p) have to be in it.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dyno.errors import UsageError
from dyno.replay.logs import Entry, Log, Unread, by_time, numbered
from dyno.replay.statements import Dialect
from dyno.replay.tokens import Quoting

QUOTING = Quoting(dollars=True, backslashes=False, names_in_double=True)
DIALECT = Dialect(QUOTING, ("information_schema", "pg_catalog"))
#: What logs statements.
LOGS_ALL = "log_statement=all, or log_min_duration_statement=0"
_TIME = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)(?: ([A-Z]{2,5}|[+-]\d\d))?")
_EPOCH = re.compile(r"(?<![\d.])(\d{10}\.\d{3})(?!\d)")
#: A session's id, or its process' number, the surest way of writing it first.
_SESSIONS = (
    re.compile(r"(?<![\w.])([0-9a-f]{6,8}\.[0-9a-f]{1,6})(?![\w.])"),
    re.compile(r"\[(\d+)(?:-\d+)?\]"),
    re.compile(r"pid[=: ]+(\d+)"),
    re.compile(r"(?<![\w.:(-])(\d{2,7})(?![\w.:)-])"),
)
_DATABASE = re.compile(r"(?<!\w)db=(\w+)|(?<!\w)[\w-]+@([\w-]+)")
#: stderr: the prefix, how bad it is, the message.
_LINE = re.compile(
    r"^(.*?)(LOG|DETAIL|ERROR|FATAL|PANIC|WARNING|NOTICE|INFO|DEBUG\d?|HINT|CONTEXT|STATEMENT|QUERY"
    r"|LOCATION):  (.*)$"
)
_MESSAGE = re.compile(
    r"^(?:duration: ([\d.]+) ms  )?(statement|execute (?!fetch from)[^:]*|"
    r"(?:parse|bind|execute fetch from) [^:]*): (.*)$",
    re.DOTALL,
)
_PARAMETERS = re.compile(r"^(?:P|p)arameters: (.*)$", re.DOTALL)
_VALUE = re.compile(r"\$(\d+) = (?:'((?:[^']|'')*)'|(NULL))")


@dataclass(frozen=True)
class _Message:
    """What any of the three forms says of one message."""

    line: int
    time: str
    session: str
    database: str
    severity: str
    text: str
    detail: str = ""


def _seconds(text: str) -> float:
    if _EPOCH.fullmatch(text):
        return float(text)
    found = _TIME.match(text)
    if found is None:
        return 0.0
    form = "%Y-%m-%d %H:%M:%S.%f" if "." in found[1] else "%Y-%m-%d %H:%M:%S"
    return datetime.strptime(found[1], form).replace(tzinfo=UTC).timestamp()


def _values(detail: str) -> tuple[str | None, ...]:
    found = _PARAMETERS.match(detail)
    if found is None:
        return ()
    return tuple(
        None if value[3] else value[2].replace("''", "'") for value in _VALUE.finditer(found[1])
    )


def _log(kind: str, messages: Iterable[_Message], unread: Sequence[Unread] = ()) -> Log:
    """The statements of a log's messages, by the time at which they began."""
    entries = []
    for message in messages:
        found = _MESSAGE.match(message.text) if message.severity == "LOG" else None
        if found is None or found[2].startswith(("parse", "bind", "execute fetch from")):
            continue
        duration_s = float(found[1] or 0) / 1000
        began_s = _seconds(message.time) - duration_s
        values = _values(message.detail)
        place = (message.session, found[3], message.line)
        entries.append(Entry(began_s, *place, values, message.database, duration_s))
    return Log(kind, DIALECT, by_time(entries), tuple(unread))


class StderrLog:
    """Lines with a prefix; those that follow begin with a tab."""

    kind = "PostgreSQL's log (stderr)"
    written_by = f"{LOGS_ALL}, with %m and %p in log_line_prefix"

    def knows(self, head: Sequence[str]) -> bool:
        """Is a line with LOG among the first?"""
        return any((found := _LINE.match(line)) and found[2] == "LOG" for line in head)

    def read(self, path: Path) -> Log:
        """All statements; `UsageError` where the prefix says no time or no session."""
        return _log(self.kind, _joined(self._messages(path)))

    def _messages(self, path: Path) -> Iterator[_Message]:
        current: _Message | None = None
        for number, line in numbered(path):
            found = _LINE.match(line)
            if found is None or line.startswith("\t"):
                if current is not None:
                    text = f"{current.text}\n{line.removeprefix(chr(9))}"
                    current = _Message(**{**current.__dict__, "text": text})
                continue
            if current is not None:
                yield current
            current = _Message(number, *_prefix(found[1], number, path), found[2], found[3])
        if current is not None:
            yield current


def _joined(messages: Iterable[_Message]) -> Iterator[_Message]:
    """Messages with the DETAIL that follows them in the same session."""
    waiting: dict[str, _Message] = {}
    for message in messages:
        before = waiting.pop(message.session, None)
        if message.severity == "DETAIL" and before is not None:
            yield _Message(**{**before.__dict__, "detail": message.text})
            continue
        if before is not None:
            yield before
        if message.severity != "DETAIL":
            waiting[message.session] = message
    yield from waiting.values()


def _prefix(prefix: str, line: int, path: Path) -> tuple[str, str, str]:
    """Time, session and database of a line's prefix."""
    time = _TIME.search(prefix) or _EPOCH.search(prefix)
    rest = prefix.replace(time[0], " ") if time else prefix
    session = next((found for form in _SESSIONS if (found := form.search(rest))), None)
    if time is None or session is None:
        what = "time" if time is None else "session"
        raise UsageError(
            f"{path}, line {line}: the prefix '{prefix.strip()[:40]}' has no {what}",
            hint="a replay needs %m and %p: log_line_prefix = '%m [%p] %q%u@%d '",
        )
    database = _DATABASE.search(rest)
    named = (database[1] or database[2]) if database else ""
    return time[0], session[1], named


#: Columns of csvlog.
_TIME_AT, _DATABASE_AT, _SESSION_AT, _SEVERITY_AT, _MESSAGE_AT, _DETAIL_AT = 0, 2, 5, 11, 13, 14
_CSV_COLUMNS = 23


class CsvLog:
    """`log_destination = csvlog`."""

    kind = "PostgreSQL's csvlog"
    written_by = LOGS_ALL

    def knows(self, head: Sequence[str]) -> bool:
        """Does it begin with a time, and have the columns?"""
        first = next((line for line in head if line.strip()), "")
        return (
            bool(_TIME.match(first))
            and len(next(csv.reader([first]), [])) > _DETAIL_AT
            and (re.match(r'^[^,]*,("[^"]*")?,("[^"]*")?,\d+,', first) is not None)
        )

    def read(self, path: Path) -> Log:
        """All statements."""
        csv.field_size_limit(1 << 30)
        return _log(self.kind, self._messages(path))

    def _messages(self, path: Path) -> Iterator[_Message]:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            rows = csv.reader(file)
            for row in rows:
                if len(row) >= _CSV_COLUMNS:
                    yield _Message(
                        rows.line_num,
                        row[_TIME_AT],
                        row[_SESSION_AT],
                        row[_DATABASE_AT],
                        row[_SEVERITY_AT],
                        row[_MESSAGE_AT],
                        row[_DETAIL_AT],
                    )


class JsonLog:
    """`log_destination = jsonlog` (15 and later)."""

    kind = "PostgreSQL's jsonlog"
    written_by = LOGS_ALL

    def knows(self, head: Sequence[str]) -> bool:
        """Is its first line such an object?"""
        first = next((line for line in head if line.strip()), "")
        said = _object(first)
        return "timestamp" in said and "error_severity" in said

    def read(self, path: Path) -> Log:
        """All statements."""
        unread: list[Unread] = []
        return _log(self.kind, self._messages(path, unread), unread)

    def _messages(self, path: Path, unread: list[Unread]) -> Iterator[_Message]:
        for number, line in numbered(path):
            said = _object(line)
            if "timestamp" not in said:
                unread.append(Unread("a line that is no object with a timestamp", number))
                continue
            names = ("timestamp", "session_id", "dbname", "error_severity", "message", "detail")
            yield _Message(number, *(str(said.get(name, "")) for name in names))


def _object(line: str) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except json.JSONDecodeError:
        return {}
    return said if isinstance(said, dict) else {}


LOG_READERS = (JsonLog(), CsvLog(), StderrLog())
