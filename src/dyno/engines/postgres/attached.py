"""PostgreSQL's side of a server that runs already: its socket, its password, what it may do."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dyno.access import url
from dyno.access.listening import find_server_pid
from dyno.access.url import Address
from dyno.builds import Build
from dyno.driver.plan import Session
from dyno.engines import Ask, Server
from dyno.engines.postgres.client_files import PORT, find_password, read_defaults
from dyno.engines.postgres.in_place import look_in_place
from dyno.errors import UsageError
from dyno.workloads.replay.in_place import ServerRules

#: The server's program, and the keys of a URL that are this server's alone.
PROGRAMS = ("postgres", "postmaster")
FLAGS = {
    **url.FLAGS,
    "service": ("", "of a URL: a section of pg_service.conf, whose words fill in what is missing"),
    "passfile": ("", "of a URL: a file of passwords in the place of ~/.pgpass"),
}
#: Where distributions put the socket.
SOCKETS = Path("/var/run/postgresql")
VERSION = re.compile(r"PostgreSQL (\S+)")
#: Its name and version; whether it refuses to write; whether we may make tables.
ASKED = [
    "SELECT version()",
    "SHOW transaction_read_only",
    "SELECT has_schema_privilege(current_schema(), 'CREATE')",
]
#: The tables where a new one goes that names no schema; not views, which extensions bring along.
LISTED = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1"


def attach_server(ask: Ask, build: str, flags: Mapping[str, str]) -> Build:
    """The server at this URL, asked for its version.

    `UsageError` where it does not let us in, or not write into the database; where its URL says
    that nothing is written, if it did not make the session read-only.
    """
    found = locate_server(build, flags)
    at = url.parse_url(found.name, PORT)
    said, read_only, may = url.read_fields("PostgreSQL", ASKED, ask(make_session(found), ASKED))
    if url.is_read_only(found):
        if read_only != "on":
            raise _build_not_kept_error(at.host)
    elif read_only == "on":
        hint = "name the primary server, or a database that may be written to"
        raise UsageError(f"the database '{at.database}' is read-only", hint=hint)
    elif may not in ("t", "true"):
        hint = f"GRANT CREATE ON SCHEMA public TO {at.user}, or name a database of that user's"
        raise UsageError(f"'{at.user}' may make no tables in '{at.database}'", hint=hint)
    version = VERSION.match(said)
    return replace(
        found,
        version=version[1] if version else " ".join(said.split()[:3]),
        facts=found.facts | {"server": said},
    )


#: What says whether a session only reads.
KEPT_ASKED = "SHOW default_transaction_read_only"


def check_kept(ask: Ask, session: Session) -> None:
    """`UsageError` where a session that was opened to read only was not made so: a pooler drops
    what is told at log-in, and what is set later stays in sessions that it hands to others.
    """
    ((told,),) = ask(session, [KEPT_ASKED])[0]
    if told != "on":
        raise _build_not_kept_error(str(session["host"]))


def _build_not_kept_error(host: str) -> UsageError:
    return UsageError(
        f"the server at {host} did not make the session read-only",
        cause="default_transaction_read_only was set to on and reads off",
        hint="a pooler may drop the setting: name the server itself",
    )


def locate_server(build: str, flags: Mapping[str, str]) -> Build:
    """The server at this URL as a build, not asked for anything yet."""
    defaults = read_defaults(os.environ, flags.get("service", ""))
    words = {name: value for name, value in defaults.items() if name in url.FLAGS}
    merged = words | {name: value for name, value in flags.items() if value}
    url.check_url(build, merged, {})
    at = url.parse_url(build, PORT, defaults)
    password = at.password or find_password(at, flags.get("passfile") or defaults.get("passfile"))
    return url.describe_attached_build("postgres", _with_socket(at), merged, password)


FREE_CONNECTIONS = (
    "SELECT current_setting('max_connections')::int"
    " - current_setting('superuser_reserved_connections')::int"
)


class PostgresTables:
    """The verbs of a server that runs already (`engines.Attaches`)."""

    _ask: Ask

    def list_tables(self, build: Build) -> list[str]:
        """Every table where a new one goes that names no schema, by name."""
        return [str(name) for (name,) in self._ask(make_session(build), [LISTED])[0]]

    def read_connection_limit(self, build: Build) -> int:
        """How many connections it lets in at once, without those reserved for superusers."""
        ((said,),) = self._ask(make_session(build), [FREE_CONNECTIONS])[0]
        return int(said or 0)

    def read_rules(self, build: Build) -> ServerRules:
        """What it may be asked in place."""
        return look_in_place(self._ask, make_session(build))

    def drop(self, build: Build, tables: Sequence[str]) -> None:
        """Drops these tables, all or none, with the views on them."""
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in tables)
        self._ask(make_session(build), [f"DROP TABLE IF EXISTS {quoted} CASCADE"])


def describe_attached_server(build: Build, home: Path) -> Server:
    """The server as it runs; its process is known where it listens on this machine."""
    session = make_session(build)
    return Server(session, home, find_server_pid(session, PROGRAMS))


#: A question that fails unless the session only reads, in UTF-8 and in limited time.
STILL_READING = (
    "SELECT 1 / (current_setting('transaction_read_only') = 'on'"
    " AND current_setting('default_transaction_read_only') = 'on'"
    " AND current_setting('statement_timeout') <> '0'"
    " AND current_setting('client_encoding') = 'UTF8')::int"
)


def make_session(build: Build) -> Session:
    """How the driver reaches it."""
    login = url.read_login(build)
    if not url.is_read_only(build):
        return login.to_session("postgres")
    # told with the start-up message, so that RESET and DISCARD ALL come back to it
    limit = ("statement_timeout", f"{url.find_time_limit_s(build)}s")
    settings = [("default_transaction_read_only", "on"), limit]
    reads_only = {"limit_ms": 0, "question": STILL_READING}
    return login.to_session("postgres", settings=settings, reads_only=reads_only)


def _with_socket(at: Address) -> Address:
    """The address with the socket's own path for its folder, as libpq would make it."""
    host = at.host or (str(SOCKETS) if SOCKETS.is_dir() else "localhost")
    return replace(at, host=f"{host}/.s.PGSQL.{at.port}" if Path(host).is_dir() else host)
