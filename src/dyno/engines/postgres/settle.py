"""The pause between writes and reads, as the insert benchmark defines it; and warming the cache.

Tables and indexes are read into the shared buffers by pg_prewarm, which comes with the server. A
plain scan would not do: of a table larger than a quarter of the buffers it keeps only the last
256 kB there. Where the extension is missing (or the server is not ours, and has not got it), the
tables are scanned all the same, which leaves them in the kernel's cache, and the record says that
the buffers were not filled.
"""

from __future__ import annotations

from dyno.engines import MISSED, Ask, Server

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


#: Is the extension there to be made, or made already? Ours is made where it is not.
EXTENSION = (
    "SELECT installed_version IS NOT NULL FROM pg_available_extensions WHERE name = 'pg_prewarm'"
)
#: Tables, their indexes, and what they keep apart because it is long; not the server's own, which
#: have smaller numbers (FirstNormalObjectId), nor what another user has in this database.
RELATIONS = (
    "SELECT oid::regclass::text, relkind FROM pg_class WHERE oid >= 16384"
    " AND relkind IN ('r', 'i', 't', 'm') AND pg_relation_size(oid) > 0"
    " AND pg_has_role(relowner, 'USAGE') ORDER BY relkind, 1"
)
UNFILLED = "the tables were scanned into the kernel's cache: the database has no pg_prewarm"
#: Where the long values lie, and the index of that.
APART = "pg_toast."


def preload(ask: Ask, server: Server) -> dict[str, str]:
    """Reads all; answers how many tables and indexes that were, and how they were read."""
    extension, relations = ask(server.session, [EXTENSION, RELATIONS])
    warmed = bool(extension) and (extension[0][0] == "t" or server.handle is not None)
    if warmed and extension[0][0] != "t":
        ask(server.session, ["CREATE EXTENSION IF NOT EXISTS pg_prewarm"])
    for name, kind in relations:
        if warmed:
            quoted = str(name).replace("'", "''")
            ask(server.session, [f"SELECT pg_prewarm('{quoted}')"])
        elif kind in ("r", "m"):
            ask(server.session, [f"SELECT count(*) FROM {name}"])
    own = [kind for name, kind in relations if not str(name).startswith(APART)]
    tables, indexes = sum(kind in ("r", "m") for kind in own), own.count("i")
    if not warmed:
        return {"read": f"{tables} tables", MISSED: UNFILLED}
    return {"read": f"{tables} tables, {indexes} indexes by pg_prewarm"}
