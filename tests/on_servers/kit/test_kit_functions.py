"""The kit's functions as each server calls them: the docs' examples word for word, and edges."""

from __future__ import annotations

import json
import random
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from kit_documents import a_value, leaves, quoted
from kit_parts import KitParts
from kit_servers import KitServer, check_page
from repository import ROOT

from dyno import driver
from dyno.errors import TrialFailed

pytestmark = [pytest.mark.timeout(300)]

DOCS = ROOT / "docs" / "guides" / "kit"
DOCUMENTS = 300
PREDICATES = 400


@pytest.fixture
def server(kit_parts: KitParts) -> KitServer:
    return kit_parts.hold("bitmap", "json", "uuid")


@pytest.mark.parametrize("page", ["bitmap", "json", "uuid"])
def test_the_examples_of_the_docs_answer_as_they_say(server: KitServer, page: str) -> None:
    check_page(server, DOCS / f"{page}.md")


REFUSED = {
    "rb_or(1)": "it takes rb_or(bitmap, bitmap)",
    "rb_cardinality('no bitmap')": "this is not a bitmap",
    "rb_cardinality(CONCAT(rb_build('1'), 'x'))": "1 bytes too many",
    "rb_build('1,x')": "'x' is not a whole number",
    "rb_build_agg(-1)": "from 0 to 4294967295, not -1",
    "rb_build_agg(4294967296)": "from 0 to 4294967295",
    "json_flatten()": "it takes json_flatten(document",
    "json_flatten('{}', 'lines')": "'keys' or 'paths'",
    "json_flatten('{', 'keys')": "invalid JSON at byte 1: it ends too early",
    "json_flatten('[1,]')": "invalid JSON at byte 3",
    "json_extract_all('{}')": "it takes json_extract_all(document, key",
    "json_extract_all(1, 2, 3)": "say 'error' or 'null'",
    "json_tokens('{', 'error')": "invalid JSON at byte 1: it ends too early",
    "json_tokens('1e99999999999999999999')": "the exponent of 1e99999999999999999999 is too large",
    "json_holds('{}')": "it takes json_holds(document, pattern",
    "json_holds('{}', '{')": "the pattern: invalid JSON at byte 1",
    "json_holds('{}', '{}', 'maybe')": "say 'error' or 'null'",
    "jsum('1\\nabc\\n')": "'abc' is not a number",
    "jsum('1', 31)": "a constant from 0 to 30",
    "jsum('1', RAND())": "a constant from 0 to 30",
    "jsum('1e36')": "over 65 digits",
    "jmax('[{}]')": "holds an object",
    "json_flatten(CONCAT('{\"', REPEAT('k', 20000), '\":\"', REPEAT('w ', 20000), '\"}'))": (
        "the result is larger than 64 MiB"
    ),
    f"json_holds('[{'[],' * 8000}1]', '[{'1,' * 8000}1]')": "too large together",
    "jsum(CONCAT('1\\n', CHAR(0)))": "is not a number",
    "rb_build(CONCAT('1,', CHAR(0)))": "is not a whole number",
    "json_flatten(CONCAT(REPEAT('[', 1001), REPEAT(']', 1001)))": "nested deeper than 1000",
}


@pytest.mark.parametrize("call", REFUSED)
def test_a_wrong_call_is_an_error_with_its_cause(server: KitServer, call: str) -> None:
    with pytest.raises(TrialFailed) as caught:
        server.ask(f"SELECT {call}")
    assert REFUSED[call] in str(caught.value)
    assert server.one("SELECT 1") == "1"


#: One row whose numbers take a server long to add up: more than it looks at a KILL in between.
LONG = "SELECT jsum(REPEAT('9e199\\n1e-199\\n', 5000000))"


def test_a_call_ends_within_seconds_of_a_kill(server: KitServer) -> None:
    server.ask("SET GLOBAL max_allowed_packet = 67108864")
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(server.ask, LONG)
        began = time.monotonic()
        running = "SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT jsum%'"
        while not (found := server.ask(f"{running} AND time >= 1")):
            assert time.monotonic() - began < 30 and not asked.done()
            time.sleep(0.1)
        server.ask(f"KILL QUERY {found[0][0]}")
        began = time.monotonic()
        with pytest.raises(TrialFailed, match=r"(?i)kill|interrupted"):
            asked.result(60)
    assert time.monotonic() - began < 5
    assert server.one("SELECT jsum('1\\n2', 0)") == "3"


def test_null_and_empty_are_told_apart(server: KitServer) -> None:
    calls = "json_flatten(NULL), json_flatten('{}'), json_extract_all('{}', NULL), jsum(NULL)"
    rows = server.ask(f"SELECT {calls}, jcount(NULL), json_flatten('{{', 'keys', 'null')")
    assert rows == [[None, "", None, None, "0", None]]


def test_text_of_another_character_set_is_converted_or_refused(server: KitServer) -> None:
    call = 'json_flatten(CONVERT(\'{"a":"ä"}\' USING latin1))'
    if server.is_mysql_8:
        assert server.one(f"SELECT {call}") == "a=ä\n"
        assert server.one(f"SELECT COLLATION({call})") == "utf8mb4_bin"
    else:
        with pytest.raises(TrialFailed, match="not UTF-8 at byte 6"):
            server.ask(f"SELECT {call}")
    assert server.one('SELECT json_flatten(\'{"a":"ä"}\') = "a=ä\n"') == "1"


def test_groups_results_and_columns_are_typed_as_they_should_be(server: KitServer) -> None:
    server.ask(
        "CREATE TABLE dyno.made AS SELECT jsum('1.5', 2) AS s, jcount('1') AS c,"
        " json_flatten('{}') AS f, is_uuid('') AS u"
    )
    columns = "SELECT column_name, data_type, numeric_scale FROM information_schema.columns"
    rows = server.ask(f"{columns} WHERE table_name = 'made' ORDER BY 1")
    server.ask("DROP TABLE dyno.made")
    text = "longtext" if server.is_mysql_8 else "longblob"
    kinds = {str(name): (kind, scale) for name, kind, scale in rows}
    assert kinds["s"] == ("decimal", "2") and kinds["f"] == (text, None)
    assert kinds["c"][0] in ("bigint", "int")


def insert(server: KitServer, documents: list[Any]) -> None:
    """Fills `dyno.made`."""
    rows = ", ".join(f"({number}, {quoted(it)})" for number, it in enumerate(documents))
    server.ask(
        "CREATE TABLE dyno.made (id int, doc longtext CHARACTER SET utf8mb4)",
        f"INSERT INTO dyno.made VALUES {rows}",
    )


def test_random_documents_flatten_to_their_values(server: KitServer, rng: random.Random) -> None:
    documents = [a_value(rng, 6) for _ in range(DOCUMENTS)]
    insert(server, documents)
    flat = server.ask("SELECT json_flatten(doc, 'paths') FROM dyno.made ORDER BY id")
    server.ask("DROP TABLE dyno.made")
    for (lines,), document in zip(flat, documents, strict=True):
        told = [line.partition("=")[2] for line in lines_of(lines)]
        assert [json.loads(it, parse_float=Decimal) for it in told] == [
            value for _, value in leaves(document)
        ]


def lines_of(text: str | None) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def test_random_sums_are_exact(server: KitServer, rng: random.Random) -> None:
    documents = [a_value(rng, 3) for _ in range(DOCUMENTS)]
    insert(server, documents)
    numbers = [
        Decimal(value)
        for document in documents
        for key, value in leaves(document)
        if key == "a" and value is not None
    ]
    found = "json_extract_all(doc, 'a')"
    ((total, least, most, count),) = server.ask(
        f"SELECT jsum({found}, 6), jmin({found}, 6), jmax({found}, 6), jcount({found})"
        " FROM dyno.made"
    )
    server.ask("DROP TABLE dyno.made")
    wanted = [sum(numbers), min(numbers), max(numbers), len(numbers)]
    assert [Decimal(str(it)) for it in (total, least, most, count)] == wanted


#: A predicate in plain SQL, and the same over bitmaps; `a` to `c` are replaced.
OPERATIONS = {
    "({} OR {})": "rb_or({}, {})",
    "({} AND {})": "rb_and({}, {})",
    "({} XOR {})": "rb_xor({}, {})",
    "({} AND NOT {})": "rb_andnot({}, {})",
}


def a_predicate(rng: random.Random, depth: int) -> tuple[str, str]:
    """A random predicate over `dyno.rows`, in plain SQL and over the bitmaps of `dyno.maps`."""
    if not depth:
        column, value = rng.choice("ab"), rng.randrange(6)
        stored = f"(SELECT ids FROM dyno.maps WHERE what = '{column}' AND value = {value})"
        return f"(IFNULL({column}, -1) = {value})", f"IFNULL({stored}, rb_build(''))"
    plain, mapped = rng.choice(list(OPERATIONS.items()))
    left, right = a_predicate(rng, depth - 1), a_predicate(rng, depth - 1)
    return plain.format(left[0], right[0]), mapped.format(left[1], right[1])


def test_random_predicates_over_bitmaps_are_those_of_plain_sql(
    server: KitServer, rng: random.Random
) -> None:
    def field() -> str:
        return "NULL" if rng.random() < 0.1 else str(rng.randrange(5))

    ids = rng.sample(range(2**31), 400) + list(range(1000, 1600))
    rows = ", ".join(f"({number}, {field()}, {field()})" for number in ids)
    maps = "INSERT INTO dyno.maps SELECT '{0}', {0}, rb_build_agg(id) FROM dyno.rows_of GROUP BY 2"
    server.ask(
        "CREATE TABLE dyno.rows_of (id int PRIMARY KEY, a int, b int)",
        f"INSERT INTO dyno.rows_of VALUES {rows}",
        "CREATE TABLE dyno.maps (what char(1), value int, ids longblob)",
        *(maps.format(column) for column in "ab"),
    )
    asked = [a_predicate(rng, rng.randrange(1, 5)) for _ in range(PREDICATES)]
    questions = [
        "SELECT (SELECT COALESCE(GROUP_CONCAT(id ORDER BY id), '') FROM dyno.rows_of"
        f" WHERE {plain}) = rb_to_list({mapped}), rb_cardinality({mapped})"
        for plain, mapped in asked
    ]
    answers = driver.ask(
        server.engine.session, ["SET group_concat_max_len = 1048576", *questions], 120
    )
    # of one bitmap all rows, and of one row all bitmaps, in turn
    told = "rb_contains(m.ids, r.id) <> (IF(m.what = 'a', r.a, r.b) <=> m.value)"
    for tables in (
        "dyno.maps m STRAIGHT_JOIN dyno.rows_of r",
        "dyno.rows_of r STRAIGHT_JOIN dyno.maps m",
    ):
        assert server.one(f"SELECT SUM({told}) FROM {tables}") == "0"
    server.ask("DROP TABLE dyno.rows_of, dyno.maps")
    for (plain, _), rows_of in zip(asked, answers[1:], strict=True):
        assert rows_of[0][0] == "1", plain
    assert len({rows_of[0][1] for rows_of in answers[1:]}) > PREDICATES // 10
