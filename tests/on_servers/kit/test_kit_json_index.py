"""The index over JSON on each server: its page word for word, and held against full scans."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from kit_documents import holds, part_of, quoted, small_value, written
from kit_parts import KitParts
from kit_servers import KitServer, check_text
from repository import ROOT

from dyno import driver
from dyno.cli import run_words
from dyno.engines.mysql.server import Family
from dyno.errors import TrialFailed
from dyno.servers.kit import routines

pytestmark = [pytest.mark.timeout(300)]

PAGE = ROOT / "docs/guides/kit/json-index.md"
URL = "mysql://root@127.0.0.1:3306"
DOCUMENTS, PATTERNS = 2_000, 700
ITEMS = "CREATE TABLE dyno.items (id INT PRIMARY KEY, doc TEXT CHARACTER SET utf8mb4)"
PLAN = Family.explain
COLUMN = "dyno.items.doc"


@pytest.fixture
def server(kit_parts: KitParts) -> Iterator[KitServer]:
    server = kit_parts.hold("json")
    yield server
    server.kit("index-json", COLUMN, "--drop")
    server.ask("DROP TABLE IF EXISTS dyno.items")


def search(server: KitServer, pattern: str, **session: object) -> list[str | None]:
    """The keys of what is found."""
    return [row[0] for row in server.ask(f"CALL kit.search('{COLUMN}', '{pattern}')", **session)]


def test_the_page_is_as_it_says(server: KitServer, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```(?:sql|console)\n.*?```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 5
    for block in blocks:
        if block.startswith("```sql"):
            check_text(server, block)
            continue
        for command, answer in re.findall(r"^\$ dyno (.*)\n((?:(?!\$ |```).*\n)*)", block, re.M):
            assert run_words(command.replace(URL, server.url).split()) == 0
            assert capsys.readouterr().out == answer, command


class Rows:
    """What the table has to hold, changed as the table is: documents by key."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.documents = rng, dict[tuple[int, str], Any]()

    def insert(self, count: int) -> str:
        """A statement that inserts so many rows."""
        begin = max((number for number, _ in self.documents), default=0) + 1
        new: dict[tuple[int, str], Any] = {
            (number, self.rng.choice("ab")): small_value(self.rng)
            for number in range(begin, begin + count)
        }
        self.documents |= new
        rows = (f"({n}, '{part}', 0, {quoted(document)})" for (n, part), document in new.items())
        return f"INSERT INTO dyno.items VALUES {', '.join(rows)}"

    def changes(self, count: int) -> Iterator[str]:
        """Statements that change or delete so many rows, of every kind."""
        for key in self.rng.sample(sorted(self.documents), count):
            where = f"WHERE id = {key[0]} AND part = '{key[1]}'"
            document = small_value(self.rng)
            kind = self.rng.randrange(6)
            if kind == 0:
                del self.documents[key]
                yield f"DELETE FROM dyno.items {where}"
            elif kind == 1:
                yield f"UPDATE dyno.items SET touched = touched + 1 {where}"
            elif kind == 2:
                self.documents[key[0], "c"] = self.documents.pop(key)
                yield f"UPDATE dyno.items SET part = 'c' {where}"
            elif kind == 3:
                self.documents[key] = document
                row = f"({key[0]}, '{key[1]}', 1, {quoted(document)})"
                yield f"REPLACE INTO dyno.items VALUES {row}"
            elif kind == 4:
                self.documents[key] = document
                row = f"({key[0]}, '{key[1]}', 1, {quoted(document)})"
                yield (
                    f"INSERT INTO dyno.items VALUES {row} ON DUPLICATE KEY UPDATE doc = VALUES(doc)"
                )
            else:
                self.documents[key] = document
                yield f"UPDATE dyno.items SET doc = {quoted(document)} {where}"


def test_random_searches_by_the_index_are_those_of_a_full_scan(
    server: KitServer, rng: random.Random
) -> None:
    rows = Rows(rng)
    kind = "LONGTEXT CHARACTER SET utf8mb4" if server.is_mysql_5 else "JSON"
    server.ask(
        "CREATE TABLE dyno.items (id INT, part CHAR(1) CHARACTER SET utf8mb4, touched INT,"
        f" doc {kind}, PRIMARY KEY (part, id))",
        rows.insert(DOCUMENTS // 2),
    )
    assert server.kit("index-json", COLUMN) == 0
    server.ask(rows.insert(DOCUMENTS // 2), *rows.changes(DOCUMENTS // 4))
    patterns = [
        part_of(rng, rng.choice(list(rows.documents.values())))
        if rng.random() < 0.8
        else small_value(rng)
        for _ in range(PATTERNS)
    ]
    scan = f"SELECT * FROM dyno.items WHERE json_holds({text_of('doc')}, {{}}) ORDER BY part, id"
    calls = [f"CALL kit.search('{COLUMN}', {quoted(it)})" for it in patterns]
    found = driver.ask(server.engine.session, calls, 120)
    scanned = driver.ask(server.engine.session, [scan.format(quoted(it)) for it in patterns], 120)
    for pattern, ours, theirs in zip(patterns, found, scanned, strict=True):
        wanted = {key for key, document in rows.documents.items() if holds(document, pattern)}
        assert ours == theirs, written(pattern)
        assert {(int(row[0] or 0), row[1]) for row in ours} == wanted, written(pattern)
    hits = {len(each) for each in found}
    assert len(hits) > 20 and 0 in hits
    if server.is_mysql_8:
        contained = "SELECT COUNT(*) FROM dyno.items WHERE JSON_CONTAINS(doc, {})"
        told = driver.ask(
            server.engine.session, [contained.format(quoted(it)) for it in patterns], 120
        )
        assert [int(rows_of[0][0] or 0) for rows_of in told] == [len(each) for each in found]


def text_of(column: str) -> str:
    """A column as the functions want it, of whatever type and character set."""
    return f"CONVERT({column} USING utf8mb4)"


def test_a_document_of_many_values_is_found_by_any_of_them(server: KitServer) -> None:
    many = {f"k{n}": n for n in range(3000)} | {"list": list(range(300))}
    server.ask(ITEMS, f"INSERT INTO dyno.items VALUES (1, {quoted(many)}), (2, '[]')")
    assert server.kit("index-json", COLUMN) == 0
    tokens = server.one(f"SELECT COUNT(*) FROM kit.`{COLUMN}` WHERE id = 1")
    assert tokens == str(3000 + 300 + 2)
    server.ask(f"INSERT INTO dyno.items VALUES (3, {quoted(many)})")
    assert search(server, '{"k2999": 2999, "list": [0, 299]}') == ["1", "3"]
    assert search(server, '{"k2999": 2998}') == []


def test_an_index_is_of_the_transaction_and_outlives_what_calls_no_trigger(
    server: KitServer,
) -> None:
    server.ask(ITEMS)
    assert server.kit("index-json", COLUMN) == 0
    found = f"CALL kit.search('{COLUMN}', '{{\"a\": 1}}')"
    insert = "INSERT INTO dyno.items VALUES (1, '{\"a\": 1}')"
    told = driver.ask(server.engine.session, ["BEGIN", insert, found, "ROLLBACK", found], 60)
    assert [row[0] for row in told[2]] == ["1"] and told[4] == []
    server.ask(insert, "TRUNCATE TABLE dyno.items", "INSERT INTO dyno.items VALUES (1, '[1]')")
    assert search(server, '{"a": 1}') == []
    assert search(server, "1") == ["1"]
    server.ask('UPDATE dyno.items SET doc = \'{"A": "x"}\'')
    server.ask('UPDATE dyno.items SET doc = \'{"A": "X"}\'')
    assert search(server, '{"A": "X"}') == ["1"]
    assert search(server, '{"A": "x"}') == []


def test_a_server_knows_at_once_how_much_is_in_an_index(server: KitServer) -> None:
    """MySQL, that takes it for an empty one, begins with the token of most documents."""
    rows = ", ".join(f"({n}, '{{\"n\": {n}}}')" for n in range(DOCUMENTS))
    server.ask(ITEMS, f"INSERT INTO dyno.items VALUES {rows}")
    assert server.kit("index-json", COLUMN) == 0
    token = server.one("SELECT QUOTE(LEFT(json_tokens('{}'), 16))")
    (plan,) = server.ask(f"{PLAN} SELECT * FROM kit.`{COLUMN}` WHERE kit_token = UNHEX({token})")
    # its `rows`: the last whole number
    assert [int(it) for it in plan if it and it.isdigit()][-1] > DOCUMENTS / 10


def test_a_search_of_a_table_that_was_just_filled_reads_no_more_of_it_than_it_finds(
    server: KitServer,
) -> None:
    """MySQL, that takes the table for an empty one, read it all and asked the index of each row."""
    rows = ", ".join(f"({n}, '{{\"n\": {n}}}')" for n in range(DOCUMENTS))
    unknown = f"{ITEMS} ENGINE=InnoDB STATS_PERSISTENT=1 STATS_AUTO_RECALC=0"
    server.ask(unknown, f"INSERT INTO dyno.items VALUES {rows}")
    assert server.kit("index-json", COLUMN) == 0
    find = f"CALL kit.search('{COLUMN}', '{{\"n\": 7}}')"
    reads = "SHOW SESSION STATUS LIKE 'Handler_read%'"
    told = driver.ask(server.engine.session, ["FLUSH STATUS", find, reads], 60)
    assert [row[0] for row in told[1]] == ["7"]
    # what the look at the triggers reads is among them
    assert sum(int(row[1] or 0) for row in told[-1]) < DOCUMENTS / 4


def test_a_statement_of_ones_own_finds_rows_by_a_token_that_it_makes(server: KitServer) -> None:
    """json_tokens of a constant is a constant to the server, or it would read the whole index."""
    rows = ", ".join(f"({n}, '{{\"n\": {n}}}')" for n in range(DOCUMENTS))
    # the server learns of new rows in the background, and reads all of a table that it knows empty
    server.ask(ITEMS, f"INSERT INTO dyno.items VALUES {rows}", "ANALYZE TABLE dyno.items")
    assert server.kit("index-json", COLUMN) == 0
    find = (
        f"SELECT i.id FROM dyno.items i JOIN kit.`{COLUMN}` t USING (id)"
        " WHERE t.kit_token = UNHEX(LEFT(json_tokens('{\"n\": 7}'), 16))"
        f" AND json_holds({text_of('i.doc')}, '{{\"n\": 7}}')"
    )
    reads = "SHOW SESSION STATUS LIKE 'Handler_read%'"
    told = driver.ask(server.engine.session, ["FLUSH STATUS", find, reads], 60)
    assert told[1] == [["7"]]
    assert sum(int(row[1] or 0) for row in told[2]) < DOCUMENTS / 40


#: A table, and why it gets no index.
UNFIT = {
    "(id INT PRIMARY KEY, other TEXT)": "no column, or none that you may read",
    "(id INT PRIMARY KEY, doc BLOB)": "a column of type blob holds no JSON",
    "(id INT PRIMARY KEY, doc INT)": "a column of type int holds no JSON",
    "(id INT, doc TEXT)": "the table has no primary key",
    "(`i``d` INT PRIMARY KEY, doc TEXT)": "is no list of columns",
    "(id INT PRIMARY KEY, doc TEXT) ENGINE=MyISAM": "not a table of InnoDB but of MyISAM",
}


def test_a_column_that_is_unfit_is_refused_and_leaves_nothing(
    server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    before = server.inventory()
    for columns, why in UNFIT.items():
        server.ask(f"CREATE TABLE dyno.items {columns}")
        assert server.kit("index-json", COLUMN) == 64
        assert why in capsys.readouterr().err, columns
        server.ask("DROP TABLE dyno.items")
    parent = "CREATE TABLE dyno.parents (id INT PRIMARY KEY)"
    child = ITEMS[:-1] + ", FOREIGN KEY (id) REFERENCES dyno.parents (id) ON UPDATE CASCADE)"
    server.ask(parent, child)
    assert server.kit("index-json", COLUMN) == 64
    assert "ON UPDATE CASCADE" in capsys.readouterr().err
    server.ask("DROP TABLE dyno.items", "DROP TABLE dyno.parents")
    for name in ("items.doc", "a.b.c.d", "dyno.it'ems.doc", f"dyno.items.{'x' * 50}"):
        assert server.kit("index-json", name) == 64
    assert server.inventory() == before


def test_text_in_an_index_s_comment_is_not_run_by_whoever_searches(server: KitServer) -> None:
    """Whoever makes an index writes it; a variable of the session has it until the next second."""
    server.ask(ITEMS, "INSERT INTO dyno.items VALUES (1, '{}')")
    assert server.kit("index-json", COLUMN) == 0
    key = "`id` FROM kit.place LIMIT 0) x JOIN (SELECT user AS `id` FROM mysql.user"
    server.ask(f"ALTER TABLE kit.`{COLUMN}` COMMENT 'dyno kit json index: {key}'")
    for first in ("DO 1", f"SET @kit_key = '{key}'"):
        with pytest.raises(TrialFailed, match="no list of columns"):
            server.ask(first, f"CALL kit.search('{COLUMN}', '{{}}')")
    assert server.kit("index-json", COLUMN, "--drop") == 0
    server.ask("DROP TABLE dyno.items")


def test_what_is_no_json_is_refused_before_and_after(
    server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.ask(ITEMS, "INSERT INTO dyno.items VALUES (1, '{}'), (7, '{\"a\": '), (8, NULL)")
    assert server.kit("index-json", COLUMN) == 64
    assert f"no JSON in the row 7 of {COLUMN}" in capsys.readouterr().err
    server.ask("DELETE FROM dyno.items WHERE id = 7")
    assert server.kit("index-json", COLUMN) == 0
    for change in ("INSERT INTO dyno.items VALUES (9, '[1,]')", "UPDATE dyno.items SET doc = 'x'"):
        with pytest.raises(TrialFailed, match="invalid JSON at byte"):
            server.ask(change)
    assert server.ask("SELECT id, doc FROM dyno.items ORDER BY id") == [["1", "{}"], ["8", None]]
    with pytest.raises(TrialFailed, match="invalid JSON at byte"):
        search(server, "{")
    with pytest.raises(TrialFailed, match="the pattern is NULL"):
        server.ask(f"CALL kit.search('{COLUMN}', NULL)")


@pytest.mark.usefixtures("installed_anew")
def test_no_search_goes_by_an_index_that_is_not_whole(
    server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.ask(ITEMS)
    with pytest.raises(TrialFailed, match="it has no index"):
        search(server, "1")
    assert server.kit("index-json", "--drop", COLUMN) == 64
    assert server.kit("index-json", COLUMN) == 0
    assert server.kit("index-json", COLUMN) == 64
    assert "it has an index already" in capsys.readouterr().err
    server.ask("CREATE TABLE dyno.newer LIKE dyno.items")
    server.ask("DROP TABLE dyno.items", "RENAME TABLE dyno.newer TO dyno.items")
    with pytest.raises(TrialFailed, match="its triggers are gone"):
        search(server, "1")
    assert server.kit("index-json", "--drop", COLUMN) == 0
    assert server.kit("index-json", COLUMN) == 0
    assert search(server, "1") == []


def test_who_may_search_and_who_may_not(
    server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    weak = "'weak'@'localhost'"
    server.ask(ITEMS, "INSERT INTO dyno.items VALUES (1, '[1]')")
    server.ask(f"CREATE USER {weak} IDENTIFIED BY 'Weak-1'")
    server.ask(f"GRANT SELECT, INSERT ON dyno.items TO {weak}")
    server.ask(f"GRANT SELECT, EXECUTE ON kit.* TO {weak}")
    session = {"user": "weak", "password": "Weak-1", "database": "kit"}
    try:
        assert server.kit("index-json", COLUMN, url=server.url_of("weak", "Weak-1")) == 64
        said = capsys.readouterr().err
        assert "TRIGGER on the table" in said and "CREATE" in said
        assert routines.list_indexes(server.reached()) == []
        assert server.kit("index-json", COLUMN) == 0
        server.ask("INSERT INTO dyno.items VALUES (2, '[1]')", **session)
        server.ask(f"REVOKE INSERT ON dyno.items FROM {weak}")
        assert search(server, "1", **session) == ["1", "2"]
        server.ask(f"REVOKE SELECT ON dyno.items FROM {weak}")
        with pytest.raises(TrialFailed):
            search(server, "1", **session)
    finally:
        server.ask(f"DROP USER {weak}")


@pytest.mark.usefixtures("installed_anew")
def test_uninstalling_drops_indexes_and_upgrading_keeps_them(server: KitServer) -> None:
    before = server.inventory()
    server.ask(ITEMS, "INSERT INTO dyno.items VALUES (1, '[1]')")
    assert server.kit("index-json", COLUMN) == 0
    server.ask("DROP PROCEDURE kit.search", "DROP FUNCTION json_holds")
    assert server.kit("upgrade") == 0
    assert search(server, "1") == ["1"]
    assert server.kit("uninstall", "json") == 0
    server.ask("INSERT INTO dyno.items VALUES (2, 'no JSON')", "DROP TABLE dyno.items")
    assert server.kit("install", "json") == 0
    assert server.inventory() == before


def test_a_schema_of_that_name_stays_whose_it_is(
    kit_server: KitServer, capsys: pytest.CaptureFixture[str]
) -> None:
    kit_server.ask("CREATE DATABASE kit", "CREATE TABLE kit.mine (id INT)")
    before = kit_server.inventory()
    assert kit_server.kit("install", "json") == 64
    assert "'kit' is there already" in capsys.readouterr().err
    assert kit_server.kit("uninstall", "json") == 0
    assert kit_server.inventory() == before
    kit_server.ask("DROP DATABASE kit")
