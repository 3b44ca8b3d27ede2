"""The schema of a script by chance: tables, indexes, views and triggers, and what changes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from dyno.instruments.differ.queries import QueryMaker, Scope, ScopeColumn, TableShape
from dyno.instruments.differ.tree import MadeStatement, SqlNode, make_list, make_optional


@dataclass(frozen=True)
class MadeColumn:
    """A column as it is declared, its type the `kind`; `free` where any value of its sort may be
    written to it, not `written` where it is generated.
    """

    name: str
    sort: str
    tag: str
    kind: str = ""
    free: bool = True
    written: bool = True


@dataclass
class MadeTable:
    """A table, and how many ids its rows have had."""

    name: str
    columns: list[MadeColumn] = field(default_factory=list)
    is_strict: bool = False
    ids: int = 0

    @property
    def shape(self) -> TableShape:
        """It as queries name it."""
        named = (ScopeColumn(it.name, it.sort, it.tag) for it in self.columns)
        return TableShape(self.name, (ScopeColumn("id", "int"), *named), "id")

    @property
    def written(self) -> list[MadeColumn]:
        """The columns that a row is given values for."""
        return [it for it in self.columns if it.written]

    def name_scope(self, name: str) -> Scope:
        """Its columns under a name of it."""
        named = (ScopeColumn(f"{name}.{it.name}", it.sort, it.tag) for it in self.columns)
        return Scope((ScopeColumn(f"{name}.id", "int"), *named))


@dataclass
class SchemaMaker:
    """Makes tables and what belongs to them, and knows which there are."""

    make_query: QueryMaker
    tables: list[MadeTable] = field(default_factory=list)
    indexes: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Draw from what the queries draw from."""
        self.rng, self.dialect = self.make_query.rng, self.make_query.dialect
        self.has, self.is_in = self.make_query.has, self.make_query.is_in

    # tables

    def make_table(self) -> MadeStatement:
        """Return a new table's statement."""
        table = MadeTable(f"t{len(self.tables) + 1}", is_strict=self.has("strict", 15))
        declared = [SqlNode((f"id {self._draw_type(table, 'id')} PRIMARY KEY",))]
        for at in range(1, self.rng.choice((3, 4, 5, 6))):
            declared.append(self._make_column(table, f"c{at}"))
        # a key has the type of what it refers to: MySQL takes no other
        ints = [it for it in table.columns if it.kind in self.dialect.types["id"] and it.free]
        keys = []
        if self.tables and ints and self.has("foreign_keys", 25):
            keys.append(self._make_parent_key(table, ints[0]))
        if self.has("generated_columns", 20):
            declared.append(self._make_generated(table))
        self.tables.append(table)
        self.make_query.tables.append(table.shape)
        listed = make_list([*declared, *keys])
        words = [" STRICT"] if table.is_strict else []
        words += [" WITHOUT ROWID"] if self.has("any_type", 12) else []
        last = SqlNode(tuple(make_optional(it) for it in words), joint=",")
        return MadeStatement(SqlNode((f"CREATE TABLE {table.name} (", listed, ")", last)))

    def _draw_type(self, table: MadeTable, sort: str) -> str:
        types = self.dialect.types
        known = types.get(f"strict_{sort}") if table.is_strict else None
        return self.rng.choice(known or types[sort])

    def _make_column(self, table: MadeTable, name: str) -> SqlNode:
        sort = self.rng.choice(self.dialect.sorts)
        column = MadeColumn(name, sort, f"{table.name}.{name}", self._draw_type(table, sort))
        parts: list[str | SqlNode] = [f"{name} {column.kind}".rstrip()]
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
            parts.append(make_optional(f" CHECK ({name} <> {self.rng.choice(literals)})"))
        table.columns.append(column)
        return SqlNode(tuple(parts), tag=column.tag)

    def _make_parent_key(self, table: MadeTable, column: MadeColumn) -> SqlNode:
        parent = self.rng.choice(self.tables)
        table.columns[table.columns.index(column)] = replace(column, free=False)
        acts = "foreign_actions" in self.dialect.features
        action = self.rng.choice(("", " ON DELETE CASCADE", " ON DELETE SET NULL")) if acts else ""
        key = f"FOREIGN KEY ({column.name}) REFERENCES {parent.name}(id)"
        return SqlNode((key, make_optional(action)), tag=column.tag)

    def _make_generated(self, table: MadeTable) -> SqlNode:
        """A number that is made of the free columns before it."""
        name, tag = f"c{len(table.columns) + 1}", f"{table.name}.generated"
        named = (ScopeColumn(it.name, it.sort, it.tag) for it in table.columns if it.free)
        scope = Scope((ScopeColumn("id", "int"), *named))
        made = self.make_query.make_expression("int", scope, 1)
        word = "VIRTUAL" if self.has("generated_virtual", 50) else "STORED"
        table.columns.append(MadeColumn(name, "int", tag, free=False, written=False))
        kind = self._draw_type(table, "int")
        head = f"{name} {kind} GENERATED ALWAYS AS ("
        return SqlNode((head, SqlNode((made,), "int", ("id",)), f") {word}"), tag=tag)

    # what belongs to them

    def make_index(self) -> MadeStatement:
        """Return a new index's statement."""
        table = self.rng.choice(self.tables)
        name = self.make_query.draw_name("i")
        self.indexes.append((name, table.name))
        chosen = self.rng.sample(table.columns, min(len(table.columns), 1 + self.is_in(40)))
        keys = make_list([self._make_index_key(it) for it in chosen])
        where: SqlNode | str = ""
        if self.has("partial_indexes", 25):
            column = self.rng.choice(table.columns)
            where = make_optional(f" WHERE {column.name} IS NOT NULL", tag=column.tag)
        head = f"CREATE INDEX {name} ON {table.name} ("
        return MadeStatement(SqlNode((head, keys, ")", where)))

    def _make_index_key(self, column: MadeColumn) -> SqlNode:
        direction = make_optional(" DESC") if self.is_in(25) else ""
        collation: SqlNode | str = ""
        text = column.name
        if self.has("expression_indexes", 15) and column.sort == "int":
            text = f"({column.name} + 1)"
        elif column.sort == "text" and self.has("any_type", 20):
            collation = make_optional(f" COLLATE {self.rng.choice(('NOCASE', 'BINARY'))}")
        return SqlNode((text, collation, direction), tag=column.tag)

    def make_view(self) -> MadeStatement:
        """Return a new view's statement."""
        query, sorts, rows = self.make_query.make_query(1)
        columns = tuple(ScopeColumn(f"c{at}", sort) for at, sort in enumerate(sorts, 1))
        name = self.make_query.draw_name("v")
        self.make_query.tables.append(TableShape(name, columns, rows=rows))
        return MadeStatement(SqlNode((f"CREATE VIEW {name} AS ", query)))

    def make_trigger(self) -> Iterator[MadeStatement]:
        """Yield a log of what changes a table; its rows are read in any order."""
        table = self.rng.choice(self.tables)
        column = self.rng.choice(table.columns)
        when, row = self.rng.choice((("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")))
        log = TableShape("l1", (ScopeColumn("k", "int"), ScopeColumn("v", column.sort)), rows=100)
        kind = self.dialect.types[column.sort][0]
        yield say(f"CREATE TABLE l1 (k {self.dialect.types['int'][0]}, v {kind})")
        body = f"INSERT INTO l1 (k, v) VALUES ({row}.id, {row}.{column.name});"
        action = f"BEGIN {body} END"
        if "triggers_function" in self.dialect.features:
            body = f"$$ BEGIN {body} RETURN NULL; END $$"
            yield say(f"CREATE FUNCTION f1() RETURNS TRIGGER LANGUAGE plpgsql AS {body}")
            action = "EXECUTE FUNCTION f1()"
        scope = Scope((ScopeColumn(f"{row}.{column.name}", column.sort),))
        only: SqlNode | str = ""
        if self.has("triggers_when", 40):
            only = make_optional(" WHEN (", self.make_query.make_expression("bool", scope, 1), ")")
        head = f"CREATE TRIGGER g1 AFTER {when} ON {table.name} FOR EACH ROW"
        yield MadeStatement(SqlNode((head, only, f" {action}")))
        self.make_query.tables.append(log)

    # changes

    def change_schema(self) -> MadeStatement:
        """Return a statement that makes, drops or renames something."""
        table = self.rng.choice(self.tables)
        kind = self.rng.choice(("index", "drop index", "add", "drop", "rename", "analyze"))
        if kind == "drop index" and self.indexes:
            name, indexed = self.indexes.pop(self.rng.randrange(len(self.indexes)))
            on = f" ON {indexed}" if "drop_index_on" in self.dialect.features else ""
            return say(f"DROP INDEX {name}{on}")
        if kind == "analyze" and self.has("analyze"):
            return say("ANALYZE")
        if kind == "add" and self.has("add_column") and len(table.columns) < 8:
            return self._add_column(table)
        if kind == "drop" and self.has("drop_column") and len(table.written) > 2:
            column = self.rng.choice(table.columns)
            table.columns.remove(column)
            self._replace_shape(table)
            return say(f"ALTER TABLE {table.name} DROP COLUMN {column.name}")
        if kind == "rename" and self.has("rename_column"):
            at = self.rng.randrange(len(table.columns))
            column = table.columns[at]
            table.columns[at] = replace(column, name=self.make_query.draw_name("n"))
            self._replace_shape(table)
            words = f"RENAME COLUMN {column.name} TO {table.columns[at].name}"
            return say(f"ALTER TABLE {table.name} {words}")
        return self.make_index()

    def _add_column(self, table: MadeTable) -> MadeStatement:
        name = self.make_query.draw_name("n")
        column = MadeColumn(name, self.rng.choice(self.dialect.sorts), f"{table.name}.{name}")
        table.columns.append(column)
        self._replace_shape(table)
        default: SqlNode | str = ""
        if column.sort != "date" and self.is_in(50):
            literal = self.rng.choice(self.dialect.literals[column.sort])
            default = make_optional(f" DEFAULT {literal}")
        kind = self._draw_type(table, column.sort)
        added = f"ALTER TABLE {table.name} ADD COLUMN {name} {kind}"
        return MadeStatement(SqlNode((added.rstrip(), default)))

    def _replace_shape(self, table: MadeTable) -> None:
        shapes = self.make_query.tables
        at = next(place for place, it in enumerate(shapes) if it.name == table.name)
        shapes[at] = table.shape


def say(sql: str) -> MadeStatement:
    """Return a statement that is never made smaller."""
    return MadeStatement(SqlNode((sql,)))
