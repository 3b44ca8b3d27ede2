"""Statements of a log: digests, what they do, the tables they name."""

from __future__ import annotations

import pytest

from dyno.engines.mysql.logs import DIALECT as MYSQL
from dyno.engines.postgres.logs import DIALECT as POSTGRES
from dyno.workloads.replay.statements import (
    Dialect,
    Kind,
    compile_names,
    find_made_tables,
    read_statement,
)


@pytest.mark.parametrize(
    "dialect,text,digest",
    [
        (
            MYSQL,
            "select c  from `t` where id=5 and k in (1,2, 3) -- x",
            "SELECT c FROM `t` WHERE id = ? AND k IN (?, …)",
        ),
        (
            MYSQL,
            "INSERT INTO t(a,b) VALUES (1,'it''s'),(2,\"q\\\"\");",
            "INSERT INTO t(a, b) VALUES (?, …), …",
        ),
        (MYSQL, "SELECT @@version # 'x\n LIMIT 1", "SELECT @@version LIMIT ?"),
        (
            MYSQL,
            "SELECT .5, a.b, `a`.`b`, -.5e3, N'x' FROM t1.t2",
            "SELECT ?, a.b, `a`.`b`, - ?, ? FROM t1.t2",
        ),
        (
            POSTGRES,
            "SELECT a.\"B\", f($1) FROM a WHERE x = E'\\'' AND y = $$'$$",
            'SELECT a."B", f(?) FROM a WHERE x = ? AND y = ?',
        ),
    ],
)
def test_a_digest_has_a_mark_for_each_literal(dialect: Dialect, text: str, digest: str) -> None:
    assert read_statement(text, dialect).digest == digest


KINDS: dict[str, Kind] = {
    "SELECT 1": "read",
    "(SELECT 1) UNION (SELECT 2)": "read",
    "WITH d AS (SELECT 1) SELECT * FROM d": "read",
    "WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d": "write",
    "SELECT * FROM t FOR UPDATE": "write",
    "SELECT * INTO new FROM t": "write",
    "SELECT nextval('s')": "write",
    "EXPLAIN SELECT 1": "read",
    "EXPLAIN ANALYZE DELETE FROM t": "write",
    "DELETE FROM t": "write",
    "START TRANSACTION READ ONLY": "begin",
    "START SLAVE": "admin",
    "END": "commit",
    "ROLLBACK": "rollback",
    "ROLLBACK TO SAVEPOINT a": "state",
    "SET STATEMENT max_statement_time = 5 FOR COMMIT": "commit",
    "SET autocommit = 0": "state",
    "SET GLOBAL max_connections = 5": "admin",
    "SET @@GLOBAL.max_connections = 5": "admin",
    "SET @@global . max_connections = 5": "admin",
    "SET autocommit = 1, @@PERSIST.max_connections = 5": "admin",
    "SET PASSWORD = 'x'": "admin",
    "SET DEFAULT ROLE ALL TO app": "admin",
    "GRANT ALL ON t TO app": "admin",
    "CREATE OR REPLACE ROLE app": "admin",
    "DROP DATABASE shop": "admin",
    "ALTER SYSTEM SET work_mem = '1GB'": "admin",
    "CREATE FUNCTION f RETURNS INTEGER SONAME 'f.so'": "admin",
    "COPY t TO PROGRAM 'cat'": "admin",
    "COPY t FROM '/tmp/t'": "admin",
    "COPY t FROM STDIN": "write",
    "SELECT * FROM t INTO OUTFILE '/tmp/t'": "admin",
    "SELECT pg_terminate_backend(5)": "admin",
    "SELECT pg_create_physical_replication_slot('s')": "admin",
    "SELECT global, password, role FROM t": "read",
    "CREATE TABLE role (x int)": "write",
    "USE shop": "use",
    "KILL 5": "admin",
    "ANALYZE SELECT 1": "read",
    "ANALYZE FORMAT=JSON UPDATE t SET x = 1": "write",
    "ANALYZE t": "write",
    "FOO 1": "unknown",
    "SELECT 'cut": "unknown",
    "SELECT 1; SELECT 2": "read",
    "-- nothing": "unknown",
}


@pytest.mark.parametrize("text", KINDS)
def test_what_a_statement_does_is_known_by_its_words(text: str) -> None:
    found = read_statement(text, POSTGRES)
    assert found.kind == KINDS[text] and bool(found.why) == (found.kind == "unknown")


@pytest.mark.parametrize(
    "text,tables",
    [
        (
            'SELECT extract(year FROM b) FROM t a JOIN s."B" AS c ON a.x IS DISTINCT FROM c.x',
            {"t", 's."B"'},
        ),
        (
            "WITH q(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM q) SELECT * FROM q, u",
            {"u"},
        ),
        ("FETCH ALL FROM c", set()),
        ("WITH q AS (SELECT 1 FROM t2) SELECT * FROM q, generate_series(1, 3) g, u", {"t2"}),
        ("SELECT * FROM a b, c WHERE x = 1", {"a", "c"}),
        ("INSERT INTO t (a) SELECT a FROM information_schema.tables", {"t"}),
        ("UPDATE ONLY t SET x = (SELECT max(y) FROM z)", {"t", "z"}),
        ("TRUNCATE t", {"t"}),
        ("TRUNCATE TABLE ONLY t", {"t"}),
        ("INSERT t (a) VALUES (1)", {"t"}),
        ("REPLACE LOW_PRIORITY t(a) SELECT a FROM u", {"t", "u"}),
        ("INSERT IGNORE INTO t VALUES (1)", {"t"}),
        ("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE c = c + 1", {"t"}),
        ("INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET c = 1", {"t"}),
        ("MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET c = 1", {"t"}),
        ("SELECT * FROM t FOR UPDATE SKIP LOCKED", {"t"}),
        ("SELECT * FROM t FOR NO KEY UPDATE NOWAIT", {"t"}),
        ("SELECT * FROM t AS a, u FOR UPDATE OF a WAIT 5", {"t", "u"}),
        ("CREATE TABLE t (a int REFERENCES u ON UPDATE CASCADE)", {"t"}),
        ("COPY t (a) FROM STDIN", {"t"}),
        ("COPY (SELECT a FROM t) TO STDOUT", {"t"}),
        ("SHOW TABLE STATUS FROM shop", set()),
    ],
)
def test_a_statement_names_its_tables(text: str, tables: set[str]) -> None:
    assert read_statement(text, POSTGRES).tables == tables


def test_a_dump_makes_tables_and_views() -> None:
    dump = """CREATE TABLE `a` (x int);\ncreate table if not exists public.b (x int);
/*!50001 CREATE ALGORITHM=UNDEFINED */ /*!50001 VIEW `w` AS SELECT 1 */;
CREATE MATERIALIZED VIEW public."M" AS SELECT 1;"""
    assert find_made_tables(dump) == {"a", "b", "w", "m"}


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("UPDATE prod.item SET x = 1", True),
        ("UPDATE `prod` . item SET x = 1", True),
        ("DELETE FROM PROD/* x */.item", True),
        ("USE prod", True),
        ("USE `prod`", True),
        ("UPDATE item SET prod = 1", False),
        ("UPDATE shop.item SET x = 1", False),
        ("SELECT reprod.x FROM reprod", False),
    ],
)
def test_a_database_is_named_before_a_dot(text: str, is_named: bool) -> None:
    named = compile_names(["prod", "mysql"])
    assert named is not None and bool(named.search(text)) == is_named
    assert compile_names([]) is None
