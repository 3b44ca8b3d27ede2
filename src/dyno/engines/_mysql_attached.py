"""MySQL's side of a server that runs already: its socket, its words for TLS, what it refuses."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dyno.builds import Build
from dyno.engines import Ask, Server, _attached, _mysql_writable
from dyno.engines._attached import Address
from dyno.errors import unknown
from dyno.plan import Session

PORT = 3306
#: Where distributions, and servers left to themselves, put the socket.
SOCKETS = ("/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock")
#: The client's modes and the driver's. PREFERRED is left out: it falls back to plain text.
MODES = {
    "disabled": "disable",
    "required": "require",
    "verify_ca": "verify-ca",
    "verify_identity": "verify-full",
}
#: The keys of a URL, as MySQL's own client calls them.
FLAGS = {
    "ssl-mode": ("", f"of a URL: {', '.join(MODES)}; required unless the server is on this host"),
    "ssl-ca": ("", "of a URL: a PEM file of authorities to trust in place of the system's"),
}
ASKED = ("SELECT VERSION()", "SELECT @@GLOBAL.read_only")
PROBE = _mysql_writable.PROBE
LISTED = (
    "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
    f" AND LEFT(table_name, {len(PROBE)}) <> '{PROBE}' ORDER BY 1"
)


def flags_of(flags: Mapping[str, str]) -> dict[str, str]:
    """The keys of a URL in the words that `_attached` knows; `UsageError` for any other."""
    said: dict[str, str] = {}
    if strange := set(flags) - set(FLAGS):
        raise unknown("build flag", min(strange), FLAGS)
    if mode := flags.get("ssl-mode"):
        if mode.lower() not in MODES:
            raise unknown("value of ssl-mode", mode, MODES)
        said["sslmode"] = MODES[mode.lower()]
    if ca := flags.get("ssl-ca"):
        said["sslrootcert"] = ca
    return said


def met(ask: Ask, engine: str, build: str, flags: Mapping[str, str]) -> Build:
    """The server at this URL, asked for its version, and its database tried.

    `UsageError` where it does not let us in, is read-only, or lets us make no tables there. The
    password is the URL's or, as MySQL's own clients have it, `MYSQL_PWD`.
    """
    at = _attached.address(build, PORT)
    password = at.password or os.environ.get("MYSQL_PWD")
    found = _attached.build(engine, _placed(at), flags_of(flags), password)
    version, read_only = (rows[0][0] or "" for rows in ask(_session(found), ASKED))
    if read_only not in ("0", "OFF"):
        raise _mysql_writable.read_only(at)
    _mysql_writable.check(ask, _session(found), at)
    told = {"assertions": "on" if "-debug" in version else "off"}
    facts = found.facts | told | {"server": version}
    return replace(found, version=version, facts=facts)


class Listed:
    """The verbs of a server that runs already (`engines.Attaches`)."""

    _ask: Ask

    def tables(self, build: Build) -> list[str]:
        """Every table and view of its database, by name."""
        return [str(name) for (name,) in self._ask(_session(build), [LISTED])[0]]

    def drop(self, build: Build, tables: Sequence[str]) -> None:
        """Drops these tables, those that are still there."""
        quoted = ", ".join(map(_mysql_writable.quoted, tables))
        self._ask(_session(build), [f"DROP TABLE IF EXISTS {quoted}"])


def server(build: Build, home: Path) -> Server:
    """The server as it runs; its process is known where it listens on a socket of this machine."""
    session = _session(build)
    host = str(session["host"])
    return Server(session, home, _attached.local_pid(host) if host.startswith("/") else None)


def _session(build: Build) -> Session:
    return _attached.login(build).session("mysql")


def _placed(at: Address) -> Address:
    """The address with a socket where it names no host, as MySQL's own clients would take."""
    there = next((path for path in SOCKETS if Path(path).exists()), "localhost")
    return at if at.host else replace(at, host=there)
