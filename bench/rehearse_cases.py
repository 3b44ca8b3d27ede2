"""Differences that are put into one side of a rehearsed upgrade, and statements that are innocent.

One dump makes both sides. What only the new release executes stands in a conditional comment
(MySQL, MariaDB) or a `DO` block (PostgreSQL), so no server and no product code is changed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

#: How often each difference is put in, in statements of their own; how often each is sent.
VARIANTS, SENT, SESSIONS = 6, 12, 20
ROWS, KEYS = 20_000, 400


@dataclass(frozen=True)
class Family:
    """How a family of servers spells what the cases need; `only_new` wraps a statement."""

    name: str
    only_new: Callable[[str], str]
    collations: tuple[str, str]
    text: str = "VARCHAR(40)"


def make_mysql(name: str, mark: str) -> Family:
    """A family of MySQL's, whose new release executes comments of this mark."""
    return Family(name, lambda sql: f"/*{mark} {sql} */", ("utf8mb4_bin", "utf8mb4_general_ci"))


def _only_new_postgres(sql: str) -> str:
    quoted = sql.replace("'", "''")
    condition = "current_setting('server_version_num')::int >= 180000"
    return f"DO $do$ BEGIN IF {condition} THEN EXECUTE '{quoted}'; END IF; END $do$"


POSTGRES = Family("postgres", _only_new_postgres, ('"C"', '"en-x-icu"'), "TEXT")


@dataclass(frozen=True)
class Case:
    """A difference or an innocent statement: what both sides load, what the new one alone executes,
    and what the log holds (`{n}` is a number), the words that may be said of it.
    """

    kind: str
    both: tuple[str, ...]
    new: tuple[str, ...]
    sent: str
    words: tuple[str, ...]


def list_injected(family: Family) -> Iterator[Case]:
    """`VARIANTS` of each kind of difference."""
    is_postgres = family is POSTGRES
    for k in range(1, VARIANTS + 1):
        yield _fail(k, is_postgres)
        yield _change_rows(k, is_postgres)
        yield _change_order(k, family)
        yield _warn(k, is_postgres)
        yield _change_count(k)
        yield _drop_index(k, is_postgres)
        yield _slow_down(k, is_postgres)


def _function(name: str, value: str, is_postgres: bool) -> str:
    if is_postgres:
        head = f"CREATE FUNCTION {name}(a int) RETURNS int LANGUAGE sql STABLE"
        return f"{head} AS $$ SELECT {value} $$"
    return f"CREATE FUNCTION {name}(a INT) RETURNS INT DETERMINISTIC RETURN {value}"


def _drop(name: str, is_postgres: bool) -> str:
    return f"DROP FUNCTION {name}(int)" if is_postgres else f"DROP FUNCTION {name}"


def _fail(k: int, is_postgres: bool) -> Case:
    name = f"fail_{k}"
    both = (_function(name, f"a + {k}", is_postgres),)
    return Case("fails", both, (_drop(name, is_postgres),), f"SELECT {name}({{n}})", ("fails",))


def _change_rows(k: int, is_postgres: bool) -> Case:
    words = ("answers otherwise",)
    if k % 2:
        name = f"rows_{k}"
        both = (_function(name, f"a + {k}", is_postgres),)
        again = _function(name, f"a + {k} + a % 2", is_postgres)
        change = _drop(name, is_postgres), again
        return Case("rows differ", both, change, f"SELECT {name}({{n}})", words)
    made = (
        f"CREATE TABLE rows_{k} (id INT PRIMARY KEY, v DECIMAL(9,2))",
        *(f"INSERT INTO rows_{k} VALUES ({n}, {n}.25)" for n in range(1, 21)),
    )
    new = (f"UPDATE rows_{k} SET v = NULL WHERE id = 7",)
    sent = f"SELECT id, v FROM rows_{k} WHERE id < 8 + {{n}}"
    return Case("rows differ", made, new, sent, words)


def _change_order(k: int, family: Family) -> Case:
    old, other = family.collations
    both = (
        f"CREATE TABLE order_{k} (id INT PRIMARY KEY, name {family.text} COLLATE {old})",
        f"INSERT INTO order_{k} VALUES (1, 'b'), (2, 'A'), (3, 'C'), (4, 'd{k}'), (5, 'E')",
    )
    change = f"ALTER TABLE order_{k} ALTER name TYPE text COLLATE {other}"
    if family is not POSTGRES:
        change = f"ALTER TABLE order_{k} MODIFY name {family.text} COLLATE {other}"
    sent = f"SELECT name FROM order_{k} WHERE id < 6 + {{n}} ORDER BY name"
    return Case("order differs", both, (change,), sent, ("answers otherwise",))


def _warn(k: int, is_postgres: bool) -> Case:
    words = ("types or warnings",)
    if is_postgres:
        name, head = f"warn_{k}", "RETURNS int LANGUAGE plpgsql AS $f$ BEGIN"
        both = (f"CREATE FUNCTION {name}(a int) {head} RETURN a; END $f$",)
        again = f"CREATE FUNCTION {name}(a int) {head} RAISE WARNING 'w'; RETURN a; END $f$"
        change = f"DROP FUNCTION {name}(int)", again
        return Case("warnings differ", both, change, f"SELECT {name}({{n}})", words)
    made = (
        f"CREATE TABLE warn_{k} (id INT PRIMARY KEY, v VARCHAR(9))",
        f"INSERT INTO warn_{k} VALUES (1, '7')",
    )
    new = (f"UPDATE warn_{k} SET v = '7x'",)
    sent = f"SELECT CAST(v AS SIGNED) + {{n}} FROM warn_{k} WHERE id = 1"
    return Case("warnings differ", made, new, sent, words)


def _change_count(k: int) -> Case:
    both = (
        f"CREATE TABLE change_{k} (id INT PRIMARY KEY, grp INT, v INT)",
        *(f"INSERT INTO change_{k} VALUES ({n}, {n % 3}, 0)" for n in range(1, 31)),
    )
    new = (f"DELETE FROM change_{k} WHERE id = 1",)
    sent = f"UPDATE change_{k} SET v = v + {{n}} WHERE grp = 1"
    return Case("rows changed differ", both, new, sent, ("answers otherwise",))


def _drop_index(k: int, is_postgres: bool) -> Case:
    on = "" if is_postgres else f" ON plan_{k}"
    both = (
        f"CREATE TABLE plan_{k} (id INT PRIMARY KEY, a INT, pad VARCHAR(90))",
        f"INSERT INTO plan_{k} SELECT id, id % {KEYS}, CONCAT('p', id) FROM seed",
        f"CREATE INDEX plan_{k}_a ON plan_{k} (a)",
    )
    sent = f"SELECT COUNT(pad) FROM plan_{k} WHERE a = {{n}}"
    kind, words = "plan changed, many times slower", ("plan changed", "slower")
    return Case(kind, both, (f"DROP INDEX plan_{k}_a{on}",), sent, words)


def _slow_down(k: int, is_postgres: bool) -> Case:
    name = f"time_{k}"

    def sleep(seconds: str) -> str:
        if is_postgres:
            head = f"CREATE FUNCTION {name}(a int) RETURNS int LANGUAGE plpgsql AS"
            return f"{head} $f$ BEGIN PERFORM pg_sleep({seconds}); RETURN a; END $f$"
        return f"CREATE FUNCTION {name}(a INT) RETURNS INT RETURN SLEEP({seconds})"

    new = _drop(name, is_postgres), sleep("0.024")
    return Case("slower by 20 %", (sleep("0.020"),), new, f"SELECT {name}({{n}})", ("slower",))


COMMON = (
    "SELECT v FROM plain WHERE id = {n}",
    "SELECT id, v FROM plain WHERE grp = {n}",
    "SELECT grp, COUNT(*) FROM plain WHERE id < 100 + {n} GROUP BY grp",
    "SELECT grp, SUM(v) FROM plain WHERE id < 200 + {n} GROUP BY grp ORDER BY grp",
    "SELECT AVG(f) FROM plain WHERE grp = {n}",
    "SELECT SUM(f) FROM plain WHERE id < 500 + {n}",
    "SELECT id FROM plain WHERE id < 50 + {n} ORDER BY grp LIMIT 5",
    "SELECT id FROM plain WHERE id < 60 + {n} LIMIT 3",
    "SELECT DISTINCT grp FROM plain WHERE id < 70 + {n}",
    "SELECT id, grp FROM plain WHERE id < 40 + {n} ORDER BY grp DESC",
    "SELECT MIN(v), MAX(v) FROM plain WHERE id > {n}",
    "SELECT a.id FROM plain a JOIN plain b ON a.id = b.grp WHERE b.id < 30 + {n}",
    "SELECT COUNT(*) FROM plain WHERE name LIKE 'n{n}%'",
    "SELECT CURRENT_TIMESTAMP, {n}",
    "SELECT COALESCE(NULL, name) FROM plain WHERE id = {n}",
    "SELECT CASE WHEN grp > {n} THEN 'x' ELSE 'y' END FROM plain WHERE id < 20",
    "SELECT name FROM plain WHERE id IN ({n}, 3, 5) ORDER BY name",
    "SELECT EXISTS (SELECT 1 FROM plain WHERE id = {n})",
    "SELECT ROUND(v * {n}, 2) FROM plain WHERE id = 9",
    "SELECT UPPER(name) FROM plain WHERE id = {n} ORDER BY 1",
    "UPDATE plain SET v = v + 1 WHERE id = {n}",
    "UPDATE plain SET grp = grp WHERE id = {n}",
    "DELETE FROM gone WHERE id = {n}",
    "INSERT INTO added (v) VALUES ({n})",
    "SELECT id FROM plain WHERE id = {n} FOR UPDATE",
    "SELECT nosuch FROM plain WHERE id = {n}",
    "SELECT * FROM plain WHERE id BETWEEN {n} AND 90 ORDER BY id",
    "SELECT v FROM plain WHERE id = {n} UNION SELECT v FROM plain WHERE id = 3",
    "SELECT (SELECT MAX(id) FROM plain WHERE grp = {n})",
    "SELECT name FROM plain WHERE id > {n} ORDER BY id LIMIT 1",
)
MYSQL = (
    "SELECT NOW(), RAND(), {n}",
    "SELECT UUID(), {n}",
    "SELECT CONNECTION_ID(), {n}",
    "SELECT GROUP_CONCAT(id) FROM plain WHERE grp = {n}",
    "SELECT DATABASE(), VERSION() IS NOT NULL, {n}",
    "SELECT SQL_NO_CACHE MAX(v) FROM plain WHERE grp = {n}",
    "SELECT DATE_ADD('2026-01-31', INTERVAL {n} MONTH)",
    "SELECT LAST_INSERT_ID(), {n}",
    "REPLACE INTO gone (id, v) VALUES ({n}, 1)",
    "SELECT @@autocommit, {n}",
)
IN_POSTGRES = (
    "SELECT now(), random(), {n}",
    "SELECT pg_backend_pid(), {n}",
    "SELECT array_agg(id) FROM plain WHERE grp = {n}",
    "SELECT md5('x{n}')",
    "SELECT to_char(date '2026-01-31' + {n}, 'YYYY-MM-DD')",
    "SELECT current_setting('search_path'), {n}",
    "SELECT row_number() OVER (ORDER BY grp), id FROM plain WHERE id < 10 + {n}",
    "SELECT txid_current(), {n}",
    "INSERT INTO added (v) VALUES ({n}) RETURNING id",
    "SELECT string_agg(name, ',' ORDER BY id) FROM plain WHERE grp = {n}",
)


def list_innocent(family: Family) -> Iterator[Case]:
    """Forty statements that no release is to be blamed for."""
    own = IN_POSTGRES if family is POSTGRES else MYSQL
    for sent in (*COMMON, *own):
        yield Case("innocent", (), (), sent, ("same", "not compared", "plan changed"))


def build_dump(family: Family) -> str:
    """The tables and functions of all cases; what only the new release executes comes last."""
    number = "id SERIAL PRIMARY KEY" if family is POSTGRES else "id INT AUTO_INCREMENT PRIMARY KEY"
    lines = [
        "CREATE TABLE seed (id INT PRIMARY KEY)",
        *(
            f"INSERT INTO seed VALUES {', '.join(f'({n})' for n in range(first, first + 1000))}"
            for first in range(1, ROWS, 1000)
        ),
        "CREATE TABLE plain (id INT PRIMARY KEY, grp INT, v DECIMAL(9,2), f DOUBLE PRECISION, "
        f"name {family.text})",
        "INSERT INTO plain SELECT id, id % 37, id / 4, id / 7e0, CONCAT('n', id) FROM seed "
        "WHERE id < 3000",
        "CREATE TABLE gone (id INT PRIMARY KEY, v INT)",
        "INSERT INTO gone SELECT id, 0 FROM seed WHERE id < 300",
        f"CREATE TABLE added ({number}, v INT)",
    ]
    cases = list(list_injected(family))
    lines += (sql for case in cases for sql in case.both)
    lines += (family.only_new(sql) for case in cases for sql in case.new)
    return "".join(f"{line};\n" for line in lines)


def build_log(family: Family, cases: list[Case], seed: int) -> str:
    """All cases, each `SENT` times, mixed, by sessions that also have transactions."""
    rng = random.Random(seed)
    sent = [case.sent for case in cases for _ in range(SENT)]
    rng.shuffle(sent)
    lines = list[str]()
    if family is not POSTGRES:
        lines += ["mysqld, Version: 8.0.36 (MySQL Community Server - GPL). started with:"]
        lines += ["Tcp port: 3306  Unix socket: /tmp/mysql.sock"]
        lines += ["Time                 Id Command    Argument"]
    at = datetime(2026, 11, 1, 10)

    def say(session: int, sql: str, command: str = "Query") -> None:
        nonlocal at
        at += timedelta(milliseconds=rng.randint(1, 9))
        if family is POSTGRES:
            said = f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03} UTC [{100 + session}]"
            lines.append(f"{said} app@shop LOG:  statement: {sql}")
        else:
            lines.append(f"{at:%Y-%m-%dT%H:%M:%S.%f}Z\t   {100 + session} {command}\t{sql}")

    for session in range(SESSIONS if family is not POSTGRES else 0):
        say(session, "app@localhost on shop using Socket", "Connect")
    for sql in sent:
        session, is_within = rng.randrange(SESSIONS), rng.random() < 0.2
        if is_within:
            say(session, "BEGIN")
        say(session, sql.format(n=rng.randint(1, 30)))
        if is_within:
            say(session, "COMMIT")
    return "\n".join(lines) + "\n"
