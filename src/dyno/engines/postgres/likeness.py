"""The settings of a PostgreSQL that runs already, for one that is to run like it."""

from __future__ import annotations

import re

from dyno.builds import Build
from dyno.driver.plan import Session
from dyno.engines import Ask
from dyno.engines._server import libraries, process
from dyno.engines.postgres.settings import OURS, STOCK, TABLE, UNTOUCHABLE

#: Groups of settings that decide how fast it is: also what it logs and counts, but not where.
#: Left out are those of connections and identity, of replication, archives and clients: they belong
#: to the place where it runs.
GROUPS = (
    "Autovacuum",
    "Lock Management",
    "Query Tuning",
    "Reporting and Logging / What to Log",
    "Reporting and Logging / When to Log",
    "Resource Usage",
    "Statistics",
    "Vacuuming",
    "Write-Ahead Log / Checkpoints",
    "Write-Ahead Log / Settings",
)
#: Where somebody set a value; our own connection's (client, session) are none.
SET_BY = ("configuration file", "command line", "global", "database", "user", "database user")
ASKED = (
    "SELECT name, current_setting(name, true), source, category FROM pg_settings "
    "WHERE context <> 'internal' OR name = 'data_checksums' ORDER BY name"
)


def liken_settings(ask: Ask, running: Session, build: Build) -> dict[str, str]:
    """What was set there, and what it has where our profiles have a value: those that `build`
    knows, over PostgreSQL's own defaults.
    """
    more = libraries.build_environment(build.libraries)
    told = process.ask_program([str(build.program), "--describe-config"], more)
    known = {*OURS, *re.findall(r"^\w+", told, re.M)} - UNTOUCHABLE
    found = {
        str(name): value or ""
        for name, value, source, group in ask(running, [ASKED])[0]
        if name in TABLE
        or name == "data_checksums"
        or (source in SET_BY and str(group).startswith(GROUPS))
    }
    return {"profile": STOCK} | {name: value for name, value in found.items() if name in known}
