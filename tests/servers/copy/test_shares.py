"""Shares of rows that keep foreign keys, asked of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator

import pytest

from dyno.servers.copy.shares import (
    CopiedTable,
    Reference,
    Rows,
    choose_shares,
    list_cut,
    read_pages,
)

MOST = 10


@pytest.fixture
def shop() -> Iterator[sqlite3.Connection]:
    """Old orders of new customers and the reverse, lines of each, and a tree."""
    with sqlite3.connect(":memory:") as made:
        made.executescript(
            """
            CREATE TABLE customer (id INTEGER PRIMARY KEY);
            CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INT, kind INT);
            CREATE TABLE line (orders INT, n INT, PRIMARY KEY (orders, n));
            CREATE TABLE kind (id INTEGER PRIMARY KEY);
            CREATE TABLE tree (id INTEGER PRIMARY KEY, up INT);
            WITH RECURSIVE s(g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM s WHERE g < 40)
              INSERT INTO tree SELECT g, nullif(41 - g, 40) FROM s;
            INSERT INTO customer SELECT id FROM tree;
            INSERT INTO orders SELECT id, iif(id % 7, 41 - id, NULL), id % 3 FROM tree;
            INSERT INTO line SELECT id, n FROM tree, (SELECT 1 AS n UNION SELECT 2);
            INSERT INTO kind VALUES (0), (1), (2);
            """
        )
        yield made


def make_tables() -> tuple[dict[str, CopiedTable], list[Reference]]:
    keys = {"line": ("orders", "n"), "orders": ("id",), "customer": ("id",)}
    keys |= {"kind": ("id",), "tree": ("id",)}
    tables = {it: CopiedTable(it, it, [*key], [*key], key) for it, key in keys.items()}
    references = [
        Reference("of_order", "line", "orders", ("orders",), ("id",)),
        Reference("of_customer", "orders", "customer", ("customer",), ("id",)),
        Reference("of_kind", "orders", "kind", ("kind",), ("id",)),
        Reference("up", "tree", "tree", ("up",), ("id",)),
    ]
    return tables, references


def counting(shop: sqlite3.Connection) -> Callable[[str], int]:
    return lambda asked: int(shop.execute(asked).fetchone()[0])


def test_a_share_has_no_row_whose_parent_it_lacks(shop: sqlite3.Connection) -> None:
    tables, references = make_tables()

    broken = choose_shares([*tables.values()], references, MOST, counting(shop))
    assert [it.name for it in broken] == ["up"], "a table that refers to itself is not followed"

    def read(name: str, *columns: str) -> set[tuple[object, ...]]:
        return {*shop.execute(tables[name].build_share(columns)).fetchall()}

    customers, orders = read("customer", "id"), read("orders", "id")
    assert customers == {(it,) for it in range(31, 41)}
    assert {it for it in read("orders", "customer") if it[0]} <= customers
    assert {(it[0],) for it in read("line", "orders")} <= orders and len(orders) == MOST
    assert not tables["kind"].is_cut and len(read("kind", "id")) == 3
    (shares, keys) = list_cut([*tables.values()], broken, MOST, "left out")
    assert (shares.count, keys.count, keys.where) == (4, 1, "up of tree")


def test_a_database_without_more_rows_is_copied_whole_circles_too(
    shop: sqlite3.Connection,
) -> None:
    tables, references = make_tables()
    references.append(Reference("last", "customer", "orders", ("id",), ("id",)))
    assert not choose_shares([*tables.values()], references, 100, counting(shop))
    assert not any(it.is_cut or it.condition for it in tables.values())
    assert {it: tables[it].rows for it in ("line", "kind")} == {"line": 80, "kind": 3}


def test_pages_hold_fewer_rows_where_rows_are_long() -> None:
    left, asked = 5_000, list[int]()

    def ask_page(size: int) -> Rows:
        nonlocal left
        asked.append(size)
        size, left = min(size, left), max(0, left - size)
        return [["x" * 10_000]] * size

    assert sum(map(len, read_pages(ask_page))) == 5_000
    assert max(asked) < 400 and len(asked) < 50
