"""What PostgreSQL's sessions are at: `pg_stat_activity`, read without its joins."""

from __future__ import annotations

from typing import ClassVar

from dyno.record.waits import SessionState, WaitKind

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
    """The question, and its answer read."""

    waits_sql: ClassVar[str] = WAITS_SQL
    counted_as: ClassVar[tuple[str, ...]] = ("transactions", "collected_transactions", "commits")

    def extract_waits(self, rows: list[list[str | None]]) -> list[SessionState]:
        """A state for each wait event met; without one a session runs."""
        return [
            SessionState(KINDS.get(str(kind), "other"), str(event), int(count or 0))
            for kind, event, count in rows
        ]
