"""ProxySQL's log of queries in JSON (`mysql-eventslog_format=2`; its documentation, and
lib/MySQL_Logger.cpp of 2.5 to 3.0): a line for each query, written when it had ended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

import msgspec

from dyno.engines.mysql.logs import DIALECT
from dyno.workloads.replay.formats import LogFile, RefusedLog
from dyno.workloads.replay.logs import (
    ABSURD,
    AS_WRITTEN,
    BEGINNING,
    DURATION_MOST_S,
    NO_TIME,
    TIME_MOST_S,
    Log,
    LogEntry,
    Reasons,
    find_parameters,
    replace_no_letters,
)

#: An execution of a prepared statement, and what only prepares one.
_EXECUTE, _PREPARE = "COM_STMT_EXECUTE", "COM_STMT_PREPARE"
_EVENT = re.compile(rf'"event": ?"(?:COM_QUERY|{_EXECUTE}|{_PREPARE})"')
#: Of a line that is too long to be read.
_QUERY = re.compile(rf'"query": ?"([^"]{{0,{BEGINNING}}})')
VALUES = "prepared by the client: its values are not read"
NO_EVENT = "a line that is no query of ProxySQL's"


class _Event(msgspec.Struct):
    """A line, as far as it is read; texts that are not known are not written."""

    event: str
    query: str
    thread_id: int
    starttime_timestamp_us: int
    duration_us: int = 0
    client: str = ""
    username: str = ""
    schemaname: str = ""
    rows_sent: int | None = None


class ProxySqlLog:
    """Each query that went through a ProxySQL."""

    kind = "ProxySQL's log of queries"
    written_by = "mysql-eventslog_format=2 and mysql-eventslog_default_log=1 in ProxySQL"

    def knows(self, head: Sequence[str]) -> bool:
        return any(line.startswith("{") and _EVENT.search(line) for line in head)

    def read(self, file: LogFile, limit: int) -> Log:
        unread, notes = Reasons(), Reasons()
        return Log(self.kind, DIALECT, _read_entries(file, limit, unread, notes), unread, notes)


def _read_entries(file: LogFile, limit: int, unread: Reasons, notes: Reasons) -> Iterator[LogEntry]:
    lines, latest_s = file.read_lines(limit), 0.0
    for number, line in lines:
        if lines.cut and (found := _QUERY.search(line)):
            letters = len(line) + lines.cut
            yield LogEntry(latest_s, "", found[1], number, letters=letters)
            continue
        said = _parse(line)
        if said is None:
            if line.strip():
                unread.add(NO_EVENT, number, hint=AS_WRITTEN)
            continue
        if said.event == _PREPARE or not said.query:
            continue
        at_s, duration_s = said.starttime_timestamp_us / 1e6, said.duration_us / 1e6
        if not 0 <= at_s < TIME_MOST_S:
            notes.add(NO_TIME, number)
            at_s = latest_s
        if not 0 <= duration_s < DURATION_MOST_S:
            notes.add(ABSURD, number)
            duration_s = 0.0
        latest_s = at_s
        sql = replace_no_letters(said.query)
        is_open = said.event == _EXECUTE and any(it.number < 0 for it in find_parameters(sql))
        yield LogEntry(
            at_s,
            f"{said.thread_id} of {said.client}",
            sql,
            number,
            database=said.schemaname,
            duration_s=duration_s,
            lost=VALUES if is_open else "",
            user=said.username,
            rows_sent=said.rows_sent,
        )


def _parse(line: str) -> _Event | None:
    try:
        return msgspec.convert(json.loads(line), _Event)
    except (ValueError, RecursionError):
        return None


REFUSED_LOGS = (
    RefusedLog(
        "ProxySQL's log of queries in its binary format",
        re.compile(r"^[^\0\n]{1,3}\0{5,7}"),
        "set mysql-eventslog_format=2, and log again",
    ),
    RefusedLog(
        "ProxySQL's log of queries to PostgreSQL",
        re.compile(r'"event": ?"PGSQL_'),
        "replay the server's own log",
    ),
    RefusedLog(
        "ProxySQL's audit log, which has no statements",
        re.compile(r'"proxy_addr": ?"|"event": ?"(?:MySQL_Client|Admin)_'),
        "set mysql-eventslog_filename and mysql-eventslog_format=2",
    ),
)
