"""Indexes in files on each server: their page, plain SQL beside them, kills, and locks."""

from __future__ import annotations

import fcntl
import json
import os
import random
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from kit_parts import KitParts
from kit_servers import BETWEEN, SETTINGS, KitServer, check_page, serving
from repository import ROOT

from dyno import driver
from dyno.engines import find_engine
from dyno.errors import TrialFailed

pytestmark = [pytest.mark.timeout(300)]

PAGE = ROOT / "docs/guides/kit/files.md"
COLUMNS = "id:uint, a:int, b:ulong, c:double, d:key"
PREDICATES, GROUPED = 1200, 150


@pytest.fixture
def server(kit_parts: KitParts) -> Iterator[KitServer]:
    server = kit_parts.hold("files")
    yield server
    server.ask("DROP TABLE IF EXISTS dyno.plain")
    for name in listed(server):
        server.ask(f"SELECT fb_drop('{name}')")


def listed(server: KitServer) -> list[str]:
    names = server.one("SELECT CONVERT(fb_list() USING utf8mb4)")
    return names.split(",") if names else []


def folder_of(server: KitServer, name: str) -> Path:
    return Path(str(server.one("SELECT @@datadir"))) / "dyno_fb" / name


def rows_of(server: KitServer, name: str, query: str) -> Any:
    quoted = query.replace("'", "''")
    told = server.one(f"SELECT CONVERT(fb_query('{name}', '{quoted}') USING utf8mb4)")
    return json.loads(str(told), parse_float=Decimal)


def test_the_page_is_as_it_says(server: KitServer) -> None:
    check_page(server, PAGE)


REFUSED = {
    "fb_create('t', 'a:int')": "there is an index of that name",
    "fb_create('../t', 'a:int')": "letters, figures and _",
    "fb_create('', 'a:int')": "letters, figures and _",
    "fb_create('u', 'a:blob')": "'a' has no type of byte, short",
    "fb_create(NULL, 'a:int')": "the name of the index is NULL",
    "fb_drop('nothing')": "there is no index 'nothing'",
    "fb_insert('nothing', '1')": "there is no index 'nothing'",
    "fb_insert('t', '1')": "the index has 2 columns, not 1",
    "fb_insert('t', '1|a|b')": "the index has 2 columns, not 3",
    "fb_insert('t', '1|a\\n2|b')": "more than one row",
    "fb_load('t', '1,a\\nx,b')": "row 2: 'x' is not a value of the column 'a'",
    "fb_load('t', '1,\"a')": "row 1: a quote has no end",
    "fb_load('t', '1;a', ';;')": "one ASCII character",
    "fb_load('t', LOAD_FILE('/nowhere'))": "may the server read that file",
    "fb_insert2('t', 3000000000, 'a')": "'3000000000' is not a value of the column 'a'",
    "fb_insert2('t', 1.5, 'a')": "'1.5' is not a value of the column 'a'",
    "fb_query('t', 'a FROM t')": "fb_query has no FROM",
    "fb_query('t', 'a ORDER BY a')": "fb_query has no ORDER",
    "fb_query('t', 'c')": "there is no column 'c'",
    "fb_query('t', 'SQRT(a)')": "and no SQRT",
    "fb_query('t', 'SUM(b)')": "'b' holds no numbers",
    "fb_query('t', 'a WHERE a = ''1''')": "a number without an exponent for 'a'",
    "fb_query('t', 'a WHERE a = NULL')": "a number without an exponent for 'a'",
    "fb_query('t', 'a WHERE b = 1')": "a text in quotes for 'b'",
    "fb_query('t', 'a WHERE b = ''x')": "a quote of the query has no end",
    "fb_query('t', CONCAT('a WHERE ', REPEAT('(', 300)))": "nested deeper than 32",
    "fb_query('t', CONCAT('a WHERE a=1', REPEAT(' OR a=1', 1000)))": "more than 1000 conditions",
    "fb_query('t', CONCAT('a', REPEAT(', a', 64)))": "more than 64 columns",
    "fb_insert2('t', 5, 'a'), fb_insert2('t', 6, 'b')": "writes to the index already",
    "fb_load('t', REPEAT(',', 40))": "row 1: a row has at most 32 fields",
    "fb_inlist('t', 'a, b')": "fb_inlist takes one column",
    "fb_delete('t', '')": "the query has its end where",
}


def test_a_wrong_call_is_an_error_with_its_cause_and_changes_nothing(server: KitServer) -> None:
    server.ask("SELECT fb_create('t', 'a:int,b:text')", "SELECT fb_insert('t', '1|x')")
    for call, why in REFUSED.items():
        with pytest.raises(TrialFailed) as caught:
            server.ask(f"SELECT {call}")
        assert why in str(caught.value), call
    assert rows_of(server, "t", "a, b") == [[1, "x"]] and listed(server) == ["t"]
    files = sorted(it.name for it in folder_of(server, "t").iterdir())
    assert files == ["manifest", "s0000000001"]


def test_an_uninstall_is_refused_while_there_are_indexes(
    server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.ask("SELECT fb_create('kept', 'a:int')")
    assert server.kit("uninstall", "files") == 64
    assert "there are indexes in files: kept" in capsys.readouterr().err
    assert listed(server) == ["kept"]


WORDS = ("", "a", "ab", "b", "it''s", "ä", "\\\\", "😀")
NUMBERS = {
    "id": ("0", "700", "1400", "1900"),
    "a": ("-5", "-1", "0", "1", "2", "3", "2147483647", "-2147483648"),
    "b": ("0", "1", "7", "9223372036854775808", "18446744073709551615"),
    "c": ("-2.5", "-0.25", "0", "0.5", "1", "3.75", "1000000"),
}
#: What columns are compared with beside what they hold.
STRANGE = {
    "id": ("-1", "12.5"),
    "a": ("2.5", "-0.5", "99999999999"),
    "b": ("-1", "0.5", "99999999999999999999"),
    "c": ("0.3", "2"),
    "d": ("'aa'", "'zz'"),
}


def values_of(column: str) -> tuple[str, ...]:
    return tuple(f"'{it}'" for it in WORDS) if column == "d" else NUMBERS[column]


def a_condition(rng: random.Random, depth: int) -> str:
    """A random condition that means the same in SQL and to the index."""
    if depth:
        parts = [a_condition(rng, depth - 1) for _ in range(rng.randrange(2, 4))]
        joined = rng.choice((" AND ", " OR ", " XOR ")).join(parts)
        return rng.choice((f"({joined})", f"NOT ({joined})", joined))
    column = rng.choice(("id", "a", "b", "c", "d"))
    words = [rng.choice(values_of(column) + STRANGE[column]) for _ in range(4)]
    negated = rng.choice(("", "NOT "))
    leaves = [
        f"{column} {rng.choice(('=', '<>', '<', '<=', '>', '>='))} {words[0]}",
        f"{column} IS {negated}NULL",
        f"NOT {column} = {words[0]}",
    ]
    # servers' own defects: 5.6 takes unsigned numbers above 2^63 for signed ones in BETWEEN, and
    # both 5.6 and 8.0 take 2^64 - 1 for -1 in a list with decimals
    if column != "b":
        leaves += [
            f"{column} {negated}BETWEEN {words[0]} AND {words[1]}",
            f"{column} {negated}IN ({', '.join(words)})",
        ]
    return rng.choice(leaves)


def fill(server: KitServer, rng: random.Random) -> None:
    """The same rows in `dyno.plain` and in the index `plain`, as many additions and deletions."""

    def field(column: str) -> str:
        return "NULL" if rng.random() < 0.15 else rng.choice(values_of(column))

    server.ask(
        "CREATE TABLE dyno.plain (id INT UNSIGNED PRIMARY KEY, a INT, b BIGINT UNSIGNED, c DOUBLE,"
        " d VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)",
        f"SELECT fb_create('plain', '{COLUMNS}')",
    )
    insert2 = (
        "SELECT fb_insert2('plain', id, a, b, c, d) FROM dyno.plain WHERE id >= {} AND id < {}"
    )
    # more than a merge takes, a segment of many values without bitmaps, and some of few rows
    for begin, count in [(0, 1500), *((1500 + 10 * n, 10) for n in range(40))]:
        rows = (
            f"({number}, {', '.join(field(column) for column in 'abcd')})"
            for number in range(begin, begin + count)
        )
        server.ask(
            f"INSERT INTO dyno.plain VALUES {', '.join(rows)}",
            insert2.format(begin, begin + count),
        )
    for _ in range(5):
        condition = f"({a_condition(rng, 1)}) AND id > {rng.randrange(1900)}"
        statements = (
            f"SELECT fb_delete('plain', '{within(condition)}')",
            f"DELETE FROM dyno.plain WHERE {condition}",
            "SELECT COUNT(*) FROM dyno.plain",
        )
        answers = driver.ask(server.engine.session, statements, 60)
        assert rows_of(server, "plain", "COUNT(*)") == [[int(str(answers[-1][0][0]))]], condition


def test_random_conditions_and_groups_are_those_of_plain_sql(
    server: KitServer, rng: random.Random
) -> None:
    fill(server, rng)
    asked = [a_condition(rng, rng.randrange(4)) for _ in range(PREDICATES)]
    questions = [
        "SELECT (SELECT COALESCE(CONCAT('(', GROUP_CONCAT(id ORDER BY id), ')'), '(NULL)')"
        f" FROM dyno.plain WHERE {condition}) = fb_inlist('plain', 'id WHERE {within(condition)}'),"
        f" (SELECT COUNT(*) FROM dyno.plain WHERE {condition})"
        for condition in asked
    ]
    begin = "SET group_concat_max_len = 1048576"
    answers = driver.ask(server.engine.session, [begin, *questions], 200)[1:]
    for condition, ((is_same, _),) in zip(asked, answers, strict=True):
        assert is_same == "1", condition
    assert len({rows[0][1] for rows in answers}) > PREDICATES // 10
    for condition in asked[:GROUPED]:
        by = rng.choice("abd")
        counted = "COUNT(*), COUNT(c), COUNT(DISTINCT d), SUM(a), SUM(b), AVG(a), MIN(b), MAX(c)"
        sql = f"SELECT {by}, {counted} FROM dyno.plain WHERE {condition} GROUP BY {by}"
        query = f"{by}, {counted} WHERE {within(condition)}"
        told = server.one(f"SELECT CONVERT(fb_query('plain', '{query}') USING utf8mb4)")
        wanted = sorted(map(plain_row, server.ask(sql)))
        assert sorted(map(plain_row, json.loads(str(told), parse_float=Decimal))) == wanted, query


def within(condition: str) -> str:
    """The condition as a text of SQL: quotes twice; its one backslash stays as SQL has it."""
    return condition.replace("'", "''")


def plain_row(row: list[Any]) -> list[str]:
    """Fields that are alike when their values are."""

    def field(value: Any) -> str:
        with suppress(ArithmeticError, TypeError):
            return str(Decimal(value).normalize() + 0)
        return str(value)

    return [field(value) for value in row]


def test_sessions_add_side_by_side_and_a_writer_is_waited_for(server: KitServer) -> None:
    server.ask("SELECT fb_create('shared', 'a:int')")
    with ThreadPoolExecutor(4) as pool:
        made = pool.map(lambda n: server.one(f"SELECT fb_insert('shared', '{n}')"), range(60))
        assert list(made) == ["1"] * 60
    assert rows_of(server, "shared", "COUNT(*), COUNT(DISTINCT a)") == [[60, 60]]
    # as another server's session would hold it
    folder = os.open(folder_of(server, "shared"), os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        with pytest.raises(TrialFailed, match="another session has been writing to the index"):
            server.ask("SELECT fb_insert('shared', '61')")
        assert rows_of(server, "shared", "COUNT(*)") == [[60]]
    finally:
        os.close(folder)
    server.ask("SELECT fb_insert('shared', '61')")


def test_a_group_whose_answer_is_asked_twice_is_added_once(server: KitServer) -> None:
    server.ask("SELECT fb_create('once', 'a:int')")
    told = "SELECT fb_insert2('once', 7) AS n FROM (SELECT 1) AS t HAVING n > 0 AND n < 9"
    assert server.ask(f"{told} ORDER BY n") == [["1"]]
    assert rows_of(server, "once", "a") == [[7]]


def test_damage_is_told_and_never_answered_from(server: KitServer) -> None:
    server.ask("SELECT fb_create('hurt', 'a:int')", "SELECT fb_load('hurt', '1\\n2\\n3\\n')")
    segment = folder_of(server, "hurt") / "s0000000001"
    whole = segment.read_bytes()
    for at in range(0, len(whole), 7):
        segment.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(TrialFailed, match="damaged"):
            # both its bitmaps and its rows are looked at
            server.ask("SELECT fb_query('hurt', 'a WHERE a > 0')")
    segment.write_bytes(whole[:10])
    with pytest.raises(TrialFailed, match="damaged"):
        server.ask("SELECT fb_query('hurt', 'a')")
    segment.write_bytes(whole)
    assert rows_of(server, "hurt", "SUM(a)") == [[6]]


@pytest.mark.parametrize("version", BETWEEN)
def test_a_server_that_is_killed_leaves_whole_additions_and_no_half(version: str) -> None:
    batch = 500
    with serving(version) as server:
        assert server.kit("install", "files") == 0
        server.ask("SELECT fb_create('t', 'a:int,b:text')")
        current = server
        for number in range(3):
            done = killed_amid_additions(current, batch)
            name, _, build = version.partition("@")
            engine = find_engine(name, driver.ask)
            engine.stop(current.engine)
            settings = SETTINGS | {"plugin_dir": f"{server.plugins}/"}
            program = engine.program(build, {}, lambda _: None)
            again = engine.start(program, server.engine.home, settings)
            current = KitServer(version, again, server.plugins)
            try:
                # each thread's last batch may be there or not, but never a part of it
                counts = rows_of(current, "t", "a, COUNT(*) WHERE a >= 0")
                assert {count for _, count in counts} == {batch}
                assert {a for a, _ in counts} >= done
                # the next writer removes what the killed one left
                current.ask("SELECT fb_insert('t', '-1|x')", "SELECT fb_delete('t', 'a >= 0')")
                files = [it.name for it in folder_of(current, "t").iterdir()]
                manifest = (folder_of(current, "t") / "manifest").read_text()
                assert len(files) - 1 <= 2 * manifest.count("segment "), files
                assert rows_of(current, "t", "COUNT(*)") == [[number + 1]]
            except BaseException:
                engine.stop(again)
                raise
        find_engine(version.partition("@")[0], driver.ask).stop(current.engine)


def killed_amid_additions(server: KitServer, batch: int) -> set[int]:
    """Kills the server while three sessions add rows: the additions that were acknowledged."""
    done: set[int] = set()
    lines = [f"{{0}},{'x' * 50}{n}\\n" for n in range(batch)]
    running: Any = server.engine.handle

    def add(first: int) -> None:
        with suppress(TrialFailed, ProcessLookupError):
            for number in range(first, first + 1000):
                text = "".join(lines).format(number)
                server.ask(f"SELECT fb_load('t', '{text}')")
                done.add(number)
                if len(done) >= 12:
                    os.kill(running.process.pid, signal.SIGKILL)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(add, (0, 1000, 2000)))
    assert 12 <= len(done) < 1000
    return done
