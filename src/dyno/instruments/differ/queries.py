"""Expressions and queries by chance, of the types that the dialect's templates ask for.

What the standard leaves open is not asked for: rows are cut only where they are wholly ordered,
and functions that depend on the order of rows stand over windows whose keys end in the key of every
table. So whoever judges may hold such columns against each other (`orders_are_total`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dyno.instruments.differ.grammar import SharedDialect
from dyno.instruments.differ.tree import SqlNode, make_list, make_optional

#: How deep an expression of a list or a WHERE may be, and rows that a join may have, by guess.
DEPTH, ROWS = 3, 3000


@dataclass(frozen=True)
class ScopeColumn:
    """A column that an expression may name: its text, its sort, and what it goes with."""

    text: str
    sort: str
    tag: str = ""


@dataclass(frozen=True)
class TableShape:
    """A table or view: its columns by their names; `key` is the one that no two rows share.
    `rows` is a guess.
    """

    name: str
    columns: tuple[ScopeColumn, ...]
    key: str = ""
    rows: int = 30


@dataclass(frozen=True)
class Scope:
    """What a SELECT may name; `keys` together tell its rows apart, and are none where unknown."""

    columns: tuple[ScopeColumn, ...] = ()
    keys: tuple[ScopeColumn, ...] = ()
    rows: int = 1


#: A query, the sorts of its columns, and a guess at its rows.
MadeQuery = tuple[SqlNode, list[str], int]


@dataclass
class QueryMaker:
    """Makes queries on tables; the same `rng` makes the same."""

    rng: random.Random
    dialect: SharedDialect
    tables: list[TableShape] = field(default_factory=list)
    names: int = 0

    def is_in(self, percent: float) -> bool:
        """Draw whether something is there."""
        return self.rng.random() * 100 < percent

    def has(self, feature: str, percent: float = 100.0) -> bool:
        """Draw whether a feature is used; not where either side lacks it."""
        drawn = self.is_in(percent)
        return drawn and feature in self.dialect.features

    def draw_name(self, letter: str) -> str:
        """Return a name that nothing has yet."""
        self.names += 1
        return f"{letter}{self.names}"

    # expressions

    def make_literal(self, sort: str) -> SqlNode:
        """A literal of a sort; NULL at times."""
        if sort == "any":
            sort = self.rng.choice([it for it in self.dialect.sorts if it != "any"])
        nulls = self.dialect.literals.get(f"{sort}_null", ())
        if nulls and self.is_in(8):
            return SqlNode((nulls[0],), sort, ("NULL",) if nulls[0] == "NULL" else ())
        text = self.rng.choice(self.dialect.literals[sort])
        return SqlNode((text,), sort, self.dialect.literals[sort][:1])

    def make_expression(self, sort: str, scope: Scope, depth: int) -> SqlNode:
        """An expression of a sort; no template deeper than `depth`."""
        templates = self.dialect.templates.get(sort, ())
        if sort == "bool" and self.is_in(7) and depth > 1:
            return self._make_predicate(scope, depth)
        if sort != "bool" and self.is_in(4) and depth > 2 and sort in self.dialect.sorts:
            return self._make_scalar_query(sort, scope)
        if depth <= 0 and sort == "bool":
            templates = [it for it in templates if "bool" not in it[1::2]]
        elif not templates or depth <= 0 or self.is_in(30 if sort != "bool" else 0):
            return self._make_leaf(sort, scope)
        return self.fill_in(self.rng.choice(templates), sort, scope, depth - 1)

    def fill_in(self, template: Sequence[str], sort: str, scope: Scope, depth: int) -> SqlNode:
        """A template with its sorts filled in."""
        parts: list[str | SqlNode] = []
        for at, text in enumerate(template):
            if at % 2 == 0:
                parts.append(text)
            elif text == "keys":
                keys = [SqlNode((it.text,), tag=it.tag) for it in scope.keys]
                parts.append(make_list(keys, kept=True))
            elif text in ("total", "order", "frame", "rows"):
                parts.append(self._make_window(text, scope, depth))
            else:
                parts.append(self.make_expression(text, scope, depth))
        least = ("(1 = 1)", "(1 = 0)") if sort == "bool" else self.dialect.literals.get(sort, ())
        return SqlNode(tuple(parts), sort, least[:1] if sort != "bool" else least)

    def _make_leaf(self, sort: str, scope: Scope) -> SqlNode:
        known = [it for it in scope.columns if sort in (it.sort, "any")]
        if known and self.is_in(80):
            column = self.rng.choice(known)
            # of a sort of its own, so that another expression may become it
            return SqlNode((column.text,), sort, self.dialect.literals.get(sort, ())[:1])
        return self.make_literal(sort)

    def _make_predicate(self, scope: Scope, depth: int) -> SqlNode:
        """EXISTS, or IN with a subquery."""
        negated = "NOT " if self.is_in(40) else ""
        sort = self.rng.choice(self.dialect.sorts)
        least = ("(1 = 1)", "(1 = 0)")
        if self.is_in(50):
            query = self._make_inner([sort], scope)
            return SqlNode((f"({negated}EXISTS (", query, "))"), "bool", least)
        value = self.make_expression(sort, scope, min(depth - 1, 1))
        query = self._make_inner([sort], scope)
        return SqlNode(("(", value, f" {negated}IN (", query, "))"), "bool", least)

    def _make_scalar_query(self, sort: str, scope: Scope) -> SqlNode:
        """A subquery of one value: an aggregate."""
        source, inner = self._make_table()
        calls = self._list_aggregates(sort, inner)
        if not calls:
            return self._make_leaf(sort, scope)
        both = Scope((*inner.columns, *scope.columns))
        value = self.fill_in(self.rng.choice(calls), "", inner, 1)
        where = make_optional(" WHERE ", self.make_expression("bool", both, 1))
        least = self.dialect.literals.get(sort, ())[:1]
        return SqlNode(("(SELECT ", value, " FROM ", source, where, ")"), sort, least)

    def _make_inner(self, sorts: list[str], outer: Scope) -> SqlNode:
        """A plain SELECT that may name what is around it."""
        source, inner = self._make_table()
        both = Scope((*inner.columns, *outer.columns))
        items = make_list([self.make_expression(sort, inner, 1) for sort in sorts])
        where = make_optional(" WHERE ", self.make_expression("bool", both, 2))
        return SqlNode(("SELECT ", items, " FROM ", source, where), "inner")

    def _make_window(self, kind: str, scope: Scope, depth: int) -> SqlNode:
        """What stands behind OVER: `total` orders by the keys too, so do `rows`, which have a frame
        of rows, and `frame` unless it is one of ranges.
        """
        parts: list[str | SqlNode] = ["("]
        if self.is_in(50):
            by = self._make_window_key(scope, depth)
            parts.append(make_optional("PARTITION BY ", by, " "))
        key = self._make_window_key(scope, depth)
        direction = make_optional(self.rng.choice((" DESC", " ASC", "")))
        if kind == "order":
            return SqlNode((*parts, "ORDER BY ", key, direction, ")"))
        elements = [SqlNode((key, direction), least=("",))]
        elements += [SqlNode((it.text,), tag=it.tag) for it in scope.keys]
        if kind == "frame" and self.has("range_frames", 30):
            bounds = ("UNBOUNDED PRECEDING", "CURRENT ROW")
            last = ("CURRENT ROW", "UNBOUNDED FOLLOWING")
            units = self.rng.choice(("RANGE", "GROUPS")) if self.has("groups_frames") else "RANGE"
            frame = f" {units} BETWEEN {self.rng.choice(bounds)} AND {self.rng.choice(last)}"
            return SqlNode((*parts, "ORDER BY ", key, direction, make_optional(frame), ")"))
        # the keys stay: without them the rows would have no order
        whole = SqlNode((*parts, make_list(elements, "ORDER BY ", kept=True)))
        frame_node = make_optional(self._draw_frame()) if kind in ("frame", "rows") else ""
        return SqlNode((whole, frame_node, ")"))

    def _make_window_key(self, scope: Scope, depth: int) -> SqlNode:
        made = self.make_expression(self.rng.choice(self.dialect.sorts), scope, min(depth, 1))
        return SqlNode(("(", made, ")")) if made.text.lstrip("-").isdigit() else made

    def _draw_frame(self) -> str:
        if self.is_in(30):
            return ""
        begin = self.rng.choice(
            ("UNBOUNDED PRECEDING", "2 PRECEDING", "1 PRECEDING", "CURRENT ROW")
        )
        end = self.rng.choice(("CURRENT ROW", "1 FOLLOWING", "2 FOLLOWING", "UNBOUNDED FOLLOWING"))
        excluded = ""
        if self.has("exclude", 25):
            excluded = f" EXCLUDE {self.rng.choice(('CURRENT ROW', 'GROUP', 'TIES'))}"
        return f" ROWS BETWEEN {begin} AND {end}{excluded}"

    # where rows come from

    def _make_table(self) -> tuple[SqlNode, Scope]:
        """A table under an alias of its own."""
        shape = self.rng.choice(self.tables)
        return self._name_table(shape)

    def _name_table(self, shape: TableShape) -> tuple[SqlNode, Scope]:
        alias = self.draw_name("a")
        columns = tuple(ScopeColumn(f"{alias}.{it.text}", it.sort, it.tag) for it in shape.columns)
        keys = (ScopeColumn(f"{alias}.{shape.key}", "int"),) if shape.key else ()
        return SqlNode((f"{shape.name} AS {alias}",)), Scope(columns, keys, shape.rows)

    def _make_source(self, depth: int, named: list[TableShape]) -> tuple[SqlNode, Scope]:
        """A table, a common table expression, or a query in the FROM."""
        if named and self.is_in(60):
            return self._name_table(self.rng.choice(named))
        if depth > 0 and self.is_in(15):
            alias = self.draw_name("d")
            query, sorts, rows = self.make_query(depth - 1)
            columns = tuple(ScopeColumn(f"{alias}.c{at}", sort) for at, sort in enumerate(sorts, 1))
            return SqlNode(("(", query, f") AS {alias}")), Scope(columns, rows=rows)
        return self._make_table()

    def _make_from(self, depth: int, named: list[TableShape]) -> tuple[SqlNode, Scope]:
        source, scope = self._make_source(depth, named)
        joins: list[SqlNode] = []
        for _ in range(self.rng.choice((0, 0, 0, 1, 1, 1, 2, 2, 3))):
            other, more = self._make_source(depth, named)
            if scope.rows * more.rows > ROWS:
                break
            # what is joined may go with its key; where a table stays, so does the order of its rows
            tag = more.keys[0].text.partition(".")[0] if more.keys else ""
            tagged = (replace(it, tag=tag) for it in more.keys)
            keys = (*scope.keys, *tagged) if scope.keys and more.keys else ()
            scope = Scope((*scope.columns, *more.columns), keys, scope.rows * more.rows)
            kinds = ["JOIN", "LEFT JOIN", "LEFT JOIN", "CROSS JOIN"]
            kinds += ["RIGHT JOIN"] if "right_join" in self.dialect.features else []
            kinds += ["FULL JOIN"] if "full_join" in self.dialect.features else []
            kind = self.rng.choice(kinds)
            parts: list[str | SqlNode] = [f" {kind} ", other]
            if kind != "CROSS JOIN":
                equal = kind == "FULL JOIN" and "full_join_any" not in self.dialect.features
                parts += [" ON ", self._make_condition(scope, more, equal)]
            joins.append(SqlNode(tuple(parts), least=("",), tag=tag))
        return SqlNode((source, *joins)), scope

    def _make_condition(self, scope: Scope, more: Scope, equal: bool) -> SqlNode:
        """What joins the last source of a scope: mostly an equality."""
        of_last = [it for it in more.columns if it.sort != "real"]
        before = [it for it in scope.columns if it not in more.columns]
        pairs = [(one, it) for one in before for it in of_last if one.sort == it.sort]
        if pairs and (equal or self.is_in(75)):
            one, it = self.rng.choice(pairs)
            return SqlNode((f"({one.text} = {it.text})",), "bool", ("(1 = 1)",))
        return SqlNode(("(1 = 1)",)) if equal else self.make_expression("bool", scope, 1)

    # queries

    def make_query(self, depth: int, sorts: list[str] | None = None) -> MadeQuery:
        """A query whose columns are c1, c2, …, with their sorts and a guess at its rows."""
        if depth > 0 and self.is_in(12):
            return self._make_compound(depth, sorts)
        head: list[SqlNode] = []
        named: list[TableShape] = []
        if depth > 0 and self.has("ctes", 15):
            for _ in range(self.rng.choice((1, 1, 2))):
                made, shape = self._make_named(depth - 1)
                head.append(made)
                named.append(shape)
        body, found, rows = self._make_select(depth, sorts, named)
        if not head:
            return body, found, rows
        word = "WITH RECURSIVE " if any("UNION ALL" in it.text for it in head) else "WITH "
        return (
            SqlNode((SqlNode((word, make_list(head), " "), least=("",)), body), "query"),
            found,
            rows,
        )

    def _make_named(self, depth: int) -> tuple[SqlNode, TableShape]:
        """A common table expression, recursive at times."""
        name = self.draw_name("w")
        if self.has("recursive", 30):
            most = self.rng.choice((3, 5, 8))
            text = f"{name}(c1) AS (SELECT 1 UNION ALL SELECT c1 + 1 FROM {name} WHERE c1 < {most})"
            return SqlNode((text,)), TableShape(name, (ScopeColumn("c1", "int"),), rows=most)
        query, sorts, rows = self.make_query(depth)
        columns = tuple(ScopeColumn(f"c{at}", sort) for at, sort in enumerate(sorts, 1))
        return SqlNode((f"{name} AS (", query, ")")), TableShape(name, columns, rows=rows)

    def _make_compound(self, depth: int, sorts: list[str] | None) -> MadeQuery:
        words = ["UNION", "UNION ALL"]
        words += ["INTERSECT", "EXCEPT"] if "intersect" in self.dialect.features else []
        one, found, rows = self._make_select(0, sorts, [])
        other, _, more = self._make_select(0, found, [])
        return SqlNode((one, f" {self.rng.choice(words)} ", other), "query"), found, rows + more

    def _make_select(
        self, depth: int, sorts: list[str] | None, named: list[TableShape]
    ) -> MadeQuery:
        source, scope = self._make_from(depth, named)
        known = self.dialect.sorts
        wanted = sorts or [self.rng.choice(known) for _ in range(self.rng.choice((1, 2, 2, 3, 4)))]
        where: SqlNode | str = ""
        if self.is_in(65):
            where = make_optional(" WHERE ", self.make_expression("bool", scope, DEPTH))
        shape = self.rng.choice(("plain", "plain", "plain", "grouped", "grouped", "window"))
        if shape == "window" and ("windows" not in self.dialect.features or not scope.keys):
            shape = "plain"
        if shape == "grouped":
            items, after = self._make_grouped(wanted, scope)
        else:
            items, after = [], []
            for sort in wanted:
                calls = self.dialect.templates.get(f"{sort}_window", ())
                if shape == "window" and calls and self.is_in(70):
                    items.append(self.fill_in(self.rng.choice(calls), sort, scope, 2))
                else:
                    items.append(self.make_expression(sort, scope, DEPTH))
        numbered = [SqlNode((item, f" AS c{at}"), tag=item.tag) for at, item in enumerate(items, 1)]
        distinct = make_optional("DISTINCT ") if self.is_in(12) else ""
        listed = make_list(numbered)
        parts = ("SELECT ", distinct, listed, " FROM ", source, where, *after)
        return SqlNode(parts, "query"), wanted, scope.rows

    def _make_grouped(
        self, sorts: Sequence[str], scope: Scope
    ) -> tuple[list[SqlNode], list[SqlNode]]:
        """Items of which some are grouped by and the others are aggregates, and what follows."""
        items: list[SqlNode] = []
        keys: list[SqlNode] = []
        for sort in sorts:
            calls = self._list_aggregates(sort, scope)
            if calls and self.is_in(60):
                items.append(self.fill_in(self.rng.choice(calls), "", scope, 2))
            else:
                # a key and its item go together: without its key, which value an item has is open
                key = SqlNode((self._make_key(sort, scope),), tag=self.draw_name("k"))
                items.append(key)
                keys.append(key)
        is_plain = len(keys) == len(items) and self.is_in(50)
        after = [make_list(keys, " GROUP BY ", kept=True)]
        if is_plain:
            after = [make_optional(after[0])]
        elif self.is_in(25) and (keys or "having_alone" in self.dialect.features):
            call = self.fill_in(self.rng.choice(self._list_aggregates("int", scope)), "", scope, 1)
            small = self.rng.choice(self.dialect.literals["small"])
            sign = self.rng.choice((">", "<=", "<>", "="))
            after.append(make_optional(" HAVING (", call, f" {sign} {small})"))
        return items, after

    def _list_aggregates(self, sort: str, scope: Scope) -> list[tuple[str, ...]]:
        """Those of a sort; an ordered one needs keys, so that no two rows tie."""
        known = self.dialect.templates.get(f"{sort}_aggregate", [])
        return [it for it in known if scope.keys or "keys" not in it[1::2]]

    def _make_key(self, sort: str, scope: Scope) -> str:
        """What may be grouped by: a column, or an expression that names one."""
        made = self.make_expression(sort, scope, self.rng.choice((0, 0, 1))).text
        if any(it.text in made for it in scope.columns):
            return made
        known = [it for it in scope.columns if sort in (it.sort, "any")]
        # a number by itself would be a place in the list, and PostgreSQL takes no other constant
        return self.rng.choice(known).text if known else f"coalesce({made}, {made})"

    def make_read(self) -> SqlNode:
        """A whole query, at times ordered; cut only where the order is total."""
        query, sorts, _ = self.make_query(2)
        numbers = list(range(1, len(sorts) + 1))
        self.rng.shuffle(numbers)
        if not self.is_in(55):
            return query
        cut: SqlNode | str = ""
        if self.is_in(35):
            cut = make_optional(f" LIMIT {self.rng.choice((1, 2, 3, 5))}")
            if self.is_in(40):
                skipped = make_optional(f" OFFSET {self.rng.choice((1, 2))}")
                cut = SqlNode((*cut.parts, skipped), least=("",))
        elif self.is_in(40):
            numbers = numbers[: self.rng.randint(1, len(numbers))]
        keys = [self._make_order(number) for number in numbers]
        return SqlNode((query, make_optional(make_list(keys, " ORDER BY "), cut)))

    def _make_order(self, number: int) -> SqlNode:
        parts: list[str | SqlNode] = [str(number)]
        parts.append(make_optional(self.rng.choice((" DESC", " ASC", ""))))
        if self.has("nulls_first", 20):
            parts.append(make_optional(self.rng.choice((" NULLS FIRST", " NULLS LAST"))))
        return SqlNode(tuple(parts))
