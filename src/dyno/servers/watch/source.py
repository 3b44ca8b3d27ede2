"""A source: a table of a server's, which of its columns count up, and which say how it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

#: What a server tells of one thing.
Row = Sequence[str | None]

#: What a recorded row is: the change since the sample before; the whole value from which changes
#: count on; the end of a row that the server has no longer.
CHANGE, WHOLE, GONE = 0, 1, 2


@dataclass(frozen=True)
class WatchSource:
    """A table of a server's, under the name that it is recorded and read by.

    `tables` are its names, of which a server has one; `keys` tell its rows apart; `counters` only
    grow, unless they are `signed` (values of which the change is kept); `told` is said once for
    each row; `values` are whole numbers and `words` texts, both kept as they stand. `sql` is what
    to ask for a column that is no plain one, `hashed` what the server makes a hash of for it,
    `joined` what stands behind the table; without the column that it `needs` it is left out. A
    `sampled` source has no counters: its rows are those of one moment. Of one that is `standing`,
    rows that nothing happened to are told, too. Where the server may tell `several` rows of one key
    (a file's former names), they are added up.

    `every` is in how many samples it is asked; `where` leaves rows out; `recent` does in addition
    but for one sample in `all_rows_every`: rows since `{since}` (the server's clock), where only
    these can have changed, or those that are looked at most. A row whose `born` moves began anew.
    """

    name: str
    tables: tuple[str, ...]
    keys: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    sql: Mapping[str, str] = field(default_factory=dict, hash=False)
    hashed: Mapping[str, str] = field(default_factory=dict, hash=False)
    joined: str = ""
    needs: str = ""
    where: str = ""
    recent: str = ""
    born: str = ""
    every: int = 1
    all_rows_every: int = 60
    signed: bool = False
    sampled: bool = False
    standing: bool = False
    several: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.keys, *self.told, *self.counters, *self.values, *self.words)

    def list_types(self) -> Iterator[tuple[str, str]]:
        """The columns of what is recorded, and their types as DuckDB calls them."""
        counter = "BIGINT" if self.signed else "UBIGINT"
        yield from (("ts", "TIMESTAMP"), ("kind", "TINYINT"))
        kinds = ((self.keys, "VARCHAR"), (self.told, "VARCHAR"), (self.counters, counter))
        for names, kind in (*kinds, (self.values, "BIGINT"), (self.words, "VARCHAR")):
            yield from ((name.lower(), kind) for name in names)


@dataclass(frozen=True)
class Question:
    """What a server is asked for a source; `recent` asks for the rows of most samples."""

    source: WatchSource
    whole: str
    recent: str = ""


def build_question(
    source: WatchSource, available: Mapping[str, set[str]], skip: str
) -> Question | None:
    """Return the question to a server that has these columns by table; None if it has no such
    table.

    A column that it lacks is NULL. Names are in lower case; `skip` leaves out rows of our own.
    """
    table = next((name for name in source.tables if name in available), None)
    there = available.get(table or "", set())
    if table is None or source.needs not in {"", *there}:
        return None
    asked = [
        source.sql.get(name, name if name.lower() in there else "NULL") for name in source.columns
    ]
    conditions = [source.where, skip if source.sampled else ""]
    table, group = f"{table} {source.joined}".strip(), ""
    if source.several:
        asked = [_join_parts(source, *pair) for pair in zip(source.columns, asked, strict=True)]
        group = f" GROUP BY {', '.join(source.keys)}"
    whole = _build_select(asked, table, conditions) + group
    recent = (
        _build_select(asked, table, [*conditions, source.recent]) + group if source.recent else ""
    )
    return Question(source, whole, recent)


def _join_parts(source: WatchSource, name: str, asked: str) -> str:
    if name in source.keys:
        return asked
    fold = "SUM" if name in source.counters else "MIN" if name.startswith("MIN_") else "MAX"
    return f"{fold}({asked})"


def _build_select(asked: list[str], table: str, conditions: list[str]) -> str:
    where = " AND ".join(f"({each})" for each in conditions if each)
    return f"SELECT {', '.join(asked)} FROM {table}" + (f" WHERE {where}" if where else "")
