"""What is recorded of a PostgreSQL: its cumulative statistics, and pg_stat_statements where it is.

The columns are those of PostgreSQL 18 ("The Cumulative Statistics System" in its documentation);
what an older one calls otherwise is asked under its old name.
"""

from __future__ import annotations

from collections.abc import Sequence

from dyno.servers.watch.source import Row, WatchSource

#: In how many samples what moves slowly, or is dear, is asked.
SLOWLY = 10
CLOCK = "SELECT now(), extract(epoch FROM now() - pg_postmaster_start_time())::bigint"
BEGIN = ("SET TIME ZONE 'UTC'", "SET application_name = 'dyno watch'")
#: What we ask is not to be counted; only a superuser, or who was granted it, may say so.
UNCOUNTED = "SET pg_stat_statements.track = 'none'"
SKIP = "pid <> pg_backend_pid()"
#: Tables and views with their columns; an extension's may stand in any schema on the path.
COLUMNS = (
    "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
    " WHERE pg_table_is_visible(c.oid) AND a.attnum > 0 AND c.relname LIKE 'pg\\_stat%'"
)
REMARKS = (
    "SELECT 'pg_stat_statements is not installed in this database: its statements are not recorded"
    " (shared_preload_libraries, then CREATE EXTENSION pg_stat_statements)'"
    " WHERE to_regclass('pg_stat_statements') IS NULL"
)

_BLOCKS = (
    *(f"shared_blks_{what}" for what in ("hit", "read", "dirtied", "written")),
    *(f"local_blks_{what}" for what in ("hit", "read", "dirtied", "written")),
    *("temp_blks_read", "temp_blks_written", "wal_records", "wal_bytes"),
)


def _make_statements(ending: str, needs: str) -> WatchSource:
    """Name the columns of times, which had other names before version 13."""
    return WatchSource(
        "pg_stat_statements",
        ("pg_stat_statements",),
        keys=("query_key", "dbname", "username", "queryid"),
        counters=("calls", "exec_time_us", "rows", *_BLOCKS),
        values=("min_exec_us", "max_exec_us"),
        told=("query",),
        sql={
            "query_key": "md5(coalesce(d.datname, '') || chr(1) || query)",
            "dbname": "d.datname",
            "username": "pg_get_userbyid(userid)",
            # in whole µs, so that changes add up to the counters
            "exec_time_us": f"round(total_{ending} * 1000)::bigint",
            "min_exec_us": f"round(min_{ending} * 1000)::bigint",
            "max_exec_us": f"round(max_{ending} * 1000)::bigint",
        },
        joined="JOIN pg_database d ON d.oid = dbid",
        needs=needs,
        every=SLOWLY,
    )


_DATABASE = (
    *("xact_commit", "xact_rollback", "blks_read", "blks_hit", "tup_returned", "tup_fetched"),
    *("tup_inserted", "tup_updated", "tup_deleted", "conflicts", "temp_files", "temp_bytes"),
    *("deadlocks", "sessions"),
)
_TABLE = (
    *("seq_scan", "seq_tup_read", "idx_scan", "idx_tup_fetch", "n_tup_ins", "n_tup_upd"),
    *("n_tup_del", "n_tup_hot_upd", "vacuum_count", "autovacuum_count", "analyze_count"),
    "autoanalyze_count",
)
_ACTIVITY = {
    "pid": "pid",
    "query_us": "(extract(epoch FROM now() - query_start) * 1000000)::bigint",
    "transaction_us": "(extract(epoch FROM now() - xact_start) * 1000000)::bigint",
    "datname": "datname",
    "usename": "usename",
    "client": "coalesce(client_addr::text, 'local')",
    "state": "state",
    "wait": "wait_event_type || ':' || wait_event",
    "query": "left(query, 1000)",
}

SOURCES = (
    _make_statements("exec_time", "total_exec_time"),
    _make_statements("time", "total_time"),
    WatchSource(
        "pg_stat_database",
        ("pg_stat_database",),
        ("datname",),
        _DATABASE,
        ("numbackends",),
    ),
    WatchSource(
        "pg_stat_user_tables",
        ("pg_stat_user_tables",),
        ("schemaname", "relname"),
        _TABLE,
        ("n_live_tup", "n_dead_tup"),
        every=SLOWLY,
    ),
    WatchSource(
        "pg_stat_user_indexes",
        ("pg_stat_user_indexes",),
        ("schemaname", "relname", "indexrelname"),
        ("idx_scan", "idx_tup_read", "idx_tup_fetch"),
        every=SLOWLY,
    ),
    WatchSource(
        "pg_statio_user_tables",
        ("pg_statio_user_tables",),
        ("schemaname", "relname"),
        ("heap_blks_read", "heap_blks_hit", "idx_blks_read", "idx_blks_hit"),
        every=SLOWLY,
    ),
    WatchSource(
        "pg_stat_bgwriter",
        ("pg_stat_bgwriter",),
        counters=("buffers_clean", "maxwritten_clean", "buffers_alloc"),
        every=SLOWLY,
    ),
    WatchSource(
        "pg_stat_activity",
        ("pg_stat_activity",),
        values=tuple(_ACTIVITY)[:3],
        words=tuple(_ACTIVITY)[3:],
        sql=_ACTIVITY,
        # a process whose wait is an Activity has no work; a logical sender has its own word for it
        where="state <> 'idle' AND coalesce(wait_event_type, '') <> 'Activity'"
        " AND coalesce(wait_event, '') NOT ILIKE 'WalSenderWaitForWal'",
        sampled=True,
    ),
)


def compute_up_s(clock: Row, status: Sequence[Row]) -> float:
    del status
    return float(clock[1] or 0)
