"""PostgreSQL's csvlog (manual, "Using CSV-Format Log Output")."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence

from dyno.engines.postgres.dialect import DIALECT
from dyno.engines.postgres.logs import LOGS_ALL, TIME, Message, read_entries
from dyno.workloads.replay.lines import Gathered, LogFile
from dyno.workloads.replay.logs import AS_WRITTEN, Log, Reasons

#: Columns of csvlog.
_TIME_AT, _USER_AT, _DATABASE_AT, _PROCESS_AT, _SESSION_AT, _SEVERITY_AT = 0, 1, 2, 3, 5, 11
_MESSAGE_AT, _DETAIL_AT = 13, 14
_CSV_COLUMNS = 23


class CsvLog:
    """`log_destination = csvlog`."""

    kind = "PostgreSQL's csvlog"
    written_by = LOGS_ALL

    def knows(self, head: Sequence[str]) -> bool:
        """Does it begin with a time, and have the columns?"""
        lines = [line for line in head if line.strip()]
        if lines and lines[0].strip('"').startswith("log_time"):
            del lines[0]  # names of columns, as COPY … WITH HEADER writes them
        row = _parse_row(f"{line}\n" for line in lines)
        # of a row that goes on behind the first lines there is all up to its message
        has_columns = len(row) > _MESSAGE_AT and bool(TIME.match(row[_TIME_AT]))
        return has_columns and row[_PROCESS_AT].isdecimal()

    def read(self, file: LogFile, limit: int) -> Log:
        """All statements."""
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
    """The message of a row of which only the beginning is there."""
    time, session, database, severity, text = (
        row[at] if len(row) > at else default
        for at, default in (
            *((_TIME_AT, ""), (_SESSION_AT, ""), (_DATABASE_AT, "")),
            *((_SEVERITY_AT, "LOG"), (_MESSAGE_AT, "statement: ")),
        )
    )
    return Message(number, time, session, database, severity, text, letters)
