"""PostgreSQL's log as stderr, csvlog and jsonlog (manual, "Error Reporting and Logging"), and what
it, programs around it and services write that is no log of statements to replay.

Lines of stderr have a prefix that is the user's own (`log_line_prefix`), with a time (%m, %t, %n)
and a session (%c, or %p) in it. Lines that go on with a message begin with a tab.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dyno.engines.postgres.log_prefix import (
    HINT,
    NOT_SHIPPED,
    STAMP,
    PrefixReader,
    PrefixWords,
    Shipped,
    check_setting,
    guess_prefix,
    try_setting,
)
from dyno.engines.postgres.logs import (
    DIALECT,
    LOGS_ALL,
    TIME,
    Message,
    is_statement,
    read_entries,
)
from dyno.workloads.replay.formats import Gathered, LogFile, RefusedLog
from dyno.workloads.replay.logs import AS_WRITTEN, BEGINNING, Log, Reasons, replace_no_letters

#: What stands between the prefix and the message.
_SEVERITIES = (
    *("LOG", "DETAIL", "ERROR", "FATAL", "PANIC", "WARNING", "NOTICE", "INFO", "HINT", "CONTEXT"),
    *("DEBUG", "DEBUG1", "DEBUG2", "DEBUG3", "DEBUG4", "DEBUG5", "STATEMENT", "QUERY", "LOCATION"),
)
#: Lines by which the prefix is known, and how many have to be gone through for these.
SAMPLE, SAMPLED_LINES = 1000, 50_000
BROKEN = "followed by a line that is neither a message nor goes on with one: it may be a part"


class StderrLog:
    """Lines with a prefix; those that follow begin with a tab."""

    kind = "PostgreSQL's log (stderr)"
    written_by = f"{LOGS_ALL}, with %m and %p in log_line_prefix"

    def knows(self, head: Sequence[str]) -> bool:
        return any((found := _split_line(line)) and found[1] == "LOG" for line in head)

    def read(self, file: LogFile, limit: int) -> Log:
        """All statements; `UsageError` where the prefix says no time or no session."""
        unread, notes = Reasons(), Reasons()
        messages = _join_messages(_read_stderr_log(file, limit, unread))
        return Log(self.kind, DIALECT, read_entries(messages, unread, notes), unread, notes)


def _split_line(line: str) -> tuple[str, str, str] | None:
    """Return prefix, severity and message of a line; None if it continues a message."""
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


def _choose_reader(file: LogFile) -> PrefixReader | None:
    """Return the reader of the log's prefixes; None if the log has no statement."""
    prefixes, every, by = list[str](), list[str](), NOT_SHIPPED
    lines = file.read_lines(1 << 12)
    for number, line in lines:
        found = None if line.startswith("\t") else _split_line(line)
        if found is not None:
            every.append(found[0])
            if found[1] == "LOG" and is_statement(found[2]):
                prefixes.append(found[0])
                by = Shipped(lines.at, lines.process)
        if len(prefixes) >= SAMPLE or number >= SAMPLED_LINES:
            break
    if file.prefix:
        return check_setting(file.prefix, prefixes, by)
    if file.likely_prefix and (reader := try_setting(file.likely_prefix, prefixes, by)):
        return reader
    return guess_prefix(prefixes, every, by) if prefixes else None


def _read_stderr_log(file: LogFile, limit: int, unread: Reasons) -> Iterator[Message]:
    reader = _choose_reader(file)
    lines, text = file.read_lines(limit), Gathered(limit)
    begun: tuple[int, str, str, str, str] | None = None
    lost = user = ""
    for number, line in lines:
        found = None if line.startswith("\t") else _split_line(line)
        if found is None:
            if begun is None:
                continue
            if line[:1] not in ("\t", ""):
                unread.add("a line that is no message and goes on with none", number)
                lost = BROKEN
            text.add(line.removeprefix("\t"), lines.cut)
            continue
        if begun is not None:
            yield Message(*begun, *text.end(), lost=lost, user=user)
        prefix, severity, rest = found
        by = Shipped(lines.at, lines.process) if lines.at else NOT_SHIPPED
        words = reader.read(prefix, by) if reader is not None else None
        if words is None:
            # of a process that is no session, or damaged
            if severity == "LOG" and is_statement(rest):
                what = "session" if re.search(STAMP, prefix) else "time"
                unread.add(f"a statement whose prefix has no {what}", number, prefix[:60], HINT)
                severity = ""
            words = PrefixWords("", "", "")
        time, session, database, user = words
        begun, lost = (number, time, session, database, severity), ""
        text.begin(rest, lines.cut)
    if begun is not None:
        yield Message(*begun, *text.end(), lost=lost, user=user)


#: Characters of messages that a DETAIL may follow, which stands a few lines behind them; what each
#: takes beside its text.
WAITING, MESSAGE = 8 << 20, 1000


def _join_messages(messages: Iterable[Message]) -> Iterator[Message]:
    """Messages with the DETAIL that follows them in the same session."""
    waiting, size = dict[str, Message](), 0
    for message in messages:
        if not message.session:
            if message.severity == "LOG":
                yield message
            continue
        before = waiting.pop(message.session, None)
        size -= len(before.text) + MESSAGE if before else 0
        if message.severity == "DETAIL" and before is not None:
            letters, lost = message.letters or before.letters, before.lost or message.lost
            yield before._replace(detail=message.text, letters=letters, lost=lost)
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


#: Columns of csvlog.
_TIME_AT, _USER_AT, _DATABASE_AT, _PROCESS_AT, _SESSION_AT, _SEVERITY_AT = 0, 1, 2, 3, 5, 11
_MESSAGE_AT, _DETAIL_AT = 13, 14
_CSV_COLUMNS = 23


class CsvLog:
    """`log_destination = csvlog`."""

    kind = "PostgreSQL's csvlog"
    written_by = LOGS_ALL

    def knows(self, head: Sequence[str]) -> bool:
        lines = [line for line in head if line.strip()]
        if lines and lines[0].strip('"').startswith("log_time"):
            del lines[0]  # names of columns, as COPY … WITH HEADER writes them
        row = _parse_row(f"{line}\n" for line in lines)
        # of a row that goes on behind the first lines there is all up to its message
        has_columns = len(row) > _MESSAGE_AT and bool(TIME.match(row[_TIME_AT]))
        return has_columns and row[_PROCESS_AT].isdecimal()

    def read(self, file: LogFile, limit: int) -> Log:
        unread, notes = Reasons(), Reasons()
        entries = read_entries(_read_csv_log(file, limit, unread), unread, notes)
        return Log(self.kind, DIALECT, entries, unread, notes)


def _parse_row(lines: Iterable[str]) -> list[str]:
    """The first row of these; empty where it is no CSV."""
    csv.field_size_limit(1 << 30)
    try:
        return next(csv.reader(lines), [])
    except csv.Error:
        return []


def _read_csv_log(file: LogFile, limit: int, unread: Reasons) -> Iterator[Message]:
    rows = _read_rows(file, limit)
    for number, text, letters in rows:
        row = _parse_row([text])
        if letters:
            yield _cut(row, number, letters)
        elif len(row) >= _CSV_COLUMNS and row[_TIME_AT] != "log_time":
            place = (row[_TIME_AT], row[_SESSION_AT], row[_DATABASE_AT], row[_SEVERITY_AT])
            text, detail, user = row[_MESSAGE_AT], row[_DETAIL_AT], row[_USER_AT]
            yield Message(number, *place, text, detail=detail, user=user)
        elif text and row[:1] != ["log_time"]:
            unread.add("a row with too few columns", number, hint=AS_WRITTEN)


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


def _cut(row: list[str], number: int, letters: int) -> Message:
    """Return the message of a row of which only the beginning is kept."""
    time, session, database, severity, text = (
        row[at] if len(row) > at else default
        for at, default in (
            *((_TIME_AT, ""), (_SESSION_AT, ""), (_DATABASE_AT, "")),
            *((_SEVERITY_AT, "LOG"), (_MESSAGE_AT, "statement: ")),
        )
    )
    return Message(number, time, session, database, severity, text, letters)


#: Names of what is read: PostgreSQL's own, and CloudNativePG's within `record`.
_OWN = ("timestamp", "session_id", "dbname", "error_severity", "message", "detail", "user")
_OPERATOR = (
    *("log_time", "session_id", "database_name", "error_severity", "message", "detail"),
    "user_name",
)


class JsonLog:
    """`log_destination = jsonlog` (15 and later), and what CloudNativePG makes of csvlog."""

    kind = "PostgreSQL's jsonlog"
    written_by = LOGS_ALL

    def knows(self, head: Sequence[str]) -> bool:
        for line in head:
            if line.startswith("{") and _find_words(_parse_object(line)):
                return True
        first = next((line for line in head if line.strip()), "")
        is_cut = first.startswith("{") and not _parse_object(first)
        return is_cut and all(_find_value(first, it) for it in ("timestamp", "error_severity"))

    def read(self, file: LogFile, limit: int) -> Log:
        unread, notes = Reasons(), Reasons()
        entries = read_entries(_read_json_log(file, limit, unread), unread, notes)
        return Log(self.kind, DIALECT, entries, unread, notes)


def _find_words(said: dict[str, Any]) -> tuple[str, ...]:
    """Return time, session, database, severity, message, detail and user; empty if it is no
    message.
    """
    record = said.get("record")
    if isinstance(record, dict) and "log_time" in record:
        return tuple(replace_no_letters(str(record.get(it) or "")) for it in _OPERATOR)
    if "timestamp" in said and "error_severity" in said:
        return tuple(replace_no_letters(str(said.get(it) or "")) for it in _OWN)
    return ()


def _read_json_log(file: LogFile, limit: int, unread: Reasons) -> Iterator[Message]:
    lines = file.read_lines(limit)
    for number, line in lines:
        said = _parse_object(line) if not lines.cut else {}
        if words := _find_words(said):
            time, session, database, severity, text, detail, user = words
            place = (time, session, database, severity)
            yield Message(number, *place, text, detail=detail, user=user)
        elif lines.cut and (text := _find_value(line, "message")):
            session, letters = _find_value(line, "session_id"), len(line) + lines.cut
            severity = _find_value(line, "error_severity")
            time = _find_value(line, "timestamp") or _find_value(line, "log_time")
            yield Message(number, time, session, "", severity, text, letters)
        elif "logger" not in said and line.strip():
            why = "a line that is no object with a timestamp"
            unread.add(why, number, hint=AS_WRITTEN)


def _find_value(line: str, name: str) -> str:
    """What the beginning of a line says of a name."""
    found = re.search(rf'"{name}": ?"([^"]{{0,{BEGINNING}}})', line)
    return found[1] if found else ""


def _parse_object(line: str) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):  # also of a number of 5,000 digits
        return {}
    return said if isinstance(said, dict) else {}


_TEXT = "write its text, one line each: jq -r"

REFUSED_LOGS = (
    RefusedLog(
        "PostgreSQL's log in another language than C",
        re.compile(r"(?:СООБЩЕНИЕ|ЗАПИСЬ|日志|ログ|로그|LOGG|DZIENNIK|PROTOKOLL|ZÁZNAM|LOGI):  "),
        "lc_messages = 'C' makes the server write what is read",
    ),
    RefusedLog(
        "PgBouncer's log, which has no statements",
        re.compile(r" (?:LOG|DEBUG|WARNING) (?:[CS]-0x[0-9a-f]+: |(?:kernel|listening|stats):? )"),
        "replay the server's own log",
    ),
    RefusedLog(
        "an export of Cloud Logging as one JSON array",
        re.compile(r"\"(?:insertId|textPayload|logName)\": "),
        f"{_TEXT} 'reverse | .[].textPayload'",
    ),
    RefusedLog(
        "an answer of CloudWatch as one JSON object",
        re.compile(r"\"(?:nextForwardToken|ingestionTime|LogFileData)\": "),
        f"{_TEXT} '.events[].message'",
    ),
    RefusedLog(
        "an export of Azure's diagnostics",
        re.compile(r"\"category\": *\"PostgreSQL"),
        f"{_TEXT} '.properties.message'",
    ),
    RefusedLog(
        "a report of pgBadger",
        re.compile(r"<title>pgBadger|^\s*- Global informations? -"),
        "replay the log that it was made of",
    ),
)
