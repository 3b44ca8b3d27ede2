"""ProxySQL's log of queries: lines as `write_query_format_2_json` of its lib/MySQL_Logger.cpp makes
them; no ProxySQL was at hand.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dyno.engines.mysql.proxysql_log import NO_EVENT, VALUES
from dyno.errors import UsageError
from dyno.workloads.replay.formats import LogFile, read_log
from dyno.workloads.replay.logs import Log, LogEntry

EVENT = {
    "client": "127.0.0.1:40112",
    "digest": "0x1A2B3C4D5E6F7081",
    "duration_us": 1500,
    "endtime": "2026-01-01 10:00:00.001500",
    "endtime_timestamp_us": 1767261600001500,
    "errno": 0,
    "event": "COM_QUERY",
    "hostgroup_id": 0,
    "query": "SELECT 1",
    "rows_sent": 1,
    "schemaname": "shop",
    "server": "127.0.0.1:3306",
    "starttime": "2026-01-01 10:00:00.000000",
    "starttime_timestamp_us": 1767261600000000,
    "thread_id": 7,
    "username": "app",
}


def read(
    folder: Path, *events: dict[str, object], limit: int = 1 << 20
) -> tuple[Log, list[LogEntry]]:
    file = folder / "queries.log.00000001"
    made = (json.dumps(EVENT | it, separators=(",", ":")) for it in events)
    file.write_text("".join(f"{line}\n" for line in made))
    log = read_log(LogFile(file), limit)
    return log, list(log.entries)


def test_a_line_is_a_statement_with_session_time_and_place(tmp_path: Path) -> None:
    text = "INSERT INTO t VALUES ('a\n\"b\"')"
    log, (first, other) = read(tmp_path, {}, {"query": text, "thread_id": 8, "rows_sent": None})
    assert (first.sql, first.database, first.user) == ("SELECT 1", "shop", "app")
    assert (first.at_s, first.duration_s, first.rows_sent) == (1767261600.0, 0.0015, 1)
    assert other.sql == text and other.session != first.session and not log.unread


def test_what_is_prepared_is_played_where_it_has_no_values(tmp_path: Path) -> None:
    executed = {"event": "COM_STMT_EXECUTE", "client_stmt_id": 1}
    _, entries = read(
        tmp_path,
        {"event": "COM_STMT_PREPARE", "query": "SELECT ?"},
        executed | {"query": "SELECT ?"},
        executed | {"query": "SELECT '?'"},
    )
    assert [(it.sql, it.lost) for it in entries] == [("SELECT ?", VALUES), ("SELECT '?'", "")]


def test_times_that_cannot_be_are_noted(tmp_path: Path) -> None:
    log, entries = read(tmp_path, {}, {"starttime_timestamp_us": -1, "duration_us": 10**18})
    assert len(log.notes) == 2 and entries[1].at_s == entries[0].at_s


def test_a_statement_over_the_limit_and_a_damaged_line_are_told(tmp_path: Path) -> None:
    _, (entry,) = read(tmp_path, {"query": f"SELECT '{'x' * 5000}'"}, limit=1000)
    assert entry.letters > 5000 and entry.sql.startswith("SELECT 'x")
    log, entries = read(tmp_path, {}, {"thread_id": "seven"})
    assert len(entries) == 1 and list(log.unread) == [NO_EVENT]


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"\x69\0\0\0\0\0\0\0\x00\x07\x03app\x04shop", "binary format"),
        (b'{"event":"PGSQL_SIMPLE_QUERY","query":"SELECT 1","thread_id":1}\n', "to PostgreSQL"),
        (b'{"client_addr":"x:1","event":"MySQL_Client_Connect_OK","ssl":false}\n', "audit log"),
    ],
)
def test_its_other_logs_are_refused_by_name(content: bytes, word: str, tmp_path: Path) -> None:
    (tmp_path / "it").write_bytes(content)
    with pytest.raises(UsageError, match=word):
        read_log(LogFile(tmp_path / "it"))
