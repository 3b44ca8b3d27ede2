"""What reached a server, and what Dyno reads of the server's own log: the same, one by one."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from private_servers import serving

from dyno import driver
from dyno.engines import Server
from dyno.workloads.replay.formats import LogFile, read_log

pytestmark = [pytest.mark.timeout(300)]

GENERAL = {"general_log": "on"}
SLOW = {"slow_query_log": "on", "long_query_time": "0"}
COLLECTED = {"log_statement": "all", "logging_collector": "on"}
PREFIX = "%m [%p] %q%u@%d "
#: Statements as programs send them, with what readers of logs take for something else.
SENT = {
    "mysql": [
        "SELECT 1 # a comment\n# Time: 2026-01-01\n+ 2",
        "SELECT id,\n\t0 AS seen,\n\t\t    8 FROM item -- x",
        "SELECT /*+ MAX_EXECUTION_TIME(1000) */ count(*) FROM item",
        "SELECT 'it''s; \\' ü', \"# User@Host: a[a] @ b [c]\"",
        "USE other",
        "SELECT id FROM item",
        "SELECT\n\n'# administrator command: Quit;\n'",
    ],
    "postgres": [
        "SELECT 1 /* LOG:  statement: $1 */\n, '\tx\n\n y'",
        "SELECT 'it''s', $$DETAIL:  parameters: $1 = 'x'$$ -- ü\n",
        "SELECT id\n\tFROM item\n\n\tWHERE id = 2",
        "SELECT E'\\\\ \\n', \"id\" FROM item",
    ],
}
#: Of statements prepared in SQL: those sent, and those that run.
PREPARED = [
    "PREPARE p FROM 'SELECT id + ? FROM item'",
    "SET @a = 5",
    "EXECUTE p USING @a",
    "DEALLOCATE PREPARE p",
]
LOGS = [
    ("mysql-5.6", GENERAL),
    ("mysql-5.6", SLOW),
    ("mysql-8.0", GENERAL),
    ("mysql-8.0", SLOW),
    ("mariadb-innodb", GENERAL),
    ("mariadb-innodb", {**SLOW, "log_slow_verbosity": "query_plan,explain"}),
    ("postgres-12", {**COLLECTED, "log_line_prefix": "%t:%r:%u@%d:[%p]:"}),
    (
        "postgres-18",
        {**COLLECTED, "log_line_prefix": PREFIX, "log_error_verbosity": "verbose"},
    ),
    ("postgres-18", {**COLLECTED, "log_destination": "csvlog"}),
    ("postgres-18", {**COLLECTED, "log_destination": "jsonlog"}),
]


def find_log(server: Server) -> Path:
    if server.session["kind"] == "postgres":
        shown = ["SELECT pg_current_logfile(), current_setting('data_directory')"]
        if driver.ask(server.session, shown)[0][0][0] is None and server.log:
            return server.log
    else:
        shown = ["SELECT IF(@@general_log, @@general_log_file, @@slow_query_log_file), @@datadir"]
    ((name, folder),) = driver.ask(server.session, shown)[0]
    return Path(str(folder)) / str(name)


def log_between(server: Server, sent: list[str], home: Path) -> Path:
    """The log of these statements alone, and of a first and a last one."""
    mark = f"it ends {time.time_ns()}"
    driver.ask(server.session, ["SELECT 'it begins'", *sent, f"SELECT '{mark}'"])
    for _ in range(600):
        log = find_log(server)
        if mark.encode() in log.read_bytes():
            copy = home / log.name
            copy.write_bytes(log.read_bytes())
            return copy
        time.sleep(0.05)
    raise AssertionError("the log has no end after half a minute")


def read_between(log: Path) -> list[tuple[str, str]]:
    """The statements between the first and the last, each with its database."""
    entries = [(it.sql, it.database) for it in read_log(LogFile(log)).entries if not it.lost]
    begin = max(at for at, (sql, _) in enumerate(entries) if "it begins" in sql)
    end = max(at for at, (sql, _) in enumerate(entries) if "it ends" in sql)
    return entries[begin + 1 : end]


@pytest.mark.parametrize(
    ("kind", "on"), LOGS, ids=lambda it: it if isinstance(it, str) else "-".join(it)
)
def test_each_statement_that_reached_a_server_is_read_of_its_log(
    kind: str, on: dict[str, str], tmp_path: Path
) -> None:
    family = "postgres" if kind.startswith("postgres") else "mysql"
    with serving(kind, **on) as server:
        made = ["CREATE TABLE item (id INTEGER)", "INSERT INTO item VALUES (1), (2)"]
        if family == "mysql":
            made += ["CREATE DATABASE IF NOT EXISTS other", "CREATE TABLE other.item (id INTEGER)"]
        driver.ask(server.session, made)
        sent = SENT[family] + (PREPARED if family == "mysql" else [])
        log = log_between(server, sent, tmp_path)
    assert on.get("log_destination", "") in read_log(LogFile(log)).kind
    found = read_between(log)
    bare = [(re.sub(r";\Z", "", sql).strip(), database) for sql, database in found]
    texts = [sql for sql, _ in bare]
    wanted = [it.strip() for it in SENT[family]]
    if family == "mysql":
        assert [sql for sql in texts if "PREPARE" in sql or "EXECUTE" in sql] == []
        assert texts[-1] == "SELECT id + 5 FROM item" or "SET @a" in texts[-2]
        texts = [re.sub(r"(?i)^use `?(\w+)`?$", r"USE \1", sql) for sql in texts]
        used = [database for sql, database in bare if sql == "SELECT id FROM item"]
        assert used == ["other"]
    assert texts[: len(wanted)] == wanted


@pytest.mark.parametrize(
    ("kind", "logged"),
    [
        ("mysql-8.0", ["SELECT 7;", "SELECT 8"]),
        ("mariadb-innodb", ["SELECT 7; SELECT 8"]),
    ],
)
def test_a_packet_of_several_statements_is_read_as_the_server_logs_it(
    kind: str, logged: list[str], tmp_path: Path
) -> None:
    with serving(kind, **GENERAL) as server:
        log = log_between(server, ["SELECT 7; SELECT 8"], tmp_path)
    assert [sql for sql, _ in read_between(log)] == logged


def test_a_general_log_of_two_databases_is_played_in_both(tmp_path: Path) -> None:
    """A session that moves between databases by the protocol's own command (Init DB)."""
    with serving("mysql-8.0", **GENERAL) as server:
        driver.ask(server.session, ["CREATE DATABASE IF NOT EXISTS other", "USE other", "SELECT 1"])
        log = log_between(server, ["USE other", "SELECT 2", "USE dyno", "SELECT 3"], tmp_path)
    assert read_between(log)[1::2] == [("SELECT 2", "other"), ("SELECT 3", "dyno")]
