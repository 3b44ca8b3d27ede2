"""PostgreSQL's jsonlog (manual, "Using JSON-Format Log Output")."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from dyno.engines.postgres.dialect import DIALECT
from dyno.engines.postgres.logs import LOGS_ALL, Message, read_entries
from dyno.workloads.replay.lines import LogFile
from dyno.workloads.replay.logs import BEGINNING, Log, Reasons


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
        entries = read_entries(_read_json_log(file, limit, unread), unread)
        return Log(self.kind, DIALECT, entries, unread)


def _read_json_log(file: LogFile, limit: int, unread: Reasons) -> Iterator[Message]:
    lines = file.read_lines(limit)
    for number, line in lines:
        said = _parse_object(line) if not lines.cut else {}
        if "timestamp" in said:
            names = ("timestamp", "session_id", "dbname", "error_severity", "message")
            time, session, database, severity, text = (str(said.get(it, "")) for it in names)
            detail = str(said.get("detail", ""))
            yield Message(number, time, session, database, severity, text, detail=detail)
        elif lines.cut and (text := _find_value(line, "message")):
            session, letters = _find_value(line, "session_id"), len(line) + lines.cut
            severity = _find_value(line, "error_severity")
            yield Message(
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
