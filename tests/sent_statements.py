"""A fixed mix of statements, sent by the servers' own client libraries in several sessions whose
transactions interleave; and what a server's own log says of what reached it, read without Dyno.

A session's statements follow one that names it: `SELECT 'session 1'`.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import datetime
from typing import NamedTuple

import libpq_client
import mariadb_connector

from dyno.driver.plan import Session

LONG = 300_000


class Reached(NamedTuple):
    """A statement that reached a server: its database, its text, and its parameters as logged."""

    database: str
    text: bytes
    parameters: str = ""


#: What is made on both servers before.
MADE_MYSQL = [
    "CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(40), data BLOB, at DATETIME)"
    " DEFAULT CHARSET utf8mb4",
    "INSERT INTO item (id, name) VALUES (1, 'one'), (2, 'two')",
    "CREATE DATABASE IF NOT EXISTS other",
    "CREATE TABLE other.item (id INT PRIMARY KEY, name VARCHAR(40))",
    "INSERT INTO other.item VALUES (1, 'uno')",
]
#: Of MySQL's sessions, by their letters, in the order in which they are sent.
MYSQL_TEXTS = [
    ("a", b"SELECT id, -- one; $1 ?\n\tname /* two; */ FROM item\n\n"
     b" WHERE name = 'it''s; \\' #3';"),
    ("b", b"BEGIN"),
    ("a", b"SELECT '', \"\", 'tab\there', \"a\\nb\""),
    ("b", b"UPDATE item SET name = '' WHERE id = 1"),
    ("a", "SELECT '😀', 'Ωü' # a comment\n, 'カ'".encode()),
    ("c", b"START TRANSACTION READ ONLY"),
    ("b", "INSERT INTO item (id, name) VALUES (10, 'Ωü😀\\0\\n\\r\\Z\"'), (11, NULL)".encode()),
    ("c", b"SELECT count(*) FROM item WHERE name = ''"),
    ("b", b"COMMIT"),
    ("c", b"COMMIT"),
    ("a", b"SELECT b'101', 0xFF00, X'ff', N'n', _binary'\x01'"),
    ("a", b"SELECT /*+ NO_ICP(item) */ count(*) FROM item WHERE id > 0 /*!50000 AND id < 5 */"),
    ("c", b"SELECT id FROM nowhere"),
    ("c", b"SELECT '# Time: 2026-01-01T10:00:00Z\n# User@Host: x[x] @ y []  Id: 7\n'"),
    ("c", b"SELECT\r\n'returns'\r\n, 1"),
    ("a", b"PREPARE p FROM 'SELECT ? + 1, ?'"),
    ("a", b"SET @a = 5, @b = 'it''s; ?'"),
    ("a", b"EXECUTE p USING @a, @b"),
    ("a", b"DEALLOCATE PREPARE p"),
    ("c", b"SELECT '" + b"long; " * (LONG // 6) + b"'"),
    ("b", b"SELECT 7; SELECT 8"),
    ("b", b"SET NAMES latin1"),
    ("b", b"SELECT 'caf\xe9', id FROM item WHERE name = '\xfc\xff'"),
    ("a", b"DELETE FROM item WHERE id = 11"),
    ("c", b"  SELECT 'spaces before and behind' \n "),
    ("b", b"SELEC 1"),
    ("b", b"SELECT 'the last'"),
]  # fmt: skip
MYSQL_ROWS: list[tuple[mariadb_connector.Value, ...]] = [
    (20, 'it\'s \\ "x"; ?', b"\x00\xff\x1a'", datetime(2026, 1, 2, 3, 4, 5)),
    (21, "", b"", None),
    (22, None, None, datetime(1999, 12, 31)),
    (-23, "😀 Ω\nnew", b"abc", datetime(2026, 1, 2, 3, 4, 5, 600000)),
]


def send_to_mysql(session: Session) -> None:
    """Sends the mix in three sessions; one begins anew as a fourth, and one moves to another
    database and back.
    """
    with ExitStack() as stack:
        by_letter = {
            letter: stack.enter_context(mariadb_connector.Connection(session)) for letter in "abc"
        }
        for number, it in enumerate(by_letter.values(), 1):
            it.query(b"SELECT 'session %d'" % number)
        for letter, text in MYSQL_TEXTS:
            by_letter[letter].query(text)
        insert = b"INSERT INTO item VALUES (?, ?, ?, ?) /* ? */"
        by_letter["a"].execute(insert, *MYSQL_ROWS)
        by_letter["b"].execute(b"SELECT ?, ? FROM item WHERE id = ?", (1.5, "x", 1), (-2, None, 2))
        by_letter["c"].use("other")
        by_letter["a"].query(b"USE other")
        for letter in "ca":
            by_letter[letter].query(b"SELECT name FROM item WHERE id = 1")
        by_letter["a"].query(b"USE `dyno`")
        by_letter["a"].query(b"SELECT name FROM item WHERE id = 2")
        by_letter["c"].begin_anew()
        by_letter["c"].query(b"SELECT 'session 4'")
        by_letter["c"].query(b"SELECT name FROM item WHERE id = 3")
        for it in by_letter.values():
            it.query(b"SELECT 'it ends'")


_ENTRY = re.compile(
    rb"^(?:\d{6} +\d+:\d\d:\d\d\t|\t\t|\d{4}-\d\d-\d\dT[^\t]*\t) *(\d+) (Connect|Query|Execute|Quit"
    rb"|Prepare|Close stmt|Init DB|Change user|Reset stmt|Reset Connection|Statistics)(?:\t|$)",
    re.MULTILINE,
)
_MARK = re.compile(rb"SELECT '(session \d)'")


def read_general_log(log: bytes) -> dict[str, list[Reached]]:
    """What reached MySQL or MariaDB by its general log: each session's statements but `USE`."""
    sessions, database, current = defaultdict[str, list[Reached]](list), {}, dict[bytes, str]()
    found = list(_ENTRY.finditer(log))
    for it, after in zip(found, [*found[1:], None], strict=True):
        number, command = it[1], it[2]
        text = log[it.end() : after.start() if after else len(log)].removesuffix(b"\n")
        if command in (b"Connect", b"Change user"):
            database[number] = text.partition(b" on ")[2].partition(b" ")[0].decode()
            current.pop(number, None)
        elif command == b"Init DB":
            database[number] = text.decode()
        elif command not in (b"Query", b"Execute"):
            continue
        elif used := re.fullmatch(rb"USE `?(\w+)`?", text, re.IGNORECASE):
            database[number] = used[1].decode()
        elif mark := _MARK.match(text):
            current[number] = mark[1].decode()
        elif number in current:
            sessions[current[number]].append(Reached(database.get(number, ""), text))
    return dict(sessions)


MADE_POSTGRES = [
    "CREATE TABLE item (id INT PRIMARY KEY, name TEXT, data BYTEA, day DATE, at TIMESTAMPTZ)",
    "INSERT INTO item VALUES (1, 'one'), (2, 'two')",
]
POSTGRES_TEXTS = [
    ("a", b"SELECT id, -- one; $1\n\tname /* two; $2 /* nested; */ */\n\n\n FROM item"
     b" WHERE name = 'it''s; $3';"),
    ("b", b"BEGIN"),
    ("a", b"SELECT '', 'tab\there', E'a\\nb\\'c', $$it's; $1$$, $x$ $$ $x$"),
    ("b", b"UPDATE item SET name = '' WHERE id = 1"),
    ("a", "SELECT '😀', 'Ωü' AS \"ä; $1\", 'カ'".encode()),
    ("c", b"BEGIN READ ONLY"),
    ("b", "INSERT INTO item (id, name) VALUES (10, 'Ωü😀\n\r\"'), (11, NULL)".encode()),
    ("c", b"SELECT count(*) FROM item WHERE name = ''"),
    ("b", b"COMMIT"),
    ("c", b"COMMIT"),
    ("c", b"SELECT id FROM nowhere"),
    ("c", b"SELECT '2026-01-01 10:00:00.000 UTC [7] LOG:  statement: SELECT 1\nDETAIL:  x'"),
    ("c", b"SELECT\r\n'returns'\r\n, 1"),
    ("c", b"SELECT '\\', U&'d\\0061t', B'101', X'1F', 1::text, '[{\"a\": 1}]'::jsonb @> '[]'"),
    ("a", b"PREPARE p (int, text) AS SELECT $1 + 1, $2 FROM item"),
    ("a", b"EXECUTE p(5, 'it''s; $1')"),
    ("a", b"DEALLOCATE p"),
    ("a", b"BEGIN"),
    ("a", b"DECLARE c CURSOR FOR SELECT id FROM item ORDER BY 1"),
    ("a", b"FETCH 2 FROM c"),
    ("a", b"ROLLBACK"),
    ("c", b"SELECT '" + b"long; " * (LONG // 6) + b"'"),
    ("c", b"SELECT '" + b"wide" * 3000 + b"' \n, 2"),
    ("c", b"SELECT '#000', '#011F5B', 'a\t\tb' -- \t\n"),
    ("b", b"SELECT 7; SELECT 8"),
    ("b", b"SET search_path TO public, pg_temp"),
    ("a", b"DELETE FROM item WHERE id = 11"),
    ("c", b"  SELECT 'spaces before and behind' \n "),
    ("b", b"SELEC 1"),
    ("b", b"SELECT 'the last'"),
]  # fmt: skip
#: Of a prepared statement, with all that ends one in a log.
NAME = "pdo: 1: it's"
POSTGRES_ROWS: list[tuple[bytes | None, ...]] = [
    (b"20", b"it's \\ \"x\"; $1, $2 = 'x'", b"\\x00ff27", b"2026-01-02", b"2026-01-02 03:04:05+00"),
    (b"21", b"", b"", None, None),
    (b"22", None, None, b"1999-12-31", b"infinity"),
    (b"-23", "😀 Ω\nnew\n\n\tline".encode(), b"abc", b"0044-03-15 BC", None),
]


def send_to_postgres(session: Session) -> None:
    """Sends the mix in three sessions."""
    with ExitStack() as stack:
        by_letter = {
            letter: stack.enter_context(libpq_client.Connection(session)) for letter in "abc"
        }
        for number, it in enumerate(by_letter.values(), 1):
            it.query(b"SELECT 'session %d'" % number)
        for letter, text in POSTGRES_TEXTS:
            by_letter[letter].query(text)
        insert = b"INSERT INTO item VALUES ($1, $2, $3, $4, $5) /* $9 */"
        by_letter["a"].execute(NAME.encode(), insert, *POSTGRES_ROWS)
        by_letter["b"].bind(b"SELECT $2::text, '$3', $1::int -- $4\n", (b"5", b"x"))
        by_letter["b"].bind(b"SELECT name FROM item WHERE id = ANY($1)", (b"{1,2}",))
        by_letter["c"].bind(b"SELECT\n\n$1::float8, $2::bytea", (b"1e-7", b"\\x6162"))
        by_letter["c"].bind(b"SELECT 'no parameters'", ())
        for it in by_letter.values():
            it.query(b"SELECT 'it ends'")


_LOGGED = re.compile(
    r"(?:duration: \S+ ms  )?(?:statement|execute (?:<unnamed>|" + re.escape(NAME) + r")): (.*)",
    re.DOTALL,
)
DATABASE, SESSION, MESSAGE, DETAIL = 2, 5, 13, 14


def read_csvlog(lines: Iterable[str]) -> dict[str, list[Reached]]:
    """What reached PostgreSQL by its csvlog: each session's statements with their parameters."""
    csv.field_size_limit(1 << 30)
    sessions, current = defaultdict[str, list[Reached]](list), dict[str, str]()
    for row in csv.reader(lines):
        found = _LOGGED.fullmatch(row[MESSAGE])
        if found is None or row[11] != "LOG":
            continue
        text = found[1].encode()
        if mark := _MARK.match(text):
            current[row[SESSION]] = mark[1].decode()
        elif row[SESSION] in current:
            has_values = row[DETAIL].lower().startswith("parameters: ")
            parameters = row[DETAIL].partition(": ")[2] if has_values else ""
            reached = Reached(row[DATABASE], text, parameters)
            sessions[current[row[SESSION]]].append(reached)
    return dict(sessions)


#: Bytes of a part that PostgreSQL gives to syslog (PG_SYSLOG_LIMIT), and Docker to its files.
SYSLOG_MOST, DOCKER_MOST = 900, 16_384
STAMP = "2026-01-01T10:00:00.100Z"


def ship_by_syslog(log: bytes) -> bytes:
    """As PostgreSQL sends each message to syslog, in numbered parts that end at a space or a line,
    and rsyslog writes them: control characters as `#011`.
    """
    shipped, number = list[bytes](), 0
    for message in re.split(rb"\n(?=\d{4}-\d\d-\d\d [^\n]*? (?:LOG|ERROR): )", log.rstrip(b"\n")):
        number, part, rest = number + 1, 0, message
        process = re.findall(rb"\[(\d+)\]", message)[0]
        while rest:
            if rest[:1] == b"\n":
                rest = rest[1:]
                continue
            size = len(rest.partition(b"\n")[0][:SYSLOG_MOST].decode(errors="ignore").encode())
            if rest[size : size + 1].strip():
                space = max(rest.rfind(b" ", 1, size), rest.rfind(b"\t", 1, size))
                size = space if space > 0 else size
            part += 1
            text = re.sub(rb"[\0-\x1f]", lambda it: b"#%03o" % it[0][0], rest[:size])
            head = b"Jan  1 10:00:00 db1 postgres[%s]: [%d-%d] " % (process, number, part)
            shipped.append(head + text + b"\n")
            rest = rest[size:]
    return b"".join(shipped)


def ship_by_runtime(log: bytes) -> bytes:
    """As a container's runtime writes lines: those that are long in parts."""
    shipped = list[bytes]()
    for line in log.split(b"\n")[:-1]:
        for at in range(0, len(line) or 1, DOCKER_MOST):
            mark = b"F" if at + DOCKER_MOST >= len(line) else b"P"
            part = line[at : at + DOCKER_MOST]
            shipped.append(b"%s stderr %s %s\n" % (STAMP.encode(), mark, part))
    return b"".join(shipped)


def ship_by_docker(log: bytes) -> bytes:
    """As Docker's json-file has lines, which it cuts between characters."""
    shipped = list[bytes]()
    for line in log.decode().splitlines(keepends=True):
        for at in range(0, len(line), DOCKER_MOST):
            said = {"log": line[at : at + DOCKER_MOST], "stream": "stderr", "time": STAMP}
            shipped.append(json.dumps(said).encode() + b"\n")
    return b"".join(shipped)


def write_as_percona(log: bytes) -> bytes:
    """A slow log of MySQL 8.0 as Percona Server has it: each entry's database in its head."""
    parts = re.split(rb"(?m)(?<=Z\n)(# User@Host: .* Id: +\d+\n)(?=# Query)", log)
    told, database = [parts[0]], b"dyno"
    for head, rest in zip(parts[1::2], parts[2::2], strict=True):
        used = re.search(rb"\nuse (\w+);\nSET timestamp", rest)
        database = used[1] if used else database
        told += [head, b"# Schema: %s  Last_errno: 0  Killed: 0\n" % database, rest]
    return b"".join(told)


def _put_before(head: bytes) -> Callable[[bytes], bytes]:
    return lambda log: b"".join(head + line + b"\n" for line in log.split(b"\n")[:-1])


#: A server's lines as others write them.
SHIPPED = {
    "syslog": ship_by_syslog,
    "container runtime": ship_by_runtime,
    "Docker's json-file": ship_by_docker,
    "docker compose": _put_before(b"db-1  | "),
    "kubectl --prefix": _put_before(b"[pod/shop-0/postgres] "),
    "gzip": gzip.compress,
}
#: A log's form that is made of another by whom it names.
MADE_OF = {"percona": "slow", **dict.fromkeys(SHIPPED, "stderr")}
MAKE = {"percona": write_as_percona, **SHIPPED}
