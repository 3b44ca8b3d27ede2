"""What a PostgreSQL tells of its locks: by samples alone, since it counts no acquisitions.

Heavyweight locks (of tables, of their growth, advisory ones) show their holders. Of lightweight
locks, which guard shared memory, and of rows only those who wait for them are shown.
"""

from __future__ import annotations

from typing import ClassVar

from dyno.engines import LockQuestions, Server

#: Modes that exclude themselves: one holder at a time.
_MODES = (
    "('ShareUpdateExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')"
)
#: A lock that is released goes to who waits longest (`ProcLockWakeup`); a lightweight one goes to
#: whoever runs. Reading pg_locks takes the lock manager's own, and makes others wait for them.
PREPARE_SQL = f"""
PREPARE dyno_locks AS SELECT 'LWLock ' || wait_event, 'exclusive', '', 0, count(*)
FROM pg_stat_get_activity(NULL) WHERE wait_event_type = 'LWLock'
  AND wait_event NOT IN ('LockManager', 'lock_manager') AND pid <> pg_backend_pid()
  AND backend_type IN ('client backend', 'parallel worker') GROUP BY wait_event
UNION ALL SELECT CASE locktype WHEN 'advisory' THEN format('advisory lock %s %s', classid, objid)
  ELSE format('%s lock of %s', locktype, relation::regclass) END, 'granted', '',
  count(*) FILTER (WHERE granted), count(*) FILTER (WHERE NOT granted)
FROM pg_locks WHERE pid <> pg_backend_pid() AND mode IN {_MODES}
  AND locktype IN ('advisory', 'relation', 'extend')
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) GROUP BY 1
UNION ALL SELECT 'row lock', 'granted', '', 0, count(*) FROM pg_locks
WHERE NOT granted AND locktype IN ('transactionid', 'tuple') HAVING count(*) > 0
"""
UNSEEN = (
    "how long lightweight locks and row locks are held: only waits for them are shown",
    "waits for the lock manager's own locks, which our samples cause",
    "spin locks and atomics in shared memory",
)


class TellsPostgresLocks:
    lock_settings: ClassVar[dict[str, str]] = {}

    def choose_lock_questions(self, server: Server) -> LockQuestions:
        asker = "SELECT pg_backend_pid()" if server.handle is not None else ""
        return LockQuestions((PREPARE_SQL,), "EXECUTE dyno_locks", "", asker, UNSEEN)
