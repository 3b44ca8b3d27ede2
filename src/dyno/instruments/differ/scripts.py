"""A script by chance: a schema with rows, then reads, writes in transactions and changes of the
schema. The same seed and number make the same script, byte for byte.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from dyno.instruments.differ.grammar import SharedDialect
from dyno.instruments.differ.queries import QueryMaker, Scope
from dyno.instruments.differ.schema import MadeColumn, MadeTable, SchemaMaker, say
from dyno.instruments.differ.tree import MadeStatement, SqlNode, make_list, make_optional

#: Statements behind the first rows, and of how many rows a table begins.
STATEMENTS, ROWS = 36, (0, 3, 6, 9, 12)


def make_script(dialect: SharedDialect, seed: int, number: int) -> list[MadeStatement]:
    """Return the script of a number."""
    query = QueryMaker(random.Random(f"{seed}/{number}"), dialect)
    return list(ScriptMaker(SchemaMaker(query)).make())


@dataclass
class ScriptMaker:
    """Makes a script on the tables of its schema."""

    schema: SchemaMaker

    def __post_init__(self) -> None:
        """Draw from what the schema draws from."""
        self.make_query, self.tables = self.schema.make_query, self.schema.tables
        self.rng, self.dialect = self.schema.rng, self.schema.dialect
        self.has, self.is_in = self.schema.has, self.schema.is_in

    def make(self) -> Iterator[MadeStatement]:
        """Yield its statements."""
        for _ in range(self.rng.choice((1, 2, 2, 3))):
            yield self.schema.make_table()
            if rows := self.rng.choice(ROWS):
                yield self._make_insert(self.tables[-1], rows)
        for _ in range(self.rng.choice((0, 1, 1, 2))):
            yield self.schema.make_index()
        if self.has("triggers_begin", 25) or self.has("triggers_function", 25):
            yield from self.schema.make_trigger()
        if self.has("views", 30):
            yield self.schema.make_view()
        left = STATEMENTS
        while left > 0:
            made = list(self._make_step())
            left -= len(made)
            yield from made
        for table in self.tables:
            yield self._read_table(table)

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
            yield self.schema.change_schema()
        else:
            yield from self._make_transaction()

    def _make_transaction(self) -> Iterator[MadeStatement]:
        table = self.rng.choice(self.tables)
        yield say("BEGIN")
        for _ in range(self.rng.choice((1, 2, 3))):
            if self.has("savepoints", 25):
                yield say("SAVEPOINT s1")
                yield self._make_write(table)
                yield say(self.rng.choice(("ROLLBACK TO SAVEPOINT s1", "RELEASE SAVEPOINT s1")))
            yield self._make_write(self.rng.choice((table, self.rng.choice(self.tables))))
        yield self._read_table(table)
        yield say(self.rng.choice(("COMMIT", "COMMIT", "ROLLBACK")))
        yield self._read_table(table)

    def _read_table(self, table: MadeTable) -> MadeStatement:
        return MadeStatement(SqlNode((f"SELECT * FROM {table.name} ORDER BY id",)), True)

    # rows

    def _make_row(self, table: MadeTable, columns: list[MadeColumn]) -> SqlNode:
        table.ids += 1
        number = table.ids if not self.is_in(3) else self.rng.randint(1, table.ids)
        cells = [SqlNode((str(number),))]
        for column in columns:
            # at times of another type, which a strict table refuses
            sort = "any" if table.is_strict and self.is_in(5) else column.sort
            literal = self.make_query.make_literal(sort)
            if not column.free and column.sort == "int" and self.is_in(70):
                literal = SqlNode((str(self.rng.randint(1, 12)),))
            cells.append(SqlNode((literal,), tag=column.tag))
        return SqlNode(("(", make_list(cells, kept=True), ")"))

    def _make_insert(self, table: MadeTable, rows: int, head: str = "INSERT INTO") -> MadeStatement:
        columns = table.written
        if self.is_in(15):
            columns = [it for it in columns if self.is_in(70)]
        names = [SqlNode(("id",)), *(SqlNode((it.name,), tag=it.tag) for it in columns)]
        values = make_list([self._make_row(table, columns) for _ in range(rows)])
        listed = make_list(names, kept=True)
        return MadeStatement(SqlNode((f"{head} {table.name} (", listed, ") VALUES ", values)))

    def _make_write(self, table: MadeTable) -> MadeStatement:
        kind = self.rng.choice(("insert", "insert", "select", "update", "update", "delete"))
        free = [it for it in table.columns if it.free]
        if kind == "update" and free:
            return self._make_update(table, free)
        # by their table: in a subquery a bare name may be of another
        scope = table.name_scope(table.name)
        if kind == "delete":
            where = make_optional(" WHERE ", self.make_query.make_expression("bool", scope, 2))
            head = SqlNode((f"DELETE FROM {table.name}", where))
            return MadeStatement(SqlNode((head, self._make_returning(scope))))
        if kind == "select" and len(free) == len(table.written):
            return self._make_insert_of_query(table)
        return self._make_insert_in_conflict(table, free, scope)

    def _make_update(self, table: MadeTable, free: list[MadeColumn]) -> MadeStatement:
        """An update, at times of what another table has under the same id."""
        scope, name, source = table.name_scope(table.name), "", self.rng.choice(self.tables)
        of_table, joins = self.has("update_from", 25), self.has("update_join", 25)
        if of_table or joins:
            name = self.make_query.draw_name("a")
            scope = Scope((*scope.columns, *source.name_scope(name).columns))
        chosen = self.rng.sample(free, min(len(free), self.rng.choice((1, 1, 2))))
        prefix = f"{table.name}." if joins else ""
        assigned = make_list(
            [
                SqlNode(
                    (f"{prefix}{it.name} = ", self.make_query.make_expression(it.sort, scope, 2)),
                    tag=it.tag,
                )
                for it in chosen
            ]
        )
        condition = self.make_query.make_expression("bool", scope, 2)
        link = f"{name}.id = {table.name}.id"
        if joins:
            head = f"UPDATE {table.name} JOIN {source.name} AS {name} ON {link} SET "
            return MadeStatement(SqlNode((head, assigned, make_optional(" WHERE ", condition))))
        head = f"UPDATE {table.name} SET "
        if of_table:
            words = f" FROM {source.name} AS {name} WHERE {link}"
            only = make_optional(" AND ", condition)
            return MadeStatement(SqlNode((head, assigned, words, only)))
        made = SqlNode((head, assigned, make_optional(" WHERE ", condition)))
        return MadeStatement(SqlNode((made, self._make_returning(scope))))

    def _make_insert_in_conflict(
        self, table: MadeTable, free: list[MadeColumn], scope: Scope
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

    def _make_insert_of_query(self, table: MadeTable) -> MadeStatement:
        """Rows of another table, by its keys, which are moved to where none is."""
        source = self.rng.choice(self.tables)
        offset = 100 * (1 + self.rng.randrange(50))
        scope = source.name_scope("s")
        names = [SqlNode(("id",)), *(SqlNode((it.name,), tag=it.tag) for it in table.written)]
        items = [SqlNode((f"s.id + {offset}",))]
        for it in table.written:
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
