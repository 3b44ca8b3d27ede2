"""Which rows of each table a copy has: the last ones by its key, and of tables that refer to such a
share those whose rows it has.

A table that has no more rows than are asked for is taken whole. Foreign keys in a circle, and those
to a table whose share cannot be said again (it has no key), are not followed: rows may refer to
some that are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from dyno.record import LeftOut

Rows = list[list[str | None]]
#: Answers questions in the copy's own transaction.
Reader = Callable[..., list[Rows]]
#: Rows of the first page, and what later ones may hold: an answer is in memory as a whole.
FIRST_ROWS, PAGE_BYTES = 64, 2 << 20
#: Names that are told of many.
_TOLD = 5


@dataclass(frozen=True)
class Reference:
    """A foreign key: columns of `table`, and those of `parent` that they name; all are quoted."""

    name: str
    table: str
    parent: str
    columns: tuple[str, ...]
    named: tuple[str, ...]


@dataclass
class CopiedTable:
    """A table, its name and columns quoted; `source` is what FROM has. `reads` are the expressions
    that read the columns; by its `key` rows are told apart (empty: it has none).

    `condition` and `rows` say which share is taken, `is_cut` that it may be less than all.
    """

    name: str
    source: str
    columns: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    key: tuple[str, ...] = ()
    condition: str = ""
    rows: int = 0
    is_cut: bool = False

    def build_share(self, columns: Sequence[str], *, limit: str = "") -> str:
        """Return the question for columns of its share, the last rows first where it has a key."""
        order = ", ".join(f"{it} DESC" for it in self.key)
        parts = [f"SELECT {', '.join(columns)} FROM {self.source}", self.condition]
        parts += [f"ORDER BY {order}"] * bool(order)
        return " ".join(filter(None, [*parts, limit or f"LIMIT {self.rows}"]))


def choose_shares(
    tables: Sequence[CopiedTable],
    references: Sequence[Reference],
    most: int,
    count: Callable[[str], int],
) -> list[Reference]:
    """Settle each table's share of at most `most` rows; return the references that may be broken.

    `count` answers a question for a number.
    """
    known, done = {it.name: it for it in tables}, dict[str, CopiedTable]()
    broken = list[Reference]()
    for table in _sort_by_parents(tables, references):
        conditions = []
        for it in (each for each in references if each.table == table.name):
            parent = known.get(it.parent)
            if parent is None or not parent.columns:
                broken.append(it)
            elif it.parent in done and parent.is_cut and parent.key:
                there = f"SELECT * FROM ({parent.build_share(it.named)}) share"
                nulls = " OR ".join(f"{name} IS NULL" for name in it.columns)
                conditions.append(f"({nulls} OR ({', '.join(it.columns)}) IN ({there}))")
            elif it.parent not in done or parent.is_cut:
                broken.append(it)
        table.condition = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        rows = f"SELECT 1 FROM {table.source} {table.condition} LIMIT {most + 1}"
        found = count(f"SELECT COUNT(*) FROM ({rows}) share")
        table.rows, table.is_cut = min(found, most), found > most or bool(conditions)
        done[table.name] = table
    # what refers to a table that is whole in the end lacks nothing, in a circle or not
    some = any(it.is_cut for it in tables)
    return [it for it in broken if (known[it.parent].is_cut if it.parent in known else some)]


def _sort_by_parents(
    tables: Sequence[CopiedTable], references: Sequence[Reference]
) -> list[CopiedTable]:
    """Return them so that a table stands behind those that it refers to, but in a circle."""
    pairs = {(it.table, it.parent) for it in references if it.table != it.parent}
    found, left = list[CopiedTable](), list(tables)
    while left:
        names = {it.name for it in left}
        waiting = {table for table, parent in pairs if parent in names}
        found += [it for it in left if it.name not in waiting] or left[:1]
        left = [it for it in left if it not in found]
    return found


def list_cut(
    tables: Sequence[CopiedTable], broken: Sequence[Reference], most: int, kept: str
) -> Iterator[LeftOut]:
    """Yield what the shares lack; `kept` says what becomes of references that may be broken."""
    if cut := [it.name for it in tables if it.is_cut]:
        why = f"tables: rows before the last {most:,} by their key, and rows that refer to such"
        yield LeftOut("dump", len(cut), why, name_first(cut))
    if broken:
        names = [f"{it.name} of {it.table}" for it in broken]
        why = f"foreign keys, {kept}: rows that they name may be missing"
        yield LeftOut("dump", len(broken), why, name_first(names))


def name_first(names: Sequence[str]) -> str:
    """Return the first of many names."""
    return ", ".join(names[:_TOLD]) + ", …" * (len(names) > _TOLD)


def read_pages(ask_page: Callable[[int], Rows]) -> Iterator[Rows]:
    """Yield pages, asked for by a number of rows, until one is empty."""
    size = FIRST_ROWS
    while rows := ask_page(size):
        yield rows
        taken = sum(len(cell or "") for row in rows for cell in row)
        size = max(1, min(16 * size, size * PAGE_BYTES // max(taken, 1)))
