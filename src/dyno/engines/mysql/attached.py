"""A server of MySQL's family that runs already: its socket, its words for TLS, what it refuses, and
`sysbench`'s driver `mysql`, whose options mean such a server.

Whether we may make tables there, fill them and drop them is tried with one of ours.

A server refuses writes in a READ ONLY transaction (1792), which every one of a session is that only
reads. The names of the variables that make it so differ by version, and so does the limit on a
statement's time: 5.6 has none, and there the driver's own limit is the only one.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from dyno.access import url
from dyno.access.url import Address, find_server_pid
from dyno.builds import Build
from dyno.driver.plan import Session
from dyno.engines import Ask, Server, SysbenchDriver, _server
from dyno.engines import SysbenchOption as Option
from dyno.engines.mysql.client_files import KEPT, find_login_file, read_defaults
from dyno.engines.mysql.in_place import look_in_place
from dyno.errors import (
    USAGE_EXIT,
    DynoError,
    TrialFailed,
    UsageError,
    build_unknown_error,
)
from dyno.workloads.replay.in_place import ServerRules

#: How the table's name begins. One that a kill left is empty and in nobody's way, and is not
#: counted among the database's tables.
PROBE_TABLE = "dyno_probe_"
#: How servers say that they take no writes (1290, 1792, 1836), in the words of several.
READ_ONLY = re.compile(r"read[- _]only", re.IGNORECASE)


def check_writable(ask: Ask, session: Session, at: Address) -> None:
    """Make a table of our own, fill it and drop it; `UsageError` if that is refused.

    Rights are tried and not read: grants, roles, wildcards and proxies give them, differently in
    each server. Dropping is tried before anything is made, so that what is made can be dropped.
    """
    name = f"{PROBE_TABLE}{secrets.token_hex(4)}"
    drop, make = f"DROP TABLE IF EXISTS {name}", f"CREATE TABLE {name} (id INT PRIMARY KEY)"
    try:
        ask(session, [drop, make, f"INSERT INTO {name} VALUES (1)", drop])
    except DynoError as refused:
        with suppress(DynoError):  # who may not drop was refused before anything was made
            ask(session, [drop])
        if isinstance(refused, TrialFailed):
            raise _build_missing_right_error(at, refused) from refused
        raise


def _build_missing_right_error(at: Address, why: TrialFailed) -> UsageError:
    cause = why.message.partition(": ")[2] or why.message
    if READ_ONLY.search(cause):
        return build_read_only_error(at, cause)
    hint = (
        f"GRANT ALL ON {quote_name(at.database)}.* TO that user, or name a database of that user's"
    )
    message = f"'{at.user}' may not make, fill and drop tables in '{at.database}'"
    return UsageError(message, cause=cause, hint=hint)


def build_read_only_error(at: Address, cause: str = "") -> UsageError:
    hint = "name the primary server, or let it be written to (SET GLOBAL read_only = OFF) yourself"
    return UsageError(
        f"the server at {at.host or 'this host'} is read-only", cause=cause, hint=hint
    )


def quote_name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


PORT = 3306
#: What the kernel calls its programs.
PROGRAMS = ("mysqld", "mariadbd")
#: Where distributions, and servers left to themselves, put the socket.
SOCKETS = ("/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock")
#: The client's modes and the driver's. PREFERRED is left out: it falls back to plain text.
PREFERRED = "preferred"
MODES = {
    "disabled": "disable",
    "required": "require",
    "verify_ca": "verify-ca",
    "verify_identity": "verify-full",
}
#: The keys of a URL, as MySQL's own client calls them.
FLAGS = {
    **url.READ_ONLY,
    "defaults-file": ("", "of a URL: an option file that is read instead of ~/.my.cnf"),
    "ssl-mode": ("", f"of a URL: {', '.join(MODES)}; required unless the server is on this host"),
    "ssl-ca": ("", "of a URL: a PEM file of authorities to trust in place of the system's"),
    "get-server-public-key": (
        "off",
        "of a URL: send the password to any server, under its RSA key or unverified TLS",
    ),
    "server-public-key-path": (
        "",
        "of a URL: a PEM file of the server's RSA key, for connections in plain text",
    ),
    "empty": ("off", "of a URL: on: the database holds no tables, where the server lists none"),
    "enable-cleartext-plugin": (
        "off",
        "of a URL: let a server that TLS has not verified have the password in clear text",
    ),
}
NAMED, READ_ONLY_ASKED = "SELECT VERSION()", "SELECT @@GLOBAL.read_only"
#: A clone has its original's server_uuid; a folder, or a host, of its own it must have.
IDENTITY = "SELECT CONCAT_WS(' ', @@hostname, @@port, @@datadir)"
PROBE = PROBE_TABLE
LISTED = (
    "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
    f" AND LEFT(table_name, {len(PROBE)}) <> '{PROBE}' ORDER BY 1"
)
CONNECTIONS = "SELECT @@max_connections"
#: What a server that only speaks the protocol may lack: a question, and what is done without it.
CATALOGUE = {
    "read_only": (READ_ONLY_ASKED, "whether it may be written to shows when it is"),
    "information_schema": (LISTED, "tables that a workload leaves stay"),
    "max_connections": (CONNECTIONS, "too many connections fail when they are opened"),
    "variables": ("SHOW GLOBAL VARIABLES LIKE 'version'", "no settings are recorded"),
    "status": (
        "SHOW GLOBAL STATUS LIKE 'Questions'",
        "its work is not counted, nor held against the driver's",
    ),
}


def convert_flags(flags: Mapping[str, str]) -> dict[str, str]:
    """The keys of a URL in the words that `_attached` knows; `UsageError` for any other."""
    said: dict[str, str] = {}
    if strange := set(flags) - set(FLAGS):
        raise build_unknown_error("build flag", min(strange), FLAGS)
    if mode := flags.get("ssl-mode"):
        if mode.lower() not in MODES:
            raise build_unknown_error("value of ssl-mode", mode, MODES)
        said["sslmode"] = MODES[mode.lower()]
    if ca := flags.get("ssl-ca"):
        said["sslrootcert"] = ca
    handed_on = (*url.PROOFS, *url.READ_ONLY)
    return said | {name: flags[name] for name in handed_on if name in flags}


def attach_server(ask: Ask, engine: str, build: str, flags: Mapping[str, str]) -> Build:
    """The server at this URL, asked for its version, and its database tried.

    `UsageError` where it does not let us in, is read-only, or lets us make no tables there; where
    its URL says that nothing is written, if it cannot keep a session from writing. What the URL
    leaves out comes from where MySQL's own clients take it (`client_files`).
    """
    found = locate_server(engine, build, flags)
    at = url.parse_url(found.name, PORT)
    session = make_session(found)
    try:
        answers = ask(session, [NAMED])
    except DynoError as refused:
        if refused.exit_code == USAGE_EXIT and (unread := find_login_file(engine, os.environ)):
            raise _build_login_file_error(refused, unread, found) from refused
        raise
    (version,) = url.read_fields("MySQL", [NAMED], answers)
    lacks = url.list_missing(ask, session, CATALOGUE)
    kept = [READ_ONLY_ASKED] if "read_only" not in lacks else []
    read_only = url.read_fields("MySQL", kept, ask(session, kept)) if kept else ["0"]
    if url.is_read_only(found):
        list_settings(version, 1)
    elif read_only[0] not in ("0", "OFF"):
        raise build_read_only_error(at)
    else:
        check_writable(ask, session, at)
    told = {"assertions": "on" if "-debug" in version else "off"}
    told |= {"lacks": " ".join(lacks)} if lacks else {}
    facts = found.facts | told | {"server": version}
    identity = url.read_identity(ask, session, IDENTITY)
    return replace(found, version=version, facts=facts, identity=identity)


def _build_login_file_error(refused: DynoError, unread: Path, found: Build) -> DynoError:
    if found.secret:
        return refused
    hint = f"{unread} is not read: name user and password in the URL, or in ~/.my.cnf"
    return UsageError(refused.message, cause=refused.cause, hint=hint)


def locate_server(engine: str, build: str, flags: Mapping[str, str]) -> Build:
    """The server at this URL as a build, not asked for anything yet."""
    defaults = read_defaults(engine, os.environ, flags.get("defaults-file", ""))
    merged = {name: value for name, value in defaults.items() if name in KEPT} | dict(flags)
    if merged.get("ssl-mode", "").lower() == PREFERRED and "ssl-mode" not in flags:
        del merged["ssl-mode"]  # a client's default, which a file may spell out
    at = url.parse_url(build, PORT, defaults)
    flags_of_url = convert_flags(merged)
    found = url.describe_attached_build(engine, _with_socket(at), flags_of_url, at.password)
    empty = {"empty": "on"} if merged.get("empty") == "on" else {}
    return replace(found, facts=found.facts | empty)


class MysqlTables:
    _ask: Ask

    def list_tables(self, build: Build) -> list[str]:
        """Return every table by name; raise `UsageError` if the server lists none and its URL does
        not say that there are none.
        """
        if "information_schema" in build.facts.get("lacks", ""):
            if "empty" in build.facts:
                return []
            raise url.build_unlisted_error("information_schema.tables")
        return [str(name) for (name,) in self._ask(make_session(build), [LISTED])[0]]

    def read_connection_limit(self, build: Build) -> int:
        if "max_connections" in build.facts.get("lacks", ""):
            return sys.maxsize
        ((said,),) = self._ask(make_session(build), [CONNECTIONS])[0]
        return int(said or 0)

    def list_other_databases(self, build: Build) -> list[str]:
        """Return all but the URL's own, and information_schema, to which no statement writes."""
        own = url.read_login(build).database.lower()
        (rows,) = self._ask(make_session(build), ["SHOW DATABASES"])
        names = (str(name) for (name,) in rows)
        return [name for name in names if name.lower() not in (own, "information_schema")]

    def read_rules(self, build: Build) -> ServerRules:
        return look_in_place(self._ask, make_session(build))

    def drop(self, build: Build, tables: Sequence[str]) -> None:
        quoted = ", ".join(map(quote_name, tables))
        self._ask(make_session(build), [f"DROP TABLE IF EXISTS {quoted}"])


def describe_attached_server(build: Build, home: Path) -> Server:
    """The server as it runs; its process is known where it listens on this machine."""
    session = make_session(build)
    lacks = frozenset(build.facts.get("lacks", "").split())
    return Server(session, home, find_server_pid(session, PROGRAMS), lacks=lacks)


def make_session(build: Build) -> Session:
    login = url.read_login(build)
    if not (url.is_read_only(build) and build.version):
        return login.to_session("mysql")
    limit_s = url.find_time_limit_s(build)
    reads_only = {
        "limit_ms": 1000 * (limit_s + GRACE_S),
        "question": build_probe(build.version),
    }
    made = list_settings(build.version, limit_s)
    return login.to_session("mysql", settings=made, reads_only=reads_only)


def _with_socket(at: Address) -> Address:
    """The address with a socket where it names no host, as MySQL's own clients would take."""
    there = next((path for path in SOCKETS if Path(path).exists()), "localhost")
    return at if at.host else replace(at, host=there)


#: What a server's own limit is given before the driver kills the statement.
GRACE_S = 2
_VERSION = re.compile(r"(?:5\.5\.5-)?(\d+)\.(\d+)\.(\d+)")


def _parse_version(version: str) -> tuple[int, ...]:
    found = _VERSION.match(version)
    return tuple(map(int, found.groups())) if found else (0, 0, 0)


def choose_variable(version: str) -> str:
    """The variable that says whether a session's transactions only read."""
    is_new = "mariadb" not in version.lower() and _parse_version(version) >= (5, 7, 20)
    return "transaction_read_only" if is_new else "tx_read_only"


def list_settings(version: str, limit_s: int) -> list[tuple[str, str]]:
    """The session's variables, a statement being given `limit_s`; `UsageError` where the server has
    no READ ONLY transactions.
    """
    is_maria, number = "mariadb" in version.lower(), _parse_version(version)
    if number < ((10, 0, 0) if is_maria else (5, 6, 5)):
        raise UsageError(
            "the server cannot make a session read-only",
            cause=f"{version} has no READ ONLY transactions",
            hint="play the log on a copy (--data)",
        )
    made = [(choose_variable(version), "1"), ("lock_wait_timeout", str(limit_s))]
    if is_maria and number >= (10, 1, 1):
        made.append(("max_statement_time", str(limit_s)))
    elif not is_maria and number >= (5, 7, 8):
        made.append(("max_execution_time", str(1000 * limit_s)))
    return made


def build_probe(version: str) -> str:
    """A question that fails (1242) unless the session only reads, in UTF-8."""
    return (
        f"SELECT IF(@@SESSION.{choose_variable(version)} = 1"
        " AND @@SESSION.character_set_client LIKE 'utf8%', 1, (SELECT 1 UNION SELECT 2))"
    )


#: A switch up to sysbench 1.0, and from 1.1 on a mode of MySQL's own clients; "": as Dyno has it.
TLS = {
    **dict.fromkeys(("", "on", "true", "1", "required"), "require"),
    **dict.fromkeys(("off", "false", "0", "disabled", "preferred"), ""),
    "verify_ca": "verify-ca",
    "verify_identity": "verify-full",
}
REFUSED = (
    *("mysql-compression", "mysql-compression-algorithms", "mysql-debug"),
    *("mysql-ssl-cipher", "mysql-ssl-key", "mysql-ssl-cert"),
)


def make_sysbench_session(given: Mapping[str, str]) -> Session:
    """How the driver reaches the server: a socket goes before `localhost`, as in MySQL's client."""
    if given["mysql-dry-run"] == "on":
        return {"kind": "null", "delay_ns": 0}
    for name in REFUSED:
        if given[name] not in ("", "off"):
            raise UsageError(f"sysbench's --{name} has no counterpart here", hint="leave it out")
    login = _server.read_login("mysql", given, password=os.environ.get("MYSQL_PWD"))
    if (tls := TLS.get(given["mysql-ssl"].lower())) is None:
        hint = "on, off, disabled, preferred, required, verify_ca, verify_identity"
        raise UsageError(f"invalid --mysql-ssl: {given['mysql-ssl']}", hint=hint)
    login = replace(login, tls=tls or login.tls)
    login = replace(login, ca=given["mysql-ssl-ca"] or login.ca)
    if login.host == _server.HOST:
        there = next((path for path in SOCKETS if Path(path).exists()), "")
        socket = given["mysql-socket"] or there
        login = replace(login, host=socket, port=0) if socket else login
    return login.to_session("mysql")


OPTIONS = (
    *_server.list_connection_options("mysql", PORT),
    Option("mysql-socket", "STRING", "", "the server's socket, where its host is localhost"),
    Option("mysql-ssl", "MODE", "off", "encrypt connections: on, or a mode of MySQL's clients"),
    Option("mysql-ssl-ca", "FILE", "", "authorities to trust in place of the system's"),
    Option("mysql-ssl-key", "FILE", "", "not done here"),
    Option("mysql-ssl-cert", "FILE", "", "not done here"),
    Option("mysql-ssl-cipher", "STRING", "", "not done here"),
    Option("mysql-compression", "on|off", "off", "not done here"),
    Option("mysql-compression-algorithms", "STRING", "", "not done here"),
    Option("mysql-debug", "on|off", "off", "not done here"),
    Option(
        "mysql-ignore-errors",
        "LIST,...",
        "1213,1020,1205",
        "errors at which an event begins anew, or all",
    ),
    Option("mysql-dry-run", "on|off", "off", "play without a server"),
)
SYSBENCH = SysbenchDriver(
    "mysql", "MySQL driver", OPTIONS, make_sysbench_session, frozenset({"mysql-ignore-errors"})
)
