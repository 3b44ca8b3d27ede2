"""What a server of MySQL's family counts of its own work, under the names of probe `work`.

Scans and temporary tables of our own questions are among them, a handful a trial.
"""

from __future__ import annotations

from contextlib import suppress

from dyno.engines import Ask, Server
from dyno.errors import DynoError

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
COUNTERS_SQL = (
    f"SHOW GLOBAL STATUS WHERE Variable_name IN ({', '.join(repr(name) for name in _NAMES)})"
)


class CountsMysqlInternals:
    """The verb that asks for these counters."""

    _ask: Ask

    def count_internals(self, server: Server) -> dict[str, int]:
        """Those of which the server has a variable at all."""
        (rows,) = self._ask(server.session, [COUNTERS_SQL])
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
        """Nothing where they are not timed, or may not be read."""
        with suppress(DynoError):
            (rows,) = self._ask(server.session, [LATCHES_SQL])
            timed = [int(us) for row in rows for us in row if us is not None]
            return {"latch_wait_us": sum(timed)} if timed else {}
        return {}
