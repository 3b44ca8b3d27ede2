"""What PostgreSQL needs between writes and reads, as the insert benchmark defines it."""

from __future__ import annotations

from dyno.engines import Ask, Server

#: All tables, and who speaks: what only speaks the protocol has ANALYZE, and no VACUUM.
TABLES = [
    "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables "
    "WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1",
    "SELECT version()",
    "SHOW server_version_num",
]
#: Vacuum marks a page as visible to all only once the log has its last commit on disk, and commits
#: that do not wait get there late: one that waits, and has something to log, takes them along.
COMMITTED = [
    "SET synchronous_commit = on",
    "SELECT pg_logical_emit_message(true, 'dyno', 'settle')",
]
#: Below this, VACUUM has no word for cleaning the indexes whatever it costs.
INDEX_CLEANUP_SINCE = 12


def settle(ask: Ask, server: Server) -> None:
    """Vacuums and analyses every table, then writes all changed pages.

    A server that runs already writes its pages in its own time: a checkpoint is for all its
    databases, of which we have one.
    """
    tables, said, number = ask(server.session, TABLES)
    names = [str(name) for (name,) in tables]
    if not str(said[0][0]).startswith("PostgreSQL"):
        ask(server.session, [f"ANALYZE {name}" for name in names])
        return
    cleanup = int(number[0][0] or 0) >= INDEX_CLEANUP_SINCE * 10_000
    how = "ANALYZE, INDEX_CLEANUP ON" if cleanup else "ANALYZE"
    checkpoint = ["CHECKPOINT"] if server.handle else []
    ask(server.session, [*COMMITTED, *(f"VACUUM ({how}) {name}" for name in names), *checkpoint])
