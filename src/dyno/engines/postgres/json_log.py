"""PostgreSQL's jsonlog (manual, "Using JSON-Format Log Output")."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from dyno.engines.postgres.dialect import DIALECT
from dyno.engines.postgres.logs import LOGS_ALL, Message, read_entries
from dyno.workloads.replay.lines import LogFile
from dyno.workloads.replay.logs import AS_WRITTEN, BEGINNING, Log, Reasons, replace_no_letters

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
        """Is one of its first lines such an object?"""
        for line in head:
            if line.startswith("{") and _find_words(_parse_object(line)):
                return True
        first = next((line for line in head if line.strip()), "")
        is_cut = first.startswith("{") and not _parse_object(first)
        return is_cut and all(_find_value(first, it) for it in ("timestamp", "error_severity"))

    def read(self, file: LogFile, limit: int) -> Log:
        """All statements."""
        unread, notes = Reasons(), Reasons()
        entries = read_entries(_read_json_log(file, limit, unread), unread, notes)
        return Log(self.kind, DIALECT, entries, unread, notes)


def _find_words(said: dict[str, Any]) -> tuple[str, ...]:
    """Time, session, database, severity, message, detail and user; empty of no message."""
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
