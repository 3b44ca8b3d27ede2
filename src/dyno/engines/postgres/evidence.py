"""What a PostgreSQL reports of itself: data, durability, the transactions that it counted, its own
work under the names of probe `work`, and what its sessions are at.

A backend adds what it did to the shared count when it falls idle, but at most once a second, and
when it ends. So while connections are open up to a second of each is missing, and the count is
whole once their backends are gone. Before 15 a backend tells a collector by UDP (before it is gone,
and in order), which writes a file when asked, unless one of the last 500 ms lies there: that
one is told by its own time. And UDP may drop (docs/evidence/code-choices.md).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import ClassVar

from dyno import numbers
from dyno.engines import SURVIVES, Ask, Server
from dyno.engines.postgres.settings import CLAIMS
from dyno.errors import TrialFailed
from dyno.record import DataCondition
from dyno.record.waits import SessionState, WaitKind

#: From here on backends count in shared memory, and the time of a snapshot is not told.
EXACT = 15
#: What our connections call themselves (the driver's session), and the server's own clock.
GONE = (
    "SELECT current_setting('server_version_num'), count(*), clock_timestamp() "
    "FROM pg_stat_activity WHERE application_name = 'dyno' "
    "AND datname = current_database() AND pid <> pg_backend_pid()"
)
#: The count, and whether it is of that time or later. It is asked for only then, so that the count
#: holds all of a backend that was not seen any more, and asking made no file that is too old.
COUNT = (
    "SELECT xact_commit, xact_rollback, pg_stat_get_snapshot_timestamp() < '{}' "
    "FROM pg_stat_database WHERE datname = current_database()"
)
#: Backends end within milliseconds, and a collector's file is old after 500; a pooler keeps them.
PATIENCE_S = 5.0
#: Every question is a transaction, and a process of the driver's: five to a file, not fifty.
PAUSE_S = 0.1


class CountsTransactions:
    """The verb that asks for the server's own count; `patience_s` is what it may take to settle."""

    _ask: Ask
    patience_s: float = PATIENCE_S

    def count_work(self, server: Server, after_disconnect: bool) -> dict[str, int]:
        """Return transactions that were committed or rolled back in the database, and the first
        alone; without parallel workers', with autovacuum's. Empty if the driver's backends do not
        end, or the server does not publish the count.
        """
        until_s = time.monotonic() + self.patience_s
        if "pg_stat_database" in server.lacks:
            return {}
        version, backends, now = _ask_row(self._ask, server, GONE)
        while after_disconnect and backends != "0" and time.monotonic() < until_s:
            time.sleep(0.01)
            version, backends, now = _ask_row(self._ask, server, GONE)
        committed, rolled_back, is_old = _ask_row(self._ask, server, COUNT.format(now))
        while is_old == "t" and time.monotonic() < until_s:
            time.sleep(PAUSE_S)
            committed, rolled_back, is_old = _ask_row(self._ask, server, COUNT.format(now))
        if (after_disconnect and backends != "0") or is_old == "t":
            return {}
        exact = int(version or 0) >= EXACT * 10_000
        commits = int(committed or 0)
        unit = "transactions" if exact else "collected_transactions"
        return {unit: commits + int(rolled_back or 0), "commits": commits}


def _ask_row(ask: Ask, server: Server, question: str) -> list[str | None]:
    """Return the one row of an answer; raise `TrialFailed` if there is none: a server that only
    speaks the protocol may have the table and keep nothing in it.
    """
    (rows,) = ask(server.session, [question])
    if len(rows) != 1:
        raise TrialFailed(f"the server answers '{question[:60]} …' with {len(rows)} rows")
    return rows[0]


SIZES = (
    "SELECT pg_database_size(current_database()), pg_size_bytes(current_setting('shared_buffers')),"
    " (SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relpersistence = 'u')"
)
#: What decides of a commit's safety (PostgreSQL's documentation, "Reliability").
DECIDING = ("fsync", "full_page_writes", "synchronous_commit")


def weigh_database(
    ask: Ask, server: Server, requested: Mapping[str, str], reported: Mapping[str, str]
) -> DataCondition:
    """The database as the server weighs it. One that runs already is not asked: it claims nothing,
    and what speaks its protocol need not know the functions.
    """
    decided_by = {name: reported.get(name, "").partition(" ")[0] for name in DECIDING}
    survives = SURVIVES[_rank_safety(decided_by)] if all(decided_by.values()) else ""
    if server.handle is None:
        size = numbers.parse_size_bytes(reported.get("shared_buffers", "").partition(" (")[0])
        cache_bytes = int(size) if size else None
        return DataCondition(
            cache_bytes=cache_bytes, survives=survives, decided_by=decided_by, autocommits=True
        )
    (((data, cache, unlogged),),) = ask(server.session, [SIZES])
    if unlogged != "0":  # a crash empties them, and their commits wait for nothing
        survives, decided_by = SURVIVES[0], decided_by | {"unlogged tables": str(unlogged)}
    claim = "" if "config" in requested else CLAIMS[requested.get("profile", "cached")]
    sizes = int(data or 0), int(cache or 0)
    return DataCondition(*sizes, claim, survives, decided_by, autocommits=True)


def _rank_safety(settings: Mapping[str, str]) -> int:
    """Return the place in `SURVIVES`: a power cut may tear pages, or they are only in memory."""
    if settings["fsync"] == "off" or settings["full_page_writes"] == "off":
        return 1
    return 2 if settings["synchronous_commit"] == "off" else 3


#: Of all tables of users; keys that ranges are part of, and those not validated, say less.
KEYS = """
SELECT CASE c.contype WHEN 'f' THEN 'foreign' ELSE 'unique' END, c.conname, c.conrelid::regclass,
  quote_ident(a.attname), CASE WHEN c.contype = 'f' THEN c.confrelid::regclass END,
  quote_ident(b.attname)
FROM pg_constraint c
CROSS JOIN LATERAL unnest(c.conkey, c.confkey) WITH ORDINALITY k(own, other, at)
JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.own
LEFT JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = k.other
WHERE c.contype IN ('p', 'u', 'f') AND c.convalidated
  AND to_jsonb(c)->>'conperiod' IS DISTINCT FROM 'true'
  AND c.connamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
ORDER BY c.oid, k.at
"""
#: What amcheck looks at of everybody's tables and B-trees; what a version cannot has no question:
#: indexes against their rows since 11, rows since 14. A function of no value answers an empty text.
CHECKS = """
SELECT 'index ' || c.oid::regclass, CASE WHEN to_regprocedure('bt_index_check(regclass,boolean)')
  IS NOT NULL THEN format('SELECT bt_index_check(%L::regclass, true)', c.oid::regclass) END
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
WHERE a.amname = 'btree' AND i.indisvalid AND c.relpersistence <> 't'
  AND c.relnamespace::regnamespace::text !~ '^pg_|^information_schema$' AND c.relkind = 'i'
UNION ALL
SELECT 'rows of ' || c.oid::regclass, CASE WHEN EXISTS
  (SELECT 1 FROM pg_proc WHERE proname = 'verify_heapam') THEN
  format('SELECT blkno, offnum, attnum, msg FROM verify_heapam(%L::regclass)', c.oid::regclass) END
FROM pg_class c WHERE c.relkind IN ('r', 'm') AND c.relpersistence <> 't'
  AND c.relnamespace::regnamespace::text !~ '^pg_|^information_schema$'
ORDER BY 1
"""


#: Those that work on a statement: who waits for the client's next word (ClientRead) does not.
WAITS_SQL = (
    "SELECT coalesce(wait_event_type, ''), coalesce(wait_event, ''), count(*) "
    "FROM pg_stat_get_activity(NULL) WHERE state IN ('active', 'fastpath function call') "
    "AND pid <> pg_backend_pid() AND coalesce(wait_event, '') <> 'ClientRead' "
    "AND backend_type IN ('client backend', 'parallel worker') "
    "AND datid = (SELECT oid FROM pg_database WHERE datname = current_database()) GROUP BY 1, 2"
)
#: `wait_event_type` to a kind; no type: it runs.
KINDS: dict[str, WaitKind] = {
    "": "running",
    "Lock": "locks",
    "LWLock": "latches",
    "BufferPin": "latches",
    "Buffer": "latches",
    "IO": "files",
    "IPC": "processes",
    "Client": "client",
}


class TellsPostgresWaits:
    waits_sql: ClassVar[str] = WAITS_SQL
    counted_as: ClassVar[tuple[str, ...]] = ("transactions", "collected_transactions", "commits")

    def extract_waits(self, rows: list[list[str | None]]) -> list[SessionState]:
        """A state for each wait event met; without one a session runs."""
        return [
            SessionState(KINDS.get(str(kind), "other"), str(event), int(count or 0))
            for kind, event, count in rows
        ]


#: Read from files, and asked for at all: of the database's own tables, which our questions spare.
_READ = "heap_blks_read + coalesce(idx_blks_read, 0)"
_HIT = "heap_blks_hit + coalesce(idx_blks_hit, 0)"
_ROWS = "seq_tup_read + coalesce(idx_tup_fetch, 0)"
#: By counter: the question, and the first and last version that can answer it.
COLUMNS = (
    ("pages_read", f"(SELECT sum({_READ}) FROM pg_statio_user_tables)", 10, None),
    ("page_requests", f"(SELECT sum({_READ} + {_HIT}) FROM pg_statio_user_tables)", 10, None),
    ("rows_read", f"(SELECT sum({_ROWS}) FROM pg_stat_user_tables)", 10, None),
    ("full_scans", "(SELECT sum(seq_scan) FROM pg_stat_user_tables)", 10, None),
    ("temporary_bytes", "d.temp_bytes", 10, None),
    ("log_bytes", "pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')", 10, None),
    ("fsyncs", "(SELECT wal_sync FROM pg_stat_wal)", 14, 17),
    ("fsyncs", "(SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal')", 18, None),
)
VERSION = "SELECT current_setting('server_version_num')::int / 10000"


class CountsPostgresInternals:
    _ask: Ask

    def count_internals(self, server: Server) -> dict[str, int]:
        """Return those that its version counts; the log's bytes are of all databases, the rest of
        this one.
        """
        if "pg_stat_database" in server.lacks:
            return {}
        (version,) = _ask_row(self._ask, server, VERSION)
        wanted = {
            name: sql
            for name, sql, first, last in COLUMNS
            if first <= int(version or 0) <= (last or int(version or 0))
        }
        columns = ", ".join(wanted.values())
        question = f"SELECT {columns} FROM pg_stat_database d WHERE datname = current_database()"
        row = _ask_row(self._ask, server, question)
        return {name: int(float(value or 0)) for name, value in zip(wanted, row, strict=True)}
