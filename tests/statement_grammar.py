"""Statements made at random: calls of whatever a server has, hidden in whatever SQL lets hide them,
amid statements that set a session and some that only read."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

#: What is called and read beside the server's own: what a test makes there.
WRITING = ("w", "wr", "writing", "over_writing", "guarded", "counter", "item", "reading", "kept")


@dataclass(frozen=True)
class Family:
    """How a family of servers spells: `dollars` quotes with `$` and nests comments."""

    functions: Sequence[str]
    published: Sequence[str]
    dollars: bool


_ARGUMENTS = ("", "1", "2, 3", "'a'", "'item'", "NULL", "id", "name", "1, 'a'", "'a', 'b'", "0.001")
_TABLES = ("item", "reading", "writing", "over_writing", "guarded", "kept", "public.item")
_TEXTS = ("'plain'", "'it''s'", "'-- '", "'/* '", "'; '", "'$a$'", "N'x'", "'a\\\\'", "''''")
_FRAMES = (
    "SELECT {}",
    "SELECT id, {} FROM item",
    "SELECT * FROM item WHERE {} IS NOT NULL",
    "SELECT * FROM {} AS x",
    "SELECT count(*) FROM item GROUP BY {}",
    "SELECT 1 ORDER BY {}",
    "SELECT max(id) FROM item HAVING {} IS NULL",
    "WITH q AS (SELECT {} AS c) SELECT * FROM q",
    "WITH q (c) AS (SELECT {}) SELECT c FROM q",
    "SELECT (SELECT {})",
    "SELECT CASE WHEN id = 1 THEN {} END FROM item",
    "SELECT 1 UNION ALL (SELECT {} FROM item LIMIT 1)",
    "SELECT * FROM item a JOIN item b ON {} IS NULL",
    "EXPLAIN SELECT {}",
    "EXPLAIN ANALYZE SELECT {}",
    "VALUES ({})",
    "SELECT coalesce({}, 1) FROM item",
    "SELECT {} FROM item LIMIT 2",
    "(SELECT {})",
    "SELECT {}; SELECT 1",
    "SELECT 1; SELECT {}",
    "DECLARE c CURSOR FOR SELECT {}",
    "DO {}",
    "SET @x = {}",
    "CALL {}",
)
_SETS_OF_DOLLARS = (
    "BEGIN", "BEGIN READ WRITE", "START TRANSACTION READ WRITE", "COMMIT", "ROLLBACK", "END",
    "SAVEPOINT s", "ROLLBACK TO s", "RELEASE s", "DISCARD ALL", "RESET ALL", "DISCARD TEMP",
    "SET transaction_read_only = off", "SET default_transaction_read_only TO off",
    "SET LOCAL default_transaction_read_only = off", "RESET default_transaction_read_only",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE", "SET TRANSACTION READ WRITE",
    "SET standard_conforming_strings = off", "SET standard_conforming_strings = on",
    "SET search_path TO public", "SET search_path = pg_catalog, public", "SET TIME ZONE 'UTC'",
    "SET statement_timeout = 0", "SET client_encoding = 'SJIS'", "RESET ROLE",
    "SET SESSION AUTHORIZATION DEFAULT", "SET work_mem = '8MB'", "COMMIT AND CHAIN",
)  # fmt: skip
_SETS_OF_BACKTICKS = (
    "BEGIN", "START TRANSACTION READ WRITE", "START TRANSACTION", "COMMIT", "ROLLBACK",
    "SAVEPOINT s", "ROLLBACK TO SAVEPOINT s", "SET autocommit = 0", "SET autocommit = 1",
    "SET transaction_read_only = 0", "SET tx_read_only = 0", "SET SESSION TRANSACTION READ WRITE",
    "SET TRANSACTION READ WRITE", "SET sql_mode = 'ANSI_QUOTES'", "SET sql_mode = ''",
    "SET sql_mode = 'NO_BACKSLASH_ESCAPES'", "SET sql_mode = DEFAULT", "SET NAMES utf8mb4",
    "SET NAMES gbk", "SET @@GLOBAL.max_connections = 77", "SET GLOBAL max_connections = 78",
    "SET @@PERSIST.max_connections = 79", "/*!50000 SET GLOBAL max_connections = 80 */",
    "SET time_zone = '+00:00'", "SET @a = 1", "SET autocommit = 1, @@GLOBAL.max_connections = 81",
    "SET max_execution_time = 0", "USE dyno", "COMMIT AND CHAIN", "SET SESSION sql_mode = 'ORACLE'",
)  # fmt: skip


def make_statements(family: Family, count: int, seed: int) -> Iterator[str]:
    """So many statements; the published ones come first, as they are and disguised."""
    chance = random.Random(seed)
    made = [*family.published]
    sets = _SETS_OF_DOLLARS if family.dollars else _SETS_OF_BACKTICKS
    yield from made
    for _ in range(count - len(made)):
        what = chance.random()
        if what < 0.2:
            yield chance.choice(sets)
        elif what < 0.35:
            yield _disguise(family, chance.choice(family.published), chance)
        elif what < 0.45:
            table = chance.choice(_TABLES)
            yield f"SELECT * FROM {table} WHERE name <> {chance.choice(_TEXTS)}"
        else:
            frame = chance.choice(_FRAMES)
            # a name alone would be a table's, and a log whose tables are not there is refused
            call = _call(family, chance, 11 if "FROM {}" in frame else 0)
            yield _disguise(family, frame.format(call), chance)


def _call(family: Family, chance: random.Random, forms_most: int) -> str:
    name = chance.choice(WRITING) if chance.random() < 0.3 else chance.choice(family.functions)
    arguments = chance.choice(_ARGUMENTS)
    quote = '"' if family.dollars else "`"
    forms = (
        f"{name}({arguments})", f"{name}({arguments})", f"{name}({arguments})",
        f"{name} ({arguments})", f"{name}/**/({arguments})", f"{quote}{name}{quote}({arguments})",
        f"{name.upper()}(\n{arguments})", f"dyno.{name}({arguments})",
        f"pg_catalog.{name}({arguments})", f"public.{name}(1)",
        f"concat({chance.choice(_TEXTS)}, {name}({arguments}))",
        f"(item).{name}", f"item.{name}", f"(1).{name}",
    )  # fmt: skip
    return chance.choice(forms[: forms_most or None])


def _disguise(family: Family, sql: str, chance: random.Random) -> str:
    """The statement among comments and texts that a reader may take for something else."""
    text = chance.choice(_TEXTS)
    forms = [
        sql, sql, sql, f"/* {text} */ {sql}", f"{sql} -- {text}", f"{sql} /* ; */",
        f"-- {text}\n{sql}", f"{sql};", f"  {sql}\t\n", f"/**/{sql}/**/",
        sql.replace(" ", "\n"), sql.replace(" ", "/* */"), f"{sql} -- \r {sql}",
    ]  # fmt: skip
    if family.dollars:
        forms += [sql.swapcase()]
        forms += [f"/* /* */ {sql} */ {sql}", f"SELECT $a$ {sql} $a$", f"SELECT E'\\' {sql} \\''"]
        forms += [f"SELECT 'a\\' , ({sql}) , '\\'", f"SELECT U&'\\0027', ({sql})"]
    else:
        forms += [f"/*!50000 {sql} */", f"SELECT 1 /*!50000 , ({sql}) */", f"/*M! {sql} */"]
        forms += [f"SELECT 'a\\' , ({sql}) , '\\'", f'SELECT "a\\" , ({sql}) , "\\"']
        forms += [f"# {text}\n{sql}", f"SELECT /*+ SET_VAR(max_execution_time=0) */ ({sql})"]
    return chance.choice(forms)
