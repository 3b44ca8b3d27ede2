"""The pause between writes and reads, as the insert benchmark defines it; and warming the cache.

InnoDB: `ANALYZE`, and its dirty pages written back. The benchmark lowers the share that may stay
dirty to 1 %, and waits 60 s and a second per million rows; we lower it too, let InnoDB write as
fast as it can, and wait until it is so. MyRocks: its memtables flushed, its first level compacted,
and no compaction pending or at work. MyISAM and Aria: their tables closed, which writes back their
caches.

Tables are read into the cache index by index (`preload`): the storage engine keeps pages, so a scan
of each index brings all of it; the rows lie in the primary one. A column of the index is read, and
not only counted, since some versions count by another index than the one they are told to take.
Limit: an index over a column's beginning alone cannot answer for the column, and the rows are read
in its place.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from dyno import subprocesses
from dyno.engines.mysql.data import Query
from dyno.errors import TrialFailed

#: The share of the buffer pool that may stay dirty, in percent (the insert benchmark's).
DIRTY_PERCENT = 1.0
#: Pages a second that InnoDB may write meanwhile.
HURRY = 20000
#: How long a server may take; the driver waits as long for an answer.
LIMIT_S = 280.0
PAUSE_S = 0.2
#: The columns of a row that says a table's name and storage engine.
TABLES = (
    "SELECT TABLE_NAME, ENGINE FROM information_schema.TABLES"
    " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'"
)
#: Set while InnoDB writes back, in an order in which none is refused; put back in the other.
URGENT = {
    "innodb_io_capacity_max": str(HURRY),
    "innodb_io_capacity": str(HURRY),
    "innodb_max_dirty_pages_pct_lwm": "0",
    "innodb_max_dirty_pages_pct": f"{DIRTY_PERCENT:.0f}",
}
DIRTY = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_%'"
PENDING = (
    "SELECT COALESCE(SUM(VALUE), 0) FROM information_schema.ROCKSDB_CFSTATS"
    " WHERE STAT_TYPE IN ('COMPACTION_PENDING', 'MEM_TABLE_FLUSH_PENDING')"
)
#: Its threads among others, each with what it does just now (`operation_type: Compaction`).
THREADS = "SHOW ENGINE ROCKSDB STATUS"
AT_WORK = re.compile(r"operation_type: \S")
ROCKS_FLUSH = "SET GLOBAL rocksdb_force_flush_memtable_and_lzero_now = 1"


def settle(query: Query, *, ours: bool, limit_s: float = LIMIT_S) -> None:
    """Settles every table of the session's database.

    A server that is not `ours` is not configured: its tables are analysed, and that is all.
    `TrialFailed` where the server does not come to rest within `limit_s`.
    """
    (rows,) = query([TABLES])
    tables = [(str(name), str(storage).lower()) for name, storage in rows]
    storages = {storage for _, storage in tables}
    if ours and "rocksdb" in storages:
        query([ROCKS_FLUSH])
        _wait("MyRocks' compactions", lambda: _is_compacted(query), limit_s)
    query([f"ANALYZE TABLE `{name}`" for name, _ in tables] or ["DO 0"])
    if ours and storages & {"myisam", "aria"}:
        query(["FLUSH TABLES"])
    if ours and "innodb" in storages:
        _write_back(query, limit_s)


def _write_back(query: Query, limit_s: float) -> None:
    """Lets InnoDB write its dirty pages, and puts its variables back."""
    (rows,) = query(["SHOW GLOBAL VARIABLES LIKE 'innodb%'"])
    found = {str(name): str(value) for name, value in rows}
    before = {name: found[name] for name in URGENT if name in found}
    query([f"SET GLOBAL {name} = {URGENT[name]}" for name in before])
    try:
        _wait("InnoDB's dirty pages", lambda: _read_dirty_percent(query) <= DIRTY_PERCENT, limit_s)
    finally:
        query([f"SET GLOBAL {name} = {before[name]}" for name in reversed(before)])


def _read_dirty_percent(query: Query) -> float:
    (rows,) = query([DIRTY])
    pages = {str(name).lower().rpartition("_")[2]: int(value or 0) for name, value in rows}
    return 100.0 * pages["dirty"] / max(pages["total"], 1)


def _is_compacted(query: Query) -> bool:
    """Nothing to compact or to flush, and no thread at it."""
    pending, status = query([PENDING, THREADS])
    threads = (row[2] or "" for row in status if row[0] == "BG_THREADS")
    return not float(pending[0][0] or 0) and not any(map(AT_WORK.search, threads))


def _wait(what: str, over: Callable[[], bool], limit_s: float) -> None:
    ends_s, heed = time.monotonic() + limit_s, subprocesses.Heed()
    while not over():
        if time.monotonic() > ends_s:
            hint = "load less, or use a faster disk"
            raise TrialFailed(f"{what} were not written back in {limit_s:.0f} s", hint=hint)
        heed.pause(PAUSE_S)


#: Each index's first column; an index over an expression has none, and is left out.
INDEXES = (
    "SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS"
    " WHERE TABLE_SCHEMA = DATABASE() AND SEQ_IN_INDEX = 1 AND COLUMN_NAME IS NOT NULL"
    " AND INDEX_TYPE NOT IN ('FULLTEXT', 'SPATIAL') ORDER BY 1, 2"
)
TABLES_TO_READ = (
    "SELECT TABLE_NAME FROM information_schema.TABLES"
    " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' ORDER BY 1"
)


def preload(query: Query) -> dict[str, str]:
    """Reads all; answers how many tables and indexes that were."""
    indexes, tables = query([INDEXES, TABLES_TO_READ])
    for table, index, column in indexes:
        which = f"{_quote(table)} FORCE INDEX ({_quote(index)})"
        query([f"SELECT SUM(CRC32({_quote(column)})) FROM {which}"])
    without = {table for (table,) in tables} - {row[0] for row in indexes if row[1] == "PRIMARY"}
    for table in sorted(map(str, without)):
        query([f"SELECT COUNT(*) FROM {_quote(table)} USE INDEX ()"])
    return {"read": f"{len(tables)} tables, {len(indexes)} indexes"}


def _quote(name: str | None) -> str:
    return f"`{str(name).replace('`', '``')}`"
