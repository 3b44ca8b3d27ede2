"""A script by chance: tables, rows, indexes, views, triggers, then reads, writes in transactions
and changes of the schema. The same seed and number make the same script, byte for byte.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from dyno.instruments.differ.grammar import SharedDialect
from dyno.instruments.differ.queries import QueryMaker, Scope, ScopeColumn, TableShape
from dyno.instruments.differ.tree import MadeStatement, SqlNode, make_list, make_optional

#: Statements behind the first rows, and of how many rows a table begins.
STATEMENTS, ROWS = 36, (0, 3, 6, 9, 12)


def make_script(dialect: SharedDialect, seed: int, number: int) -> list[MadeStatement]:
    """Return the script of a number."""
    return list(ScriptMaker(QueryMaker(random.Random(f"{seed}/{number}"), dialect)).make())


@dataclass(frozen=True)
class _Column:
    """A column as it is declared; `free` where any value of its sort may be written to it."""

    name: str
    sort: str
    free: bool
    tag: str


@dataclass
class _Table:
    name: str
    columns: list[_Column]
    ids: int = 0

    @property
    def shape(self) -> TableShape:
        named = (ScopeColumn(it.name, it.sort, it.tag) for it in self.columns)
        return TableShape(self.name, (ScopeColumn("id", "int"), *named), "id")

    def name_scope(self, name: str) -> Scope:
        """Its columns under a name of it."""
        named = (ScopeColumn(f"{name}.{it.name}", it.sort, it.tag) for it in self.columns)
        return Scope((ScopeColumn(f"{name}.id", "int"), *named))


@dataclass
class ScriptMaker:
    """Makes a script, and knows the tables that it has made."""

    make_query: QueryMaker
    tables: list[_Table] = field(default_factory=list)
    indexes: list[tuple[str, str]] = field(default_factory=list)

    def make(self) -> Iterator[MadeStatement]:
        """Yield its statements."""
        self.rng, self.dialect = self.make_query.rng, self.make_query.dialect
        for _ in range(self.rng.choice((1, 2, 2, 3))):
            yield self._make_table()
            if rows := self.rng.choice(ROWS):
                yield self._make_insert(self.tables[-1], rows)
        for _ in range(self.rng.choice((0, 1, 1, 2))):
            yield self._make_index()
        if self.has("triggers_begin", 25):
            yield from self._make_trigger()
        if self.has("views", 30):
            yield self._make_view()
        left = STATEMENTS
        while left > 0:
            made = list(self._make_step())
            left -= len(made)
            yield from made
        for table in self.tables:
            yield self._read_table(table)

    def has(self, feature: str, percent: float = 100.0) -> bool:
        """Draw whether a feature is used."""
        return self.make_query.has(feature, percent)

    def is_in(self, percent: float) -> bool:
        """Draw whether something is there."""
        return self.make_query.is_in(percent)

    def _make_step(self) -> Iterator[MadeStatement]:
        kind = self.rng.choices(("read", "write", "transaction", "schema"), (68, 16, 9, 7))[0]
        if kind == "read":
            yield MadeStatement(self.make_query.make_read(), True)
        elif kind == "write":
            table = self.rng.choice(self.tables)
            yield self._make_write(table)
            if self.is_in(40):
                yield self._read_table(table)
        elif kind == "schema":
            yield self._change_schema()
        else:
            yield from self._make_transaction()

    def _make_transaction(self) -> Iterator[MadeStatement]:
        table = self.rng.choice(self.tables)
        yield _say("BEGIN")
        for _ in range(self.rng.choice((1, 2, 3))):
            if self.has("savepoints", 25):
                yield _say("SAVEPOINT s1")
                yield self._make_write(table)
                yield _say(self.rng.choice(("ROLLBACK TO SAVEPOINT s1", "RELEASE SAVEPOINT s1")))
            yield self._make_write(self.rng.choice((table, self.rng.choice(self.tables))))
        yield self._read_table(table)
        yield _say(self.rng.choice(("COMMIT", "COMMIT", "ROLLBACK")))
        yield self._read_table(table)

    def _read_table(self, table: _Table) -> MadeStatement:
        return MadeStatement(SqlNode((f"SELECT * FROM {table.name} ORDER BY id",)), True)

    # the schema

    def _make_table(self) -> MadeStatement:
        name = f"t{len(self.tables) + 1}"
        table = _Table(name, [])
        declared = [SqlNode((f"id {self._draw_type('id')} PRIMARY KEY",))]
        for at in range(1, self.rng.choice((3, 4, 5, 6))):
            column = _Column(f"c{at}", self.rng.choice(self.dialect.sorts), True, f"{name}.c{at}")
            node, column = self._make_column(column)
            declared.append(node)
            table.columns.append(column)
        ints = [it for it in table.columns if it.sort == "int" and it.free]
        if self.tables and ints and self.has("foreign_keys", 25):
            declared.append(self._make_parent_key(table, ints[0]))
        self.tables.append(table)
        self.make_query.tables.append(table.shape)
        last = make_optional(" WITHOUT ROWID") if self.has("any_type", 12) else ""
        return MadeStatement(SqlNode((f"CREATE TABLE {name} (", make_list(declared), ")", last)))

    def _make_parent_key(self, table: _Table, column: _Column) -> SqlNode:
        parent = self.rng.choice(self.tables)
        at = table.columns.index(column)
        table.columns[at] = replace(column, free=False)
        action = self.rng.choice(("", " ON DELETE CASCADE", " ON DELETE SET NULL"))
        key = f"FOREIGN KEY ({column.name}) REFERENCES {parent.name}(id)"
        return SqlNode((key, make_optional(action)), tag=column.tag)

    def _draw_type(self, sort: str) -> str:
        return self.rng.choice(self.dialect.types[sort])

    def _make_column(self, column: _Column) -> tuple[SqlNode, _Column]:
        parts: list[str | SqlNode] = [f"{column.name} {self._draw_type(column.sort)}".rstrip()]
        literals = self.dialect.literals[column.sort]
        can_default = column.sort != "date" or "date_default" in self.dialect.features
        if can_default and self.is_in(10):
            parts.append(make_optional(f" NOT NULL DEFAULT {literals[0]}"))
        elif can_default and self.is_in(10):
            parts.append(make_optional(f" DEFAULT {self.rng.choice(literals)}"))
        if column.sort in ("int", "text") and self.is_in(10):
            parts.append(make_optional(" UNIQUE"))
            column = replace(column, free=False)
        if self.has("checks", 10):
            checked = f" CHECK ({column.name} <> {self.rng.choice(literals)})"
            parts.append(make_optional(checked))
        return SqlNode(tuple(parts), tag=column.tag), column

    def _make_index(self) -> MadeStatement:
        table = self.rng.choice(self.tables)
        name = self.make_query.draw_name("i")
        self.indexes.append((name, table.name))
        columns = [it for it in table.columns if it.sort != "blob"]
        keys = (
            [self._make_index_key(table, it) for it in self.rng.sample(columns, 1 + self.is_in(40))]
            if len(columns) > 1
            else [self._make_index_key(table, columns[0])]
        )
        where: SqlNode | str = ""
        if self.has("partial_indexes", 25):
            column = self.rng.choice(table.columns)
            words = f" WHERE {column.name} IS NOT NULL"
            where = make_optional(words, tag=column.tag)
        return MadeStatement(
            SqlNode((f"CREATE INDEX {name} ON {table.name} (", make_list(keys), ")", where))
        )

    def _make_index_key(self, table: _Table, column: _Column) -> SqlNode:
        direction = make_optional(" DESC") if self.is_in(25) else ""
        collation: SqlNode | str = ""
        text = column.name
        if self.has("expression_indexes", 15) and column.sort == "int":
            text = f"({column.name} + 1)"
        elif column.sort == "text" and self.has("any_type", 20):
            collation = make_optional(f" COLLATE {self.rng.choice(('NOCASE', 'BINARY'))}")
        return SqlNode((text, collation, direction), tag=column.tag)

    def _make_view(self) -> MadeStatement:
        query, sorts, rows = self.make_query.make_query(1)
        columns = tuple(ScopeColumn(f"c{at}", sort) for at, sort in enumerate(sorts, 1))
        name = self.make_query.draw_name("v")
        self.make_query.tables.append(TableShape(name, columns, rows=rows))
        return MadeStatement(SqlNode((f"CREATE VIEW {name} AS ", query)))

    def _make_trigger(self) -> Iterator[MadeStatement]:
        """A log of what changes a table; its rows are read in any order."""
        table = self.rng.choice(self.tables)
        column = self.rng.choice(table.columns)
        when, row = self.rng.choice((("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")))
        log = TableShape("l1", (ScopeColumn("k", "int"), ScopeColumn("v", column.sort)), rows=100)
        kind = self.dialect.types[column.sort][0]
        yield MadeStatement(
            SqlNode((f"CREATE TABLE l1 (k {self.dialect.types['int'][0]}, v {kind})",))
        )
        body = f"INSERT INTO l1 (k, v) VALUES ({row}.id, {row}.{column.name})"
        scope = Scope((ScopeColumn(f"{row}.{column.name}", column.sort),))
        only: SqlNode | str = ""
        if self.has("triggers_when", 40):
            only = make_optional(" WHEN ", self.make_query.make_expression("bool", scope, 1))
        head = f"CREATE TRIGGER g1 AFTER {when} ON {table.name} FOR EACH ROW"
        yield MadeStatement(SqlNode((head, only, f" BEGIN {body}; END")))
        self.make_query.tables.append(log)

    def _change_schema(self) -> MadeStatement:
        table = self.rng.choice(self.tables)
        kind = self.rng.choice(("index", "index", "drop", "column", "analyze"))
        if kind == "drop" and self.indexes:
            name, indexed = self.indexes.pop(self.rng.randrange(len(self.indexes)))
            on = f" ON {indexed}" if "drop_index_on" in self.dialect.features else ""
            return _say(f"DROP INDEX {name}{on}")
        if kind == "analyze" and self.has("analyze"):
            return _say("ANALYZE")
        if kind == "column" and self.has("add_column") and len(table.columns) < 8:
            name = f"c{len(table.columns) + 1}"
            column = _Column(
                name, self.rng.choice(self.dialect.sorts), True, f"{table.name}.{name}"
            )
            at = next(
                place for place, it in enumerate(self.make_query.tables) if it.name == table.name
            )
            table.columns.append(column)
            self.make_query.tables[at] = table.shape
            default: SqlNode | str = ""
            if column.sort != "date" and self.is_in(50):
                literal = self.rng.choice(self.dialect.literals[column.sort])
                default = make_optional(f" DEFAULT {literal}")
            added = f"ALTER TABLE {table.name} ADD COLUMN {name} {self._draw_type(column.sort)}"
            return MadeStatement(SqlNode((added.rstrip(), default)))
        return self._make_index()

    # rows

    def _make_row(self, table: _Table, columns: list[_Column]) -> SqlNode:
        table.ids += 1
        number = table.ids if not self.is_in(3) else self.rng.randint(1, table.ids)
        cells = [SqlNode((str(number),))]
        for column in columns:
            literal = self.make_query.make_literal(column.sort)
            if not column.free and column.sort == "int" and self.is_in(70):
                literal = SqlNode((str(self.rng.randint(1, 12)),))
            cells.append(SqlNode((literal,), tag=column.tag))
        return SqlNode(("(", make_list(cells, kept=True), ")"))

    def _make_insert(self, table: _Table, rows: int, head: str = "INSERT INTO") -> MadeStatement:
        columns = table.columns
        if self.is_in(15):
            columns = [it for it in columns if self.is_in(70)]
        names = [SqlNode(("id",)), *(SqlNode((it.name,), tag=it.tag) for it in columns)]
        values = make_list([self._make_row(table, columns) for _ in range(rows)])
        listed = make_list(names, kept=True)
        return MadeStatement(SqlNode((f"{head} {table.name} (", listed, ") VALUES ", values)))

    def _make_write(self, table: _Table) -> MadeStatement:
        kind = self.rng.choice(("insert", "insert", "select", "update", "update", "delete"))
        free = [it for it in table.columns if it.free]
        # by their table: in a subquery a bare name may be of another
        scope = table.name_scope(table.name)
        where = make_optional(" WHERE ", self.make_query.make_expression("bool", scope, 2))
        if kind == "update" and free:
            chosen = self.rng.sample(free, min(len(free), self.rng.choice((1, 1, 2))))
            if "update_one" in self.dialect.features:
                chosen = chosen[:1]
            assigned = [
                SqlNode(
                    (f"{it.name} = ", self.make_query.make_expression(it.sort, scope, 2)),
                    tag=it.tag,
                )
                for it in chosen
            ]
            head = SqlNode((f"UPDATE {table.name} SET ", make_list(assigned), where))
            return MadeStatement(SqlNode((head, self._make_returning(scope))))
        if kind == "delete":
            head = SqlNode((f"DELETE FROM {table.name}", where))
            return MadeStatement(SqlNode((head, self._make_returning(scope))))
        if kind == "select" and len(free) == len(table.columns):
            return self._make_insert_of_query(table)
        return self._make_insert_in_conflict(table, free, scope)

    def _make_insert_in_conflict(
        self, table: _Table, free: list[_Column], scope: Scope
    ) -> MadeStatement:
        heads = ["INSERT INTO"]
        heads += ["INSERT OR IGNORE INTO"] if self.has("or_ignore") else []
        heads += ["INSERT IGNORE INTO"] if self.has("insert_ignore") else []
        heads += ["REPLACE INTO"] if self.has("replace") else []
        made = self._make_insert(table, self.rng.choice((1, 1, 2, 3)), self.rng.choice(heads))
        behind: list[str | SqlNode] = []
        is_plain = made.sql.startswith("INSERT INTO")
        if is_plain and free and self.has("on_conflict", 40):
            it = self.rng.choice(free)
            action = f"DO UPDATE SET {it.name} = excluded.{it.name}"
            action = self.rng.choice(("DO NOTHING", action))
            behind.append(make_optional(f" ON CONFLICT (id) {action}", tag=it.tag))
        elif is_plain and free and self.has("on_duplicate", 40):
            it = self.rng.choice(free)
            update = f" ON DUPLICATE KEY UPDATE {it.name} = VALUES({it.name})"
            behind.append(make_optional(update, tag=it.tag))
        return MadeStatement(SqlNode((made.tree, *behind, self._make_returning(scope))))

    def _make_insert_of_query(self, table: _Table) -> MadeStatement:
        """Rows of another table, by its keys, which are moved to where none is."""
        source = self.rng.choice(self.tables)
        offset = 100 * (1 + self.rng.randrange(50))
        scope = source.name_scope("s")
        names = [SqlNode(("id",)), *(SqlNode((it.name,), tag=it.tag) for it in table.columns)]
        items = [SqlNode((f"s.id + {offset}",))]
        for it in table.columns:
            made = self.make_query.make_expression(it.sort, scope, 1)
            items.append(SqlNode((made,), tag=it.tag))
        where = make_optional(" WHERE ", self.make_query.make_expression("bool", scope, 2))
        head = f"INSERT INTO {table.name} ("
        listed, chosen = make_list(names, kept=True), make_list(items, kept=True)
        parts = (head, listed, ") SELECT ", chosen, f" FROM {source.name} AS s", where)
        return MadeStatement(SqlNode(parts))

    def _make_returning(self, scope: Scope) -> SqlNode | str:
        if not self.has("returning", 25):
            return ""
        column = self.rng.choice(scope.columns)
        return make_optional(f" RETURNING id, {column.text} AS r1", tag=column.tag)


def _say(sql: str) -> MadeStatement:
    return MadeStatement(SqlNode((sql,)))
