"""Texts are read in time and memory that grow with them, whatever stands in them."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace

import pytest

from dyno.engines.mysql.logs import DIALECT as MYSQL
from dyno.engines.postgres.logs import DIALECT as POSTGRES
from dyno.sql.tokens import shorten
from dyno.workloads.replay.statements import Dialect, read_statement

#: Texts that patterns which go back, or loops over what was read already, take long for.
HOSTILE = {
    "a literal": "INSERT INTO t VALUES ('{0}')",
    "quotes in a literal": "SELECT '{1}'",
    "backslashes in a literal": "SELECT '{2}'",
    "a literal that is not closed": "SELECT '{0}",
    "a name that is not closed": 'SELECT `"{0}',
    "quotes": "SELECT {1}'",
    "quotes apart": "SELECT {3}'",
    "comments that are not closed": "SELECT {4}",
    "comments": "SELECT {5}",
    "comments within comments": "SELECT {4}{6}",
    "tags": "SELECT {7}",
    "dollars": "SELECT {8}",
    "parentheses": "{9}SELECT 1",
    "queries in queries": "SELECT a FROM {10}",
    "queries one after another": "SELECT 1 {11}",
    "rows": "INSERT INTO t VALUES {12}(1)",
    "rows with NULL": "INSERT INTO t VALUES {13}(1)",
    "digits": "SELECT {14}x",
    "lists that are not closed": "SELECT {15}",
    "marks": "SELECT {16}",
}
PARTS = (
    "x", "''", "\\n", "' ", "/* ", "/* ' */", "*/", "$a{n}$ ", "$", "(", "(SELECT a FROM ",
    "UNION SELECT a FROM t ", "(1,2,'x'),", "(1,NULL,-3),", "1", "(1, ", "@",
)  # fmt: skip


def hostile(form: str, size: int) -> str:
    """A text of about `size` letters."""
    parts = (part.replace("{n}", "") * (size // len(part)) for part in PARTS)
    return form.format(*parts)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", [MYSQL, POSTGRES], ids=["backslashes", "dollars"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_text_twice_as_long_takes_about_twice_as_long(name: str, dialect: Dialect) -> None:
    """A loop within a loop takes four times as long, and at these sizes minutes."""

    def spent_s(size: int) -> float:
        text = hostile(HOSTILE[name], size)
        begin = time.process_time()
        read_statement(text, dialect)
        return time.process_time() - begin

    once, twice = (min(spent_s(size) for _ in range(2)) for size in (60_000, 120_000))
    assert twice < 3.2 * once + 0.05, f"{once:.3f} s, {twice:.3f} s"


def test_tags_of_dollar_quotes_that_differ_are_looked_for_once() -> None:
    begin = time.process_time()
    text = "SELECT " + " ".join(f"$a{n}$" for n in range(300_000))
    assert read_statement(text, POSTGRES).kind == "unknown"
    assert time.process_time() - begin < 5


BOUNDED = """
import resource
from dyno.engines.{engine}.logs import DIALECT
from dyno.workloads.replay.statements import read_statement
parts = ("x" * 16_000_000, "''" * 8_000_000)
texts = [f"INSERT INTO t VALUES ('{{part}}')" for part in parts]
resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
assert all(read_statement(text, DIALECT).kind == "write" for text in texts)
rows = "INSERT INTO t VALUES " + "(1,'x'),(NULL,2)," * 900_000 + "(1)"
assert read_statement(rows, DIALECT).digest.startswith("INSERT INTO t VALUES (?, …)")
for number in range(20_000):
    read_statement(f"SELECT '{{number}}' FROM t{{number}} WHERE {{'x' * 500}}", DIALECT)
"""


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["mysql", "postgres"])
def test_statements_take_memory_that_is_bounded(engine: str) -> None:
    """Literals of 16 MB, rows of 15 MB, and 20,000 statements that each are another."""
    code = BOUNDED.format(engine=engine)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.parametrize(
    "dialect,text,short",
    [
        (MYSQL, "SELECT /*+ '*/ x'41', t1.a2, `it's`, .5e3 #'", "SELECT x?, t1.a2, `it's`, .? ;"),
        (MYSQL, "SELECT 1 /*!50001 + 'x' */ /*M! + 1 */", "SELECT ? /*!? + ? */ /*M! + ? */;"),
        (MYSQL, "SELECT 5--3, \"it's\" -- '", "SELECT ?--?, ? ;"),
        (MYSQL, "SELECT 'not closed 1", "SELECT 'not closed 1;"),
        (MYSQL, "SELECT 1 /* 'x", "SELECT ? /* 'x;"),
        (POSTGRES, "SELECT 1 /* /* ' */ ' */ + 2 --'", "SELECT ? + ? ;"),
        (POSTGRES, "SELECT $a$ $b$ ' $a$, $1, a$b$c, E'\\'', 'a\\'", "SELECT ?, $1, a$b$c, E?, ?;"),
        (POSTGRES, "SELECT x LIKE'\\'", "SELECT x LIKE?;"),
        (POSTGRES, "SELECT $a$ 1", "SELECT $a$ 1;"),
    ],
)  # fmt: skip
def test_literals_and_comments_are_shortened(dialect: Dialect, text: str, short: str) -> None:
    assert " ".join(shorten(text, dialect.quoting).split()) == short


def test_a_session_may_quote_otherwise_than_its_server_does_by_default() -> None:
    ansi = replace(MYSQL.quoting, names_in_double=True)
    assert shorten("SELECT \"it's\", 'a\\'b'", ansi) == 'SELECT "it\'s", ?;'
    plain = replace(MYSQL.quoting, backslashes=False)
    assert shorten("SELECT 'a\\', 'b'", plain) == "SELECT ?, ?;"
    old = replace(POSTGRES.quoting, backslashes=True)
    assert shorten("SELECT 'a\\', 1, '", old) == "SELECT ?;"


def test_an_optimizer_hint_is_a_comment() -> None:
    found = read_statement("SELECT /*+ BKA(t) */ a FROM t", MYSQL)
    assert (found.kind, found.digest) == ("read", "SELECT a FROM t")


def test_what_a_comment_makes_a_server_do_is_read() -> None:
    for text in ("SELECT 1 /*!50001 INTO OUTFILE 'x' */", "SELECT 1 /*M! INTO OUTFILE 'x' */"):
        assert read_statement(text, MYSQL).kind == "admin"
