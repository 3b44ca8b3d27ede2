"""What a PostgreSQL counted of its clients' transactions, from version 15 on.

A backend adds what it did to the shared count when it falls idle, but at most once a second, and
when it ends. So while connections are open up to a second of each is missing, and the count is
whole once their backends are gone. Before 15 a collector was told by UDP, which may drop, and
wrote its numbers every half second: these are not asked.
"""

from __future__ import annotations

import time

from dyno.engines import Ask, Server

SINCE = 15
#: What our connections call themselves (the driver's session), and the count; in this order, so
#: that the count holds all of a backend that was not seen any more.
QUESTIONS = [
    "SHOW server_version_num",
    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dyno' "
    "AND datname = current_database() AND pid <> pg_backend_pid()",
    "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()",
]
#: Backends end within milliseconds; a pooler keeps them.
PATIENCE_S = 5.0


class Counted:
    """The verb that asks for the server's own count."""

    _ask: Ask

    def counted(self, server: Server, parted: bool) -> dict[str, int]:
        """Transactions that were committed or rolled back in the database, parallel workers' not;
        autovacuum's are among them. Nothing where the driver's backends do not end.
        """
        until_s = time.monotonic() + PATIENCE_S
        while True:
            version, backends, count = (
                int(rows[0][0] or 0) for rows in self._ask(server.session, QUESTIONS)
            )
            if version < SINCE * 10_000 or (parted and backends and time.monotonic() > until_s):
                return {}
            if not parted or not backends:
                return {"transactions": count}
            time.sleep(0.01)
