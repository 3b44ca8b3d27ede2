"""Entries of pgaudit as statements: `pgaudit_log.txt` is the log of a server (PostgreSQL 15.18 with
pgaudit 1.7) with functions, triggers, prepared statements, packets of several and repeated entries.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dyno.engines.postgres.pgaudit import BESIDE, BESIDE_AUDITS, DAMAGED
from dyno.workloads.replay.formats import LogFile, read_log
from dyno.workloads.replay.logs import Log, LogEntry

GOLDEN = Path(__file__).parents[2] / "golden" / "pgaudit_log.txt"
START = "2026-01-01 10:00:00.000 UTC [7] app@shop LOG:  "
AUDIT = "AUDIT: SESSION,{0},1,READ,SELECT,,,{1},{2}"


def read(file: Path) -> tuple[Log, list[LogEntry]]:
    log = read_log(LogFile(file))
    return log, list(log.entries)


def read_messages(folder: Path, *messages: str) -> tuple[Log, list[LogEntry]]:
    file = folder / "it.log"
    file.write_text("".join(f"{START}{message}\n" for message in messages))
    return read(file)


def test_each_statement_is_read_once_and_what_it_sent_inside_is_not() -> None:
    log, entries = read(GOLDEN)
    told = [(it.sql.split("(")[0].split(" t")[0].strip(), it.values) for it in entries]
    assert told.count(("SELECT name FROM", ("1",))) == 2, "by a prepared statement of the protocol"
    assert told.count(("INSERT INTO", ())) == 2, "none of the trigger's"
    sent = [it.sql for it in entries]
    assert sent[4] == "INSERT INTO t VALUES (1, 'one, \"first\"', 'a\nline');"
    assert sent.count("INSERT INTO t VALUES (2, 'two', NULL); SELECT name FROM t WHERE id = 2") == 1
    assert [it for it in sent if "find" in it] == [
        "PREPARE find(int) AS SELECT name FROM t WHERE id = $1;",
        "EXECUTE find(1);",
        "DEALLOCATE find;",
    ]
    assert [it for it in sent if "audit_of_t" in it and "SELECT" in it] == [
        "SELECT count(*) FROM t, audit_of_t;",
        "SELECT count(*) FROM t, audit_of_t",
        "SELECT 7 FROM t, audit_of_t",
    ], "one of each, however many tables it has"
    assert [it.sql for it in entries if it.lost] == ["ALTER ROLE app PASSWORD <REDACTED>"]
    assert len(entries) == 26 and not log.unread


@pytest.mark.parametrize(
    ("values", "sql", "why"),
    [
        ("<not logged>", "SELECT $1", "log_parameter=off"),
        ("<not logged>", "SELECT 1", ""),
        ("1", "SELECT $1", ""),
        ('"1,"', "SELECT $1 + $2", "NULL, empty or too long"),
        ('"1,<long field suppressed>"', "SELECT $1 + $2", "NULL, empty or too long"),
    ],
)
def test_values_that_are_not_known_are_said(
    values: str, sql: str, why: str, tmp_path: Path
) -> None:
    (entry,) = read_messages(tmp_path, AUDIT.format(1, sql, values))[1]
    assert why in entry.lost and bool(why) == bool(entry.lost)


def test_a_log_of_both_kinds_is_read_by_the_one_that_comes_first(tmp_path: Path) -> None:
    both = ("statement: SELECT 1", AUDIT.format(1, "SELECT 1", "<none>"))
    log, entries = read_messages(tmp_path, *both)
    assert len(entries) == 1 and list(log.unread) == [BESIDE]
    log, entries = read_messages(tmp_path, *reversed(both))
    assert len(entries) == 1 and list(log.unread) == [BESIDE_AUDITS]


def test_an_entry_that_is_not_whole_is_told(tmp_path: Path) -> None:
    whole = AUDIT.format(1, "SELECT 1", "<none>")
    log, entries = read_messages(tmp_path, 'AUDIT: SESSION,1,1,READ,SELECT,,,"SELECT', whole)
    assert len(entries) == 1 and list(log.unread) == [DAMAGED]


def test_they_stand_in_csv_and_in_json_too(tmp_path: Path) -> None:
    sql = "SELECT 1, 'a'"
    message = AUDIT.format(1, f'"{sql}"', "<none>")
    record = {"timestamp": "2026-01-01 10:00:00.000 UTC", "session_id": "6b.1"}
    record |= {"error_severity": "LOG", "message": message, "dbname": "shop", "user": "app"}
    (tmp_path / "it.json").write_text(json.dumps(record) + "\n")
    quoted = message.replace('"', '""')
    row = '2026-01-01 10:00:00.000 UTC,"app","shop",7,"[local]",6b.1,1,"SELECT",,3/2,0,LOG,00000'
    (tmp_path / "it.csv").write_text(f'{row},"{quoted}"{"," * 12}\n')
    for name in ("it.json", "it.csv"):
        (entry,) = read(tmp_path / name)[1]
        assert (entry.sql, entry.session, entry.database, entry.user) == (
            sql,
            "6b.1",
            "shop",
            "app",
        )
