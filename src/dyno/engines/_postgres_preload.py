"""Reads the tables and indexes of a PostgreSQL database into its shared buffers.

By pg_prewarm, which comes with the server. A plain scan would not do: of a table larger than a
quarter of the buffers it keeps only the last 256 kB there. Where the extension is missing (or the
server is not ours, and has not got it), the tables are scanned all the same, which leaves them in
the kernel's cache, and the record says that the buffers were not filled.
"""

from __future__ import annotations

from dyno.engines import Ask, Server
from dyno.engines._preloading import MISSED

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
