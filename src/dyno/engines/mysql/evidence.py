"""What a server of MySQL's family reports of itself: size, durability, statements, contention, its
own work under the names of probe `work`, and what its sessions are at.

Scans and temporary tables of our own questions are counted too, a handful a trial.

`SHOW PROCESSLIST` is asked for waits, since it is there in every version and setting:
performance_schema is off in MariaDB and in our profiles, its `events_waits_current` keeps waits
that are over, and its tables and `information_schema` count as scans and temporary tables. No state
tells of a wait for InnoDB's row locks or files: such a session counts as running. Row locks InnoDB
counts itself (`lock_wait_us` of probe `work`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import ClassVar

from dyno import numbers
from dyno.engines import SURVIVES, Ask, Server
from dyno.engines.mysql.settings import CLAIMS
from dyno.errors import DynoError
from dyno.record import DataCondition
from dyno.record.waits import SessionState, WaitKind

#: Storage engine to the variables of its cache, and of when a commit is flushed.
CACHES = {
    "innodb": "innodb_buffer_pool_size",
    "rocksdb": "rocksdb_block_cache_size",
    "myisam": "key_buffer_size",
    "aria": "aria_pagecache_buffer_size",
}
FLUSHED = {"innodb": "innodb_flush_log_at_trx_commit", "rocksdb": "rocksdb_flush_log_at_trx_commit"}
#: The values under which a commit waits for that log; 3 is MariaDB's, which flushes twice.
EACH_COMMIT = ("1", "3")
#: How servers say off and on; the ways of `innodb_doublewrite` that mend no page that was torn, and
#: of `innodb_flush_method` that flush nothing.
OFF, ON = ("OFF", "0"), ("ON", "1")
UNREPAIRED, UNFLUSHED = (*OFF, "DETECT_ONLY"), ("nosync",)
#: Allowances: what a server takes beside its cache, what each connection does, and what
#: performance_schema does with thousands of connections.
SERVER_BYTES, CONNECTION_BYTES, SCHEMA_BYTES = 384 << 20, 4 << 20, 512 << 20
#: The folders of the data's files: InnoDB's and others', MyRocks' of two packers.
FOLDERS = ("data/dyno", "data/#rocksdb", "data/.rocksdb")
#: InnoDB's counters, of new tables that are InnoDB's. One that is not enabled counts nothing.
CONTENTION = {"index_page_splits": "page_splits", "lock_row_lock_waits": "lock_waits"}
#: A server with this metric counts sleeps for read-write locks by the source file that makes the
#: lock: of an index's tree, of a page. The metric itself stays 0 in MySQL 8.0. MariaDB has neither
#: from 10.6 on.
COUNTS_RWLOCKS = "innodb_rwlock_x_os_waits"
RWLOCKS_SQL = "SHOW ENGINE INNODB MUTEX"
RWLOCKS = {"dict0dict.cc": "index_lock_waits", "buf0buf.cc": "page_lock_waits"}
CONTENTION_SQL = (
    "SELECT name, count FROM information_schema.innodb_metrics "
    f"WHERE name IN ({', '.join(repr(name) for name in (*CONTENTION, COUNTS_RWLOCKS))}) "
    "AND time_enabled IS NOT NULL AND @@default_storage_engine = 'InnoDB'"
)

COUNTERS_SQL = tuple(f"SHOW GLOBAL STATUS LIKE '{it}'" for it in ("Questions", "Handler_commit"))
#: Tables of the database whose storage engine has no transactions.
WITHOUT_COMMITS_SQL = (
    "SELECT COUNT(*) FROM information_schema.tables t JOIN information_schema.engines e "
    "ON e.engine = t.engine WHERE t.table_schema = DATABASE() AND e.transactions <> 'YES'"
)


#: A part of a column (`sub_part`), or an expression, is no column.
KEYS = """
SELECT 'unique', index_name, CONCAT('`', REPLACE(table_name, '`', '``'), '`'),
  IF(sub_part IS NULL, CONCAT('`', REPLACE(column_name, '`', '``'), '`'), NULL), NULL, NULL,
  table_name AS t, index_name AS k, seq_in_index AS n
FROM information_schema.statistics WHERE table_schema = DATABASE() AND non_unique = 0
UNION ALL
SELECT 'foreign', constraint_name, CONCAT('`', REPLACE(table_name, '`', '``'), '`'),
  CONCAT('`', REPLACE(column_name, '`', '``'), '`'),
  CONCAT('`', referenced_table_schema, '`.`', REPLACE(referenced_table_name, '`', '``'), '`'),
  CONCAT('`', REPLACE(referenced_column_name, '`', '``'), '`'),
  table_name, constraint_name, ordinal_position
FROM information_schema.key_column_usage
WHERE table_schema = DATABASE() AND referenced_table_name IS NOT NULL
ORDER BY 1, t, k, n
"""


CHECKS = """
SELECT CONCAT('table ', table_name),
  CONCAT('CHECK TABLE `', REPLACE(table_name, '`', '``'), '` EXTENDED')
FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' ORDER BY 1
"""


class WeighsServer:
    _ask: Ask
    integrity: ClassVar[dict[str, str]] = {}
    keys_sql: ClassVar[str] = KEYS
    deep: ClassVar[str] = "every page and index by CHECK TABLE … EXTENDED"
    deep_sql: ClassVar[tuple[str, ...]] = (CHECKS,)

    def count_work(self, server: Server, after_disconnect: bool) -> dict[str, int]:
        """`Questions`: statements that clients sent, as text or prepared, without the preparing and
        closing of them. Open connections are counted in. `Handler_commit`: commits of storage
        engines that have transactions, one or more for each of a client's.
        """
        if "status" in server.lacks:
            return {}
        questions, commits = self._ask(server.session, COUNTERS_SQL)
        found = {"statements": int(questions[0][1] or 0)} if questions else {}
        if not commits or (after_disconnect and self._has_tables_without_commits(server)):
            return found
        return found | {"commits": int(commits[0][1] or 0)}

    def _has_tables_without_commits(self, server: Server) -> bool:
        """Return whether there are such tables, or that is not known."""
        with suppress(DynoError):
            (rows,) = self._ask(server.session, [WITHOUT_COMMITS_SQL])
            return rows[0][0] != "0"
        return True

    def count_contention(self, server: Server) -> dict[str, int]:
        """Splits of index pages, which servers count that we start (`innodb_monitor_enable`) and
        that know them (MySQL 5.6.14 does not), waits for a lock on a row, and sleeps for the
        locks of indexes' trees and of pages; the latter of servers that we start.
        """
        if "information_schema" in server.lacks:
            return {}
        (rows,) = self._ask(server.session, [CONTENTION_SQL])
        told = {str(name): int(count or 0) for name, count in rows}
        counted = {name: told[metric] for metric, name in CONTENTION.items() if metric in told}
        # the question walks over all locks of the buffer pool: too much for a user's large server
        is_asked = server.handle is not None and COUNTS_RWLOCKS in told
        return counted | (self._count_rwlocks(server) if is_asked else {})

    def _count_rwlocks(self, server: Server) -> dict[str, int]:
        """A row for each lock that was slept for: `rwlock: dict0dict.cc:2555`, `waits=427`."""
        (rows,) = self._ask(server.session, [RWLOCKS_SQL])
        found = dict.fromkeys(RWLOCKS.values(), 0)
        for _, lock, waits in rows:
            place = str(lock).rpartition(" ")[2].partition(":")[0]
            if place in RWLOCKS:
                found[RWLOCKS[place]] += int(str(waits).rpartition("=")[2])
        return found

    def weigh(
        self, server: Server, requested: dict[str, str], reported: dict[str, str]
    ) -> DataCondition:
        """Return the files of the tables, the cache of their storage engine, what a commit
        survives.

        Sizes of files, since the server's own numbers are estimates, outdated in 8.0. Of a server
        that runs already only the settings are known.
        """
        storage = reported.get("default_storage_engine", "").lower()
        autocommit = self._read_autocommit(server) or reported.get("autocommit", "")
        decided_by = {name: reported[name] for name in _list_deciding_names(storage, reported)}
        decided_by |= {"autocommit": "OFF"} if autocommit in OFF else {}
        safety = _rank_safety(storage, reported)
        survives = "" if safety is None else SURVIVES[safety]
        autocommits = autocommit not in OFF if autocommit else None
        cache = reported.get(CACHES.get(storage, ""), "")
        cache_bytes = int(cache) if cache.isdigit() else None
        if server.handle is None:
            return DataCondition(
                cache_bytes=cache_bytes,
                survives=survives,
                decided_by=decided_by,
                autocommits=autocommits,
            )
        files = (file for folder in FOLDERS for file in (server.home / folder).rglob("*"))
        return DataCondition(
            size_bytes=sum(file.stat().st_size for file in files if file.is_file()),
            cache_bytes=cache_bytes,
            claim="" if "config" in requested else CLAIMS[requested.get("profile", "cached")],
            survives=survives,
            decided_by=decided_by,
            autocommits=autocommits,
        )

    def _read_autocommit(self, server: Server) -> str:
        """Return the value of a session like the driver's, which `init_connect` may have set, or
        "".
        """
        with suppress(DynoError):
            answers = self._ask(server.session, ["SELECT @@SESSION.autocommit"])
            return next((str(row[0]) for rows in answers for row in rows), "")
        return ""


def estimate_needed_bytes(values: Mapping[str, str], storage: str, connections: int) -> int:
    """Memory of a server that starts with the variables `values`; `storage` is empty for its own
    choice.
    """
    engine = storage or values.get("default_storage_engine", "")
    cache = numbers.parse_size_bytes(values.get(CACHES.get(engine.lower(), ""), "0")) or 0.0
    watched = values.get("performance_schema", "FALSE").upper() in ("TRUE", "ON", "1")
    return round(cache) + SERVER_BYTES + connections * CONNECTION_BYTES + watched * SCHEMA_BYTES


def _list_deciding_names(storage: str, reported: Mapping[str, str]) -> Iterator[str]:
    names = ["default_storage_engine", FLUSHED.get(storage, "")]
    names += ["innodb_doublewrite", "innodb_flush_method"] if storage == "innodb" else []
    names += ["sync_binlog"] if reported.get("log_bin", "OFF") in ON else []
    return (name for name in names if name in reported)


def _rank_safety(storage: str, told: Mapping[str, str]) -> int | None:
    """The place in `SURVIVES`; None where a setting that decides of it is not told.

    Without the doublewrite buffer a power cut may tear pages (8.0's DETECT_ONLY tells it, and
    mends none), and a flush method that never flushes leaves all to the kernel. Where a binary log
    is written, a commit is as safe as that is.
    """
    if not storage:
        return None
    if storage not in FLUSHED:
        return 0
    flushed, logged = told.get(FLUSHED[storage]), told.get("log_bin", "OFF") in ON
    if flushed is None or (storage == "innodb" and "innodb_doublewrite" not in told):
        return None
    if storage == "innodb" and told["innodb_doublewrite"].upper() in UNREPAIRED:
        return 1
    if storage == "innodb" and told.get("innodb_flush_method", "").lower() in UNFLUSHED:
        return 1
    waits = flushed in EACH_COMMIT and (not logged or told.get("sync_binlog") == "1")
    return 3 if waits else 2


#: Commands of sessions that work on no statement.
IDLE = frozenset({"Sleep", "Daemon", "Connect", "Binlog Dump", "Binlog Dump GTID"})
#: States without the word "lock" in them, by the kind that they are of.
KINDS: dict[str, WaitKind] = {
    "waiting for table flush": "locks",
    "waiting for tables": "locks",
    "user lock": "locks",
    "user sleep": "other",
    "waiting for handler commit": "commit",
    "commit": "commit",
    "query end": "commit",
    "writing to net": "client",
    "receiving from client": "client",
    "sending to client": "client",
    "reading from net": "client",
}
#: What our own question is at.
QUESTION = "SHOW PROCESSLIST"


class TellsMysqlWaits:
    waits_sql: ClassVar[str] = QUESTION
    counted_as: ClassVar[tuple[str, ...]] = ("statements",)

    def extract_waits(self, rows: list[list[str | None]]) -> list[SessionState]:
        """A state for each that sessions were met in; the session that asks is left out."""
        met = Counter(
            (row[6] or "").lower()
            for row in rows
            if row[4] not in IDLE and row[7] not in (None, QUESTION)
        )
        return [SessionState(_find_kind(state), state, count) for state, count in met.items()]


def _find_kind(state: str) -> WaitKind:
    """Return the kind of a wait; an unknown one counts as a wait, too."""
    if known := KINDS.get(state):
        return known
    if state == "system lock" or (state.startswith("waiting for") and "lock" in state):
        return "locks"
    if state.startswith("waiting for semi-sync ack"):
        return "commit"
    return "other" if state.startswith("waiting") else "running"


#: A counter to the variables of SHOW STATUS whose sum it is: one storage engine's each.
VARIABLES = {
    "pages_read": ("Innodb_buffer_pool_reads", "Rocksdb_block_cache_miss"),
    "page_requests": (
        "Innodb_buffer_pool_read_requests",
        "Rocksdb_block_cache_hit",
        "Rocksdb_block_cache_miss",
    ),
    "rows_read": ("Innodb_rows_read", "Rocksdb_rows_read"),
    "full_scans": ("Select_scan", "Select_full_join"),
    "sorted_rows": ("Sort_rows",),
    "temporary_tables": ("Created_tmp_tables",),
    "temporary_disk_tables": ("Created_tmp_disk_tables",),
    "log_bytes": ("Innodb_os_log_written", "Rocksdb_wal_bytes"),
    "fsyncs": ("Innodb_data_fsyncs", "Rocksdb_wal_synced"),
}
#: What taking the server's own mutexes and read-write locks took, where performance_schema times it
#: (`performance_schema_instrument=wait/synch/…=on`); with the taking of those that were free.
LATCHES_SQL = (
    "SELECT SUM(sum_timer_wait) DIV 1000000 FROM"
    " performance_schema.events_waits_summary_global_by_event_name"
    " WHERE event_name LIKE 'wait/synch/%' AND event_name NOT LIKE 'wait/synch/cond/%'"
    " AND count_star > 0"
)
#: In ms, and counted when a wait is over.
ROW_LOCK_TIME = "Innodb_row_lock_time"
_NAMES = sorted({ROW_LOCK_TIME, *(name for names in VARIABLES.values() for name in names)})
INTERNALS_SQL = (
    f"SHOW GLOBAL STATUS WHERE Variable_name IN ({', '.join(repr(name) for name in _NAMES)})"
)


class CountsMysqlInternals:
    _ask: Ask

    def count_internals(self, server: Server) -> dict[str, int]:
        if "status" in server.lacks:
            return {}
        (rows,) = self._ask(server.session, [INTERNALS_SQL])
        told = {str(name).lower(): int(value or 0) for name, value in rows}
        waited = told.get(ROW_LOCK_TIME.lower())
        found = {} if waited is None else {"lock_wait_us": 1000 * waited}
        found |= self._count_latches(server)
        return found | {
            counter: sum(told.get(name.lower(), 0) for name in names)
            for counter, names in VARIABLES.items()
            if any(name.lower() in told for name in names)
        }

    def _count_latches(self, server: Server) -> dict[str, int]:
        """Return nothing if they are not timed, or may not be read."""
        with suppress(DynoError):
            (rows,) = self._ask(server.session, [LATCHES_SQL])
            timed = [int(us) for row in rows for us in row if us is not None]
            return {"latch_wait_us": sum(timed)} if timed else {}
        return {}
