"""MySQL's and MariaDB's general log and slow log (Reference Manual, "The General Query Log", "The
Slow Query Log"), as 5.5 and later write them to a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from dyno.replay.logs import Entry, Log, Unread, by_time, numbered
from dyno.replay.statements import Dialect
from dyno.replay.tokens import Quoting

SCHEMAS = ("information_schema", "performance_schema", "mysql", "sys")
QUOTING = Quoting(dollars=False, backslashes=True, names_in_double=False)
DIALECT = Dialect(QUOTING, SCHEMAS, "USE `{}`")
_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"
_OLD = r"\d{6}\s+\d{1,2}:\d\d:\d\d"
#: Time (in old logs only where it is a new second), number of the session, command, argument.
_GENERAL = re.compile(
    rf"^(?:({_ISO})|({_OLD})|\t)\s*\t?\s*(\d+) ([A-Z][A-Za-z]*(?: [A-Za-z]+)*)(?:\t(.*))?$"
)
_HEADER = re.compile(r"^(?:Time +Id +Command +Argument|Tcp port: .*|.*, Version: .*started with:)")
#: Commands that hold SQL; `Prepare` only announces what `Execute` repeats with its values.
_SQL = ("Query", "Execute")


def _seconds(text: str) -> float:
    if "T" in text:
        return datetime.fromisoformat(text).timestamp()
    day, time = text.split()
    at = datetime.strptime(f"{day} {time}", "%y%m%d %H:%M:%S")
    return at.replace(tzinfo=UTC).timestamp()


class GeneralLog:
    """Each statement as it arrived."""

    kind = "MySQL's general log"
    written_by = "general_log=ON"

    def knows(self, head: Sequence[str]) -> bool:
        """Is a line of its own among the first?"""
        return any(_GENERAL.match(line) for line in head)

    def read(self, path: Path) -> Log:
        """All statements, in the order of the file."""
        entries: list[Entry] = []
        unread: list[Unread] = []
        at_s, open_entry = 0.0, None
        databases: dict[str, str] = {}
        for number, line in numbered(path):
            found = _GENERAL.match(line)
            if found is None:
                open_entry = _continue(line, number, open_entry, unread)
                continue
            entries += [open_entry] if open_entry else []
            open_entry = None
            if found[1] or found[2]:
                at_s = _seconds(found[1] or found[2])
            session, command, rest = found[3], found[4], found[5] or ""
            if command == "Init DB":
                databases[session] = rest
                command, rest = "Query", f"USE `{rest}`"
            elif command == "Connect":
                connected = re.search(r" on (\S+)", rest)
                databases[session] = connected[1] if connected and connected[1] != "using" else ""
            if command in _SQL:
                database = databases.get(session, "")
                open_entry = Entry(at_s, session, rest, number, database=database)
        entries += [open_entry] if open_entry else []
        return Log(self.kind, DIALECT, tuple(_since_known(entries)), tuple(unread))


def _since_known(entries: list[Entry]) -> Iterator[Entry]:
    """Entries before the first time of an old log, which was cut there, are of that time."""
    known_s = next((entry.at_s for entry in entries if entry.at_s), 0.0)
    return (entry if entry.at_s else replace(entry, at_s=known_s) for entry in entries)


def _continue(line: str, number: int, entry: Entry | None, unread: list[Unread]) -> Entry | None:
    if entry is not None and not _HEADER.match(line):
        more = f"{entry.sql}\n{line}"
        return replace(entry, sql=more)
    if line.strip() and not _HEADER.match(line) and number > 3:
        unread.append(Unread("a line without a statement before it", number))
    return None


_TIME = re.compile(rf"^# Time: ({_ISO}|{_OLD})")
_USER = re.compile(r"^# User@Host: (\S+) .*?(?:Id:\s*(\d+))?\s*$")
_THREAD = re.compile(r"^# Thread_id: (\d+)\s+Schema: (\S*)")
_QUERY = re.compile(r"^# Query_time: ([\d.]+)")
_STAMP = re.compile(r"^SET timestamp=(\d+(?:\.\d+)?);$", re.IGNORECASE)
_USE = re.compile(r"^use `?([^`;]+)`?;$", re.IGNORECASE)


class SlowLog:
    """Each statement when it had ended, with its time; begun that much earlier."""

    kind = "MySQL's slow log"
    written_by = "slow_query_log=ON and long_query_time=0"

    def knows(self, head: Sequence[str]) -> bool:
        """Is a head of an entry among the first lines?"""
        return any(_QUERY.match(line) for line in head)

    def read(self, path: Path) -> Log:
        """All statements, by the time at which they began."""
        entries: list[Entry] = []
        unread: list[Unread] = []
        at_s, database_of = 0.0, {}
        for number, heads, body in _records(path):
            session, duration_s = "", 0.0
            for head in heads:
                if time := _TIME.match(head):
                    at_s = _seconds(time[1])
                elif user := _USER.match(head):
                    session = user[2] or user[1]
                elif thread := _THREAD.match(head):
                    session = thread[1]
                    database_of[session] = thread[2]
                elif query := _QUERY.match(head):
                    duration_s = float(query[1])
            sql: list[str] = []
            for line in body:
                if stamp := _STAMP.match(line):
                    at_s = at_s if abs(at_s - float(stamp[1])) < 1 + duration_s else float(stamp[1])
                elif (use := _USE.match(line)) and not sql:
                    database_of[session] = use[1]
                else:
                    sql.append(line)
            text = "\n".join(sql).strip()
            if not text or not session:
                unread.append(Unread("an entry without a statement or a session", number))
                continue
            began_s, database = at_s - duration_s, database_of.get(session, "")
            entries.append(Entry(began_s, session, text, number, (), database, duration_s))
        return Log(self.kind, DIALECT, by_time(entries), tuple(unread))


def _records(path: Path) -> Iterator[tuple[int, list[str], list[str]]]:
    """Entries: where each begins, its lines with `#`, those without."""
    first, heads, body = 1, list[str](), list[str]()
    for number, line in numbered(path):
        if line.startswith("# administrator command:") or _HEADER.match(line):
            if body:
                yield first, heads, body
            heads, body = [], []
            continue
        if line.startswith("# "):
            if body:
                yield first, heads, body
                heads, body = [], []
            if not heads:
                first = number
            heads.append(line)
        elif heads:
            body.append(line)
    if body:
        yield first, heads, body


LOG_READERS = (GeneralLog(), SlowLog())
