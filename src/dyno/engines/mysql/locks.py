"""What a server of MySQL's family tells of its locks: mutexes, read-write locks and user-level
locks, by performance_schema, which has to be started with them (`lock_settings`).

Timing each acquisition costs the server CPU time, and a lock is held longer by what its release
records: plays that measure CPU time are without it. What a free lock takes is in each wait; the
fastest one of a lock is taken from all of them. Row locks are in no table by holder; InnoDB counts
waits for them (`lock_wait_us` of probe `work`).
"""

from __future__ import annotations

from typing import ClassVar

from dyno.engines import BESIDE, Ask, LockQuestions, Server
from dyno.errors import TrialFailed

TABLES_SQL = (
    "SELECT LOWER(table_name) FROM information_schema.tables"
    " WHERE table_schema = 'performance_schema' AND table_name IN ('mutex_instances',"
    " 'rwlock_instances', 'metadata_locks', 'events_waits_summary_by_instance')"
)
#: What works at once: no user-level lock is recorded without the first, and no wait that goes on
#: without the second.
RECORD_SQL = (
    "UPDATE performance_schema.setup_instruments SET enabled = 'YES', timed = 'YES'"
    " WHERE name = 'wait/lock/metadata/sql/mdl'",
    "UPDATE performance_schema.setup_consumers SET enabled = 'YES'"
    " WHERE name = 'events_waits_current'",
)
RECORDED_SQL = (
    "SELECT enabled FROM performance_schema.setup_consumers WHERE name = 'events_waits_current'"
)
#: A thread that waits for a condition is still shown as its mutex's holder.
_HELD = (
    "SELECT SUBSTRING(i.name, 12), '{kind}', CAST(i.object_instance_begin AS CHAR), 1, 0"
    " FROM performance_schema.{table} i JOIN performance_schema.threads t"
    " ON t.thread_id = i.{column} WHERE i.{column} IS NOT NULL"
    " AND t.type = 'FOREGROUND' AND t.processlist_id <> CONNECTION_ID() AND NOT EXISTS"
    " (SELECT 1 FROM performance_schema.events_waits_current w WHERE w.thread_id = i.{column}"
    " AND w.event_name LIKE 'wait/synch/cond/%' AND w.end_event_id IS NULL)"
)
USER_LOCKS_SQL = (
    "SELECT CONCAT('user-level lock ', m.object_name), 'granted', '',"
    " SUM(m.lock_status = 'GRANTED'), SUM(m.lock_status <> 'GRANTED')"
    " FROM performance_schema.metadata_locks m WHERE m.object_type = 'USER LEVEL LOCK'"
    " GROUP BY m.object_name"
)
#: Where no table tells of them.
USER_WAITS_SQL = (
    "SELECT 'user-level lock', 'granted', '', 0, COUNT(*)"
    " FROM information_schema.processlist WHERE state = 'User lock' AND id <> CONNECTION_ID()"
)
HELD_SQL = {
    "mutex_instances": _HELD.format(
        kind="exclusive", table="mutex_instances", column="locked_by_thread_id"
    ),
    "rwlock_instances": _HELD.format(
        kind="exclusive", table="rwlock_instances", column="write_locked_by_thread_id"
    ),
    "metadata_locks": USER_LOCKS_SQL,
}
#: A read-write lock's readers and writers are one number; each of them writes its line.
_CLASS = (
    "SUBSTRING(s.event_name, 12), IF(s.event_name LIKE 'wait/synch/mutex/%', 'exclusive', 'shared')"
)
_WAITED = "(s.sum_timer_wait - s.count_star * s.min_timer_wait) DIV 1000"
_LOCKS = (
    "s.event_name LIKE 'wait/synch/%' AND s.event_name NOT LIKE 'wait/synch/cond/%'"
    " AND s.count_star > 0 AND s.event_name NOT LIKE '%/trx_mutex'"  # each transaction's own
)
COUNTED_SQL = (
    f"SELECT {_CLASS}, CAST(s.object_instance_begin AS CHAR), s.count_star, {_WAITED}"
    f" FROM performance_schema.events_waits_summary_by_instance s WHERE {_LOCKS}"
    f" UNION ALL SELECT {_CLASS}, '{BESIDE}', SUM(s.count_star), SUM({_WAITED})"
    " FROM performance_schema.events_waits_summary_by_thread_by_event_name s"
    " JOIN performance_schema.threads t ON t.thread_id = s.thread_id"
    f" WHERE (t.type = 'BACKGROUND' OR t.processlist_id = CONNECTION_ID()) AND {_LOCKS}"
    " GROUP BY s.event_name"
)
UNSEEN = (
    "row locks, which InnoDB counts itself (lock_wait_us)",
    "locks while background threads hold them",
    "spinning on atomics",
)
#: Old versions do not show a thread's number.
SHOWN_SQL = (
    "SELECT 1 FROM information_schema.columns WHERE table_schema = 'performance_schema'"
    " AND table_name = 'threads' AND column_name = 'thread_os_id'"
)
ASKER_SQL = (
    "SELECT thread_os_id FROM performance_schema.threads WHERE processlist_id = CONNECTION_ID()"
)
#: What is missing where a table is.
WITHOUT = {
    "metadata_locks": "how long user-level locks are held: this version does not tell",
    "mutex_instances": "who holds a mutex: the consumer events_waits_current is off",
}


class TellsMysqlLocks:
    _ask: Ask
    lock_settings: ClassVar[dict[str, str]] = {
        "performance_schema": "ON",
        "performance_schema_instrument": "wait/synch/%=ON",
    }

    def choose_lock_questions(self, server: Server) -> LockQuestions:
        """Raise `TrialFailed` where performance_schema is off; switch on what a server of ours
        does not record yet.
        """
        if server.handle is not None:
            self._ask(server.session, RECORD_SQL)
        asked = ("SELECT @@performance_schema", TABLES_SQL, RECORDED_SQL, SHOWN_SQL)
        switched, named, recorded, shown = self._ask(server.session, asked)
        if switched != [["1"]]:
            hint = "performance_schema=ON and performance_schema_instrument='wait/synch/%=ON'"
            raise TrialFailed("performance_schema is off, and tells of no locks", hint=hint)
        tables = {name for row in named for name in row}
        tables -= set() if recorded == [["YES"]] else {"mutex_instances", "rwlock_instances"}
        held = [sql for name, sql in HELD_SQL.items() if name in tables]
        held += [] if "metadata_locks" in tables else [USER_WAITS_SQL]
        missing = (told for name, told in WITHOUT.items() if name not in tables)
        asker = ASKER_SQL if server.handle is not None and shown else ""
        quoted = " UNION ALL ".join(held).replace("'", "''")
        prepare = (f"PREPARE dyno_locks FROM '{quoted}'",)
        unseen = (*UNSEEN, *missing)
        return LockQuestions(prepare, "EXECUTE dyno_locks", COUNTED_SQL, asker, unseen)
