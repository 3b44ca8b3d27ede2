"""What a PostgreSQL counts of its own work, under the names of probe `work`.

Its backends tell what they did at the end of a transaction, once a second at most, and when they
end: so these numbers are whole after they have ended, which `CountsTransactions` waits for.
"""

from __future__ import annotations

from dyno.engines import Ask, Server

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
    """The verb that asks for these counters."""

    _ask: Ask

    def count_internals(self, server: Server) -> dict[str, int]:
        """Those that its version counts; the log's bytes of everybody, all else of the database."""
        (((version,),),) = self._ask(server.session, [VERSION])
        wanted = {
            name: sql
            for name, sql, first, last in COLUMNS
            if first <= int(version or 0) <= (last or int(version or 0))
        }
        columns = ", ".join(wanted.values())
        question = f"SELECT {columns} FROM pg_stat_database d WHERE datname = current_database()"
        ((row,),) = self._ask(server.session, [question])
        return {name: int(float(value or 0)) for name, value in zip(wanted, row, strict=True)}
