"""What a server itself counted: statements by kind, and rows that were written."""

from __future__ import annotations

import time
from collections import Counter

from dyno import driver
from dyno.driver.plan import Session

#: The database that scripts play in; some have its name in their text.
DATABASE = "sbtest"
#: How long a server may take to see that a client has gone.
GONE_LIMIT_S = 10.0

MYSQL_COUNTS = """SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Com\\_%' OR Variable_name IN
    ('Innodb_rows_inserted', 'Innodb_rows_updated', 'Innodb_rows_deleted')"""
#: Ours, and what says nothing of a statement: packets that hand over a part of a value, a database.
MYSQL_ASIDE = {
    "Com_show_status",
    "Com_show_processlist",
    "Com_stmt_send_long_data",
    "Com_change_db",
}
POSTGRES_OTHERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}'"
#: A statement's kind is its first word, after comments and brackets; the rows are its own, and not
#: those of the catalogue's tables.
POSTGRES_COUNTS = r"""
    WITH sent AS (SELECT calls, rows, upper(substring(
            regexp_replace(query, '/\*.*?\*/|--[^\n]*\n', '', 'g') from '\w+')) AS kind
        FROM pg_stat_statements JOIN pg_database ON dbid = oid WHERE datname = '{database}')
    SELECT kind, sum(calls) FROM sent GROUP BY 1
    UNION ALL SELECT 'rows_' || lower(kind), sum(rows) FROM sent
    WHERE kind IN ('INSERT', 'UPDATE', 'DELETE', 'MERGE') GROUP BY 1"""
#: What a server has to be started with.
SETTINGS: dict[str, dict[str, str]] = {
    "mysql": {},
    "postgres": {"shared_preload_libraries": "pg_stat_statements"},
}


def begin(session: Session) -> None:
    """Lets a server that has just been started count."""
    if session["kind"] == "postgres":
        driver.ask(session, ["CREATE EXTENSION pg_stat_statements"])


def inside(session: Session) -> Session:
    """The same server, in the database that scripts play in."""
    return session | {"database": DATABASE}


def renew(session: Session) -> None:
    """Makes that database anew, empty."""
    _alone(session)
    driver.ask(session, [f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}"])


def counted(session: Session) -> Counter[str]:
    """What the server has counted of that database so far, once all its clients have gone."""
    _alone(session)
    is_mysql = session["kind"] == "mysql"
    query = MYSQL_COUNTS if is_mysql else POSTGRES_COUNTS.format(database=DATABASE)
    (rows,) = driver.ask(session, [query])
    counts = {str(kind).replace("Innodb_", ""): int(number or 0) for kind, number in rows}
    return Counter({kind: n for kind, n in counts.items() if kind not in MYSQL_ASIDE})


def _alone(session: Session) -> None:
    """Waits until nobody else is in that database: a session's last counts come as it ends."""
    end_s = time.monotonic() + GONE_LIMIT_S
    while True:
        if session["kind"] == "mysql":  # a SELECT would be counted
            (sessions,) = driver.ask(session, ["SHOW PROCESSLIST"])
            others = sum(row[3] == DATABASE for row in sessions)
        else:
            (((number,),),) = driver.ask(session, [POSTGRES_OTHERS.format(database=DATABASE)])
            others = int(number or 0)
        if not others:
            return
        if time.monotonic() > end_s:
            raise SystemExit(f"{others} sessions stay in the database {DATABASE}")
        time.sleep(0.01)
