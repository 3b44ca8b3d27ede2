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
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from dyno.engines.postgres.dialect import DIALECT
from dyno.errors import UsageError
from dyno.workloads.replay.lines import Gathered, LogFile
from dyno.workloads.replay.logs import BEGINNING, Log, LogEntry, Reasons

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
#: stderr: what stands between the prefix and the message.
_SEVERITIES = (
    *("LOG", "DETAIL", "ERROR", "FATAL", "PANIC", "WARNING", "NOTICE", "INFO", "HINT", "CONTEXT"),
    *("DEBUG", "DEBUG1", "DEBUG2", "DEBUG3", "DEBUG4", "DEBUG5", "STATEMENT", "QUERY", "LOCATION"),
)
#: What a statement's message begins with; the statement follows.
_MESSAGE = re.compile(
    r"(?:duration: ([\d.]+) ms  )?(statement|execute (?!fetch from)[^:\n]*): ", re.DOTALL
)
_PARAMETERS = re.compile(r"^(?:P|p)arameters: (.*)$", re.DOTALL)
_VALUE = re.compile(r"\$(\d+) = (?:'((?:[^']++|'')*+)'|(NULL))")


class _Message(NamedTuple):
    """What any of the three forms says of one message; `letters` as of an `LogEntry`."""

    line: int
    time: str
    session: str
    database: str
    severity: str
    text: str
    letters: int = 0
    detail: str = ""


def _parse_seconds(text: str) -> float:
    if text[10:11] == " ":
        fraction = text[19:].partition(" ")[0]
        return _parse_second(text[:19]) + (float(fraction) if fraction else 0.0)
    return float(text) if _EPOCH.fullmatch(text) else 0.0


@lru_cache(maxsize=64)
def _parse_second(text: str) -> float:
    at = datetime.strptime(text, "%Y-%m-%d %H:%M:%S")
    return at.replace(tzinfo=UTC).timestamp()


def _parse_values(detail: str) -> tuple[str | None, ...]:
    found = _PARAMETERS.match(detail)
    if found is None:
        return ()
    return tuple(
        None if value[3] else value[2].replace("''", "'") for value in _VALUE.finditer(found[1])
    )


def _read_entries(messages: Iterable[_Message]) -> Iterator[LogEntry]:
    """The statements of a log's messages."""
    for message in messages:
        found = _MESSAGE.match(message.text) if message.severity == "LOG" else None
        if found is None:
            continue
        duration_s = float(found[1] or 0) / 1000
        began_s = _parse_seconds(message.time) - duration_s
        values = _parse_values(message.detail) if message.detail else ()
        place = (message.session, message.text[found.end() :], message.line)
        yield LogEntry(began_s, *place, values, message.database, duration_s, message.letters)


class StderrLog:
    """Lines with a prefix; those that follow begin with a tab."""

    kind = "PostgreSQL's log (stderr)"
    written_by = f"{LOGS_ALL}, with %m and %p in log_line_prefix"

    def knows(self, head: Sequence[str]) -> bool:
        """Is a line with LOG among the first?"""
        return any((found := _split_line(line)) and found[1] == "LOG" for line in head)

    def read(self, file: LogFile, limit: int) -> Log:
        """All statements; `UsageError` where the prefix says no time or no session."""
        return Log(self.kind, DIALECT, _read_entries(_join_messages(_read_stderr_log(file, limit))))


def _split_line(line: str) -> tuple[str, str, str] | None:
    """Prefix, severity and message of a line; None where it goes on with a message."""
    end = line.find(":  ")
    while end >= 0:
        before = line[max(0, end - 9) : end]
        if before.endswith(_SEVERITIES):
            severity = "LOG"
            if not before.endswith(severity):
                severity = max((it for it in _SEVERITIES if before.endswith(it)), key=len)
            return line[: end - len(severity)], severity, line[end + 3 :]
        end = line.find(":  ", end + 1)
    return None


def _read_stderr_log(file: LogFile, limit: int) -> Iterator[_Message]:
    lines, text = file.read_lines(limit), Gathered(limit)
    begun: tuple[int, str, str, str, str] | None = None
    for number, line in lines:
        found = None if line.startswith("\t") else _split_line(line)
        if found is None:
            if begun is not None:
                text.add(line.removeprefix("\t"), lines.cut)
            continue
        if begun is not None:
            yield _Message(*begun, *text.end())
        prefix, severity, rest = found
        begun = (number, *_parse_prefix(prefix, number, file.path), severity)
        text.begin(rest, lines.cut)
    if begun is not None:
        yield _Message(*begun, *text.end())


#: Characters of messages that a DETAIL may follow, which stands a few lines behind them; what each
#: takes beside its text.
WAITING, MESSAGE = 8 << 20, 1000


def _join_messages(messages: Iterable[_Message]) -> Iterator[_Message]:
    """Messages with the DETAIL that follows them in the same session."""
    waiting, size = dict[str, _Message](), 0
    for message in messages:
        before = waiting.pop(message.session, None)
        size -= len(before.text) + MESSAGE if before else 0
        if message.severity == "DETAIL" and before is not None:
            letters = message.letters or before.letters
            yield before._replace(detail=message.text, letters=letters)
            continue
        if before is not None:
            yield before
        if message.severity == "LOG":
            waiting[message.session] = message
            size += len(message.text) + MESSAGE
            while size > WAITING:
                first = waiting.pop(next(iter(waiting)))
                size -= len(first.text) + MESSAGE
                yield first
    yield from waiting.values()


def _parse_prefix(prefix: str, line: int, path: Path) -> tuple[str, str, str]:
    """Time, session and database of a line's prefix."""
    time = _TIME.search(prefix) or _EPOCH.search(prefix)
    session, named = _parse_session(prefix.replace(time[0], " ") if time else prefix)
    if time is None or not session:
        what = "time" if time is None else "session"
        raise UsageError(
            f"{path}, line {line}: the prefix '{prefix.strip()[:40]}' has no {what}",
            hint="a replay needs %m and %p: log_line_prefix = '%m [%p] %q%u@%d '",
        )
    return time[0], session, named


@lru_cache(maxsize=1 << 12)
def _parse_session(rest: str) -> tuple[str, str]:
    """Session and database of a prefix without its time; "" where it says none."""
    session = next((found for form in _SESSIONS if (found := form.search(rest))), None)
    database = _DATABASE.search(rest)
    named = (database[1] or database[2]) if database else ""
    return session[1] if session else "", named


#: Columns of csvlog.
_TIME_AT, _DATABASE_AT, _PROCESS_AT, _SESSION_AT, _SEVERITY_AT = 0, 2, 3, 5, 11
_MESSAGE_AT, _DETAIL_AT = 13, 14
_CSV_COLUMNS = 23


class CsvLog:
    """`log_destination = csvlog`."""

    kind = "PostgreSQL's csvlog"
    written_by = LOGS_ALL

    def knows(self, head: Sequence[str]) -> bool:
        """Does it begin with a time, and have the columns?"""
        lines = [line for line in head if line.strip()]
        row = next(_parse_csv_rows(f"{line}\n" for line in lines), [])
        # of a row that goes on behind the first lines there is all up to its message
        has_columns = len(row) > _MESSAGE_AT and bool(_TIME.match(row[_TIME_AT]))
        return has_columns and row[_PROCESS_AT].isdecimal()

    def read(self, file: LogFile, limit: int) -> Log:
        """All statements."""
        unread = Reasons()
        return Log(self.kind, DIALECT, _read_entries(_read_csv_log(file, limit, unread)), unread)


def _parse_csv_rows(lines: Iterable[str]) -> Iterator[list[str]]:
    csv.field_size_limit(1 << 30)
    return csv.reader(lines)


def _read_csv_log(file: LogFile, limit: int, unread: Reasons) -> Iterator[_Message]:
    rows = _read_rows(file, limit)
    for number, text, letters in rows:
        row = next(_parse_csv_rows((text,)))
        if letters:
            yield _cut(row, number, letters)
        elif len(row) >= _CSV_COLUMNS:
            place = (row[_TIME_AT], row[_SESSION_AT], row[_DATABASE_AT], row[_SEVERITY_AT])
            yield _Message(number, *place, row[_MESSAGE_AT], detail=row[_DETAIL_AT])
        elif text:
            unread.add("a row with too few columns", number)


def _read_rows(file: LogFile, limit: int) -> Iterator[tuple[int, str, int]]:
    """Rows, which end where all quotes are closed: where, the text, and its length if it is cut."""
    lines, text = file.read_lines(limit), Gathered(limit)
    first, is_open = 0, False
    for number, line in lines:
        if is_open:
            text.add(line, lines.cut)
        else:
            first = number
            text.begin(line, lines.cut)
        is_open ^= (line.count('"') + lines.cut_quotes) % 2 == 1
        if not is_open:
            yield first, *text.end()
    if is_open:
        yield first, *text.end()


def _cut(row: list[str], number: int, letters: int) -> _Message:
    """The message of a row of which only the beginning is there."""
    time, session, database, severity, text = (
        row[at] if len(row) > at else default
        for at, default in (
            *((_TIME_AT, ""), (_SESSION_AT, ""), (_DATABASE_AT, "")),
            *((_SEVERITY_AT, "LOG"), (_MESSAGE_AT, "statement: ")),
        )
    )
    return _Message(number, time, session, database, severity, text, letters)


class JsonLog:
    """`log_destination = jsonlog` (15 and later)."""

    kind = "PostgreSQL's jsonlog"
    written_by = LOGS_ALL

    def knows(self, head: Sequence[str]) -> bool:
        """Is its first line such an object?"""
        first = next((line for line in head if line.strip()), "")
        said = _parse_object(first)
        names = ("timestamp", "error_severity")
        is_cut = first.startswith("{") and not said
        return all(_find_value(first, name) if is_cut else name in said for name in names)

    def read(self, file: LogFile, limit: int) -> Log:
        """All statements."""
        unread = Reasons()
        return Log(self.kind, DIALECT, _read_entries(_read_json_log(file, limit, unread)), unread)


def _read_json_log(file: LogFile, limit: int, unread: Reasons) -> Iterator[_Message]:
    lines = file.read_lines(limit)
    for number, line in lines:
        said = _parse_object(line) if not lines.cut else {}
        if "timestamp" in said:
            names = ("timestamp", "session_id", "dbname", "error_severity", "message")
            time, session, database, severity, text = (str(said.get(it, "")) for it in names)
            detail = str(said.get("detail", ""))
            yield _Message(number, time, session, database, severity, text, detail=detail)
        elif lines.cut and (text := _find_value(line, "message")):
            session, letters = _find_value(line, "session_id"), len(line) + lines.cut
            severity = _find_value(line, "error_severity")
            yield _Message(
                number, _find_value(line, "timestamp"), session, "", severity, text, letters
            )
        else:
            unread.add("a line that is no object with a timestamp", number)


def _find_value(line: str, name: str) -> str:
    """What the beginning of a line says of a name."""
    found = re.search(rf'"{name}": ?"([^"]{{0,{BEGINNING}}})', line)
    return found[1] if found else ""


def _parse_object(line: str) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except json.JSONDecodeError:
        return {}
    return said if isinstance(said, dict) else {}


LOG_READERS = (JsonLog(), CsvLog(), StderrLog())
