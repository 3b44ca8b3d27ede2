"""Reads the tables of a server of MySQL's family into its cache, index by index.

The storage engine keeps pages, so a scan of each index brings all of it; the rows lie in the
primary one. A column of the index is read, and not only counted, since some versions count by
another index than the one they are told to take. Limit: an index over a column's beginning alone
cannot answer for the column, and the rows are read in its place.
"""

from __future__ import annotations

from dyno.engines._mysql_database import Query

#: Each index's first column; an index over an expression has none, and is left out.
INDEXES = (
    "SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS"
    " WHERE TABLE_SCHEMA = DATABASE() AND SEQ_IN_INDEX = 1 AND COLUMN_NAME IS NOT NULL"
    " AND INDEX_TYPE NOT IN ('FULLTEXT', 'SPATIAL') ORDER BY 1, 2"
)
TABLES = (
    "SELECT TABLE_NAME FROM information_schema.TABLES"
    " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' ORDER BY 1"
)


def preload(query: Query) -> dict[str, str]:
    """Reads all; answers how many tables and indexes that were."""
    indexes, tables = query([INDEXES, TABLES])
    for table, index, column in indexes:
        which = f"{_quoted(table)} FORCE INDEX ({_quoted(index)})"
        query([f"SELECT SUM(CRC32({_quoted(column)})) FROM {which}"])
    without = {table for (table,) in tables} - {row[0] for row in indexes if row[1] == "PRIMARY"}
    for table in sorted(map(str, without)):
        query([f"SELECT COUNT(*) FROM {_quoted(table)} USE INDEX ()"])
    return {"read": f"{len(tables)} tables, {len(indexes)} indexes"}


def _quoted(name: str | None) -> str:
    return f"`{str(name).replace('`', '``')}`"
