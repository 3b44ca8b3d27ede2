"""PostgreSQL's side of a server that runs already: its socket, its password, what it may do; and
its address as PostgreSQL's own programs take it, as our URL.

`host=/tmp port=5433 dbname=shop user=joe`, `postgresql://joe@db/shop`,
`postgres:///shop?host=/tmp`: libpq's connection strings (PostgreSQL's manual, 34.1.1).
"""

from __future__ import annotations

import getpass
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, unquote

from dyno.access import url
from dyno.access.url import Address, find_server_pid
from dyno.builds import Build
from dyno.driver.plan import Session
from dyno.engines import Ask, Server
from dyno.engines.postgres.client_files import PORT, find_password, read_defaults
from dyno.engines.postgres.in_place import look_in_place
from dyno.errors import UsageError
from dyno.passwords import HIDDEN
from dyno.workloads.replay.in_place import ServerRules

#: The server's program, and the keys of a URL that are this server's alone.
PROGRAMS = ("postgres", "postmaster")
FLAGS = {
    **url.FLAGS,
    "service": ("", "of a URL: a section of pg_service.conf, whose words fill in what is missing"),
    "passfile": ("", "of a URL: a password file instead of ~/.pgpass"),
    "empty": ("off", "of a URL: on: the database holds no tables, where the server lists none"),
}
#: Where distributions put the socket.
SOCKETS = Path("/var/run/postgresql")
VERSION = re.compile(r"PostgreSQL (\S+)")
NAMED = "SELECT version()"
#: Whether it refuses to write; whether we may make tables.
READ_ONLY = "SHOW transaction_read_only"
MAY_CREATE = "SELECT has_schema_privilege(current_schema(), 'CREATE')"
#: Two servers do not start in one microsecond; their clones have the same system identifier.
IDENTITY = "SELECT pg_postmaster_start_time()"
#: The tables where a new one goes that names no schema; not views, which extensions bring along.
LISTED = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1"
FREE_CONNECTIONS = (
    "SELECT current_setting('max_connections')::int"
    " - current_setting('superuser_reserved_connections')::int"
)
#: What a server that only speaks the protocol may lack: a question, and what is done without it.
CATALOGUE = {
    "transaction_read_only": (READ_ONLY, "whether it may be written to shows when it is"),
    "has_schema_privilege": (MAY_CREATE, "whether tables may be made shows when they are"),
    "pg_tables": (LISTED, "tables that a workload leaves stay"),
    "max_connections": (FREE_CONNECTIONS, "too many connections fail when they are opened"),
    "pg_settings": ("SELECT name, source FROM pg_settings LIMIT 1", "no settings are recorded"),
    "pg_stat_database": (
        "SELECT xact_commit, stats_reset FROM pg_stat_database LIMIT 1",
        "its work is not counted, nor held against the driver's",
    ),
}


def attach_server(ask: Ask, build: str, flags: Mapping[str, str]) -> Build:
    """Return the server at this URL, asked for its version.

    `UsageError` if it refuses the login or writes to the database; or if its URL says that nothing
    is written and the session is not read-only.
    """
    found = locate_server(build, flags)
    at = url.parse_url(found.name, PORT)
    session = make_session(found)
    (said,) = url.read_fields("PostgreSQL", [NAMED], ask(session, [NAMED]))
    lacks = url.list_missing(ask, session, CATALOGUE)
    kept = [it for it in (READ_ONLY, MAY_CREATE) if not any(CATALOGUE[n][0] == it for n in lacks)]
    told = dict(zip(kept, url.read_fields("PostgreSQL", kept, ask(session, kept)), strict=True))
    read_only, may = told.get(READ_ONLY, ""), told.get(MAY_CREATE, "t")
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
        facts=found.facts | {"server": said} | ({"lacks": " ".join(lacks)} if lacks else {}),
        identity=url.read_identity(ask, make_session(found), IDENTITY),
    )


#: What says whether a session only reads.
KEPT_ASKED = "SHOW default_transaction_read_only"


def check_kept(ask: Ask, session: Session) -> None:
    """Raise `UsageError` if a session that was opened to read only is not read-only: a pooler drops
    options of the log-in, and keeps later settings in sessions that it hands to others.
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
    found = url.describe_attached_build("postgres", _with_socket(at), merged, password)
    empty = {"empty": "on"} if merged.get("empty") == "on" else {}
    return replace(found, facts=found.facts | empty)


class PostgresTables:
    _ask: Ask

    def list_tables(self, build: Build) -> list[str]:
        """Return every table of the schema where a new one goes by default, by name; raise
        `UsageError` if the server lists none and its URL does not say that there are none.
        """
        if "pg_tables" in build.facts.get("lacks", ""):
            if "empty" in build.facts:
                return []
            raise url.build_unlisted_error("pg_tables")
        return [str(name) for (name,) in self._ask(make_session(build), [LISTED])[0]]

    def read_connection_limit(self, build: Build) -> int:
        """How many connections it lets in at once, without those reserved for superusers; no
        limit where it does not say.
        """
        if "max_connections" in build.facts.get("lacks", ""):
            return sys.maxsize
        ((said,),) = self._ask(make_session(build), [FREE_CONNECTIONS])[0]
        return int(said or 0)

    def read_rules(self, build: Build) -> ServerRules:
        return look_in_place(self._ask, make_session(build))

    def drop(self, build: Build, tables: Sequence[str]) -> None:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in tables)
        self._ask(make_session(build), [f"DROP TABLE IF EXISTS {quoted} CASCADE"])


def describe_attached_server(build: Build, home: Path) -> Server:
    """The server as it runs; its process is known where it listens on this machine."""
    session = make_session(build)
    lacks = frozenset(build.facts.get("lacks", "").split())
    return Server(session, home, find_server_pid(session, PROGRAMS), lacks=lacks)


#: A question that fails unless the session only reads, in UTF-8 and in limited time.
STILL_READING = (
    "SELECT 1 / (current_setting('transaction_read_only') = 'on'"
    " AND current_setting('default_transaction_read_only') = 'on'"
    " AND current_setting('statement_timeout') <> '0'"
    " AND current_setting('client_encoding') = 'UTF8')::int"
)


def make_session(build: Build) -> Session:
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


#: A word and its value, which may stand in quotes; a backslash takes the next sign as it is.
_WORD = re.compile(r"\s*(\w+)\s*=\s*('(?:\\.|[^'\\])*'|(?:\\.|[^\s\\'])*)(?=\s|$)")
#: A URL of libpq's, or one of another client's with its driver's name (`jdbc:`, `+psycopg`).
_URL = re.compile(
    r"(?:jdbc:)?(?P<scheme>postgres(?:ql)?(?:\+\w+)?)://(?P<at>[^?]*)(?:\?(?P<keys>.*))?"
)
#: The words that say where the server is and as whom, and those that stay keys of the URL.
PLACES = ("host", "hostaddr", "port", "user", "dbname", "password")
KEPT = ("sslmode", "sslrootcert", "require_auth", "channel_binding", "service", "passfile")
#: Words of libpq's that would change what is reached, or how, and have no counterpart here.
REFUSED = frozenset(
    re.findall(
        r"\w+",
        """
    connect_timeout client_encoding options application_name fallback_application_name keepalives
    keepalives_idle keepalives_interval keepalives_count tcp_user_timeout replication gssencmode
    sslnegotiation sslcompression sslcert sslkey sslkeylogfile sslpassword sslcertmode sslcrl
    sslcrldir sslsni requiressl requirepeer ssl_min_protocol_version ssl_max_protocol_version
    min_protocol_version max_protocol_version krbsrvname gsslib gssdelegation scram_client_key
    scram_server_key servicefile target_session_attrs load_balance_hosts authtype tty
    """,
    )
)


def convert_address(text: str) -> str | None:
    """The address as our URL; None where it is not written in libpq's way, or is our URL already.

    `UsageError` for a word that has no meaning here.
    """
    if found := _URL.fullmatch(text):
        words = dict(
            pair.partition("=")[::2] for pair in filter(None, (found["keys"] or "").split("&"))
        )
        _refuse_words(words, ())
        if text.startswith("postgres://") and not set(words) & set(PLACES):
            return None
        places = {name: unquote(value) for name, value in words.items() if name in PLACES}
        keys = {name: value for name, value in words.items() if name not in PLACES}
        return _build_url(_parse_places(found["at"]) | places, keys)
    words = _parse_words(text)
    if not words or not set(words) & {"host", "hostaddr", "dbname", "user", "port", "service"}:
        return None
    _refuse_words(words, (*PLACES, *KEPT, *url.READ_ONLY))
    keys = {name: quote(value) for name, value in words.items() if name not in PLACES}
    return _build_url(words, keys)


def _parse_words(text: str) -> dict[str, str]:
    found, at = {}, 0
    while word := _WORD.match(text, at):
        value = word[2][1:-1] if word[2].startswith("'") else word[2]
        found[word[1]] = re.sub(r"\\(.)", r"\1", value)
        at = word.end()
    return {} if text[at:].strip() else found


def _refuse_words(words: Mapping[str, str], known: tuple[str, ...]) -> None:
    """Raise `UsageError` for a word of libpq's that is unsupported here, or is not `known`."""
    if strange := [it for it in words if it in REFUSED or (known and it not in known)]:
        hint = f"leave it out; a server's address has {', '.join((*PLACES, *KEPT))}"
        raise UsageError(f"'{strange[0]}' of a connection string is not supported", hint=hint)


def _parse_places(at: str) -> dict[str, str]:
    """What stands before the keys of a URL: `user@host:port/dbname`, all of it optional.

    A password stays with the user.
    """
    place, _, dbname = at.partition("/")
    user, _, host = place.rpartition("@")
    name, _, port = host.rpartition(":") if re.search(r":\d+$", host) else (host, "", "")
    found = {"host": unquote(name), "port": port, "dbname": unquote(dbname)}
    return {key: value for key, value in found.items() if value} | ({"login": user} if user else {})


def _build_url(words: dict[str, str], keys: dict[str, str]) -> str:
    host = words.get("hostaddr") or words.get("host", "")
    if "," in host + words.get("port", ""):
        raise UsageError(f"'{host}' names several servers", hint="name one")
    host = host if host.startswith("[") else f"[{host}]" if ":" in host else quote(host, safe="")
    login, _, password = words.get("login", "").partition(":")
    login = quote(words["user"], safe="") if "user" in words else login
    if told := words.get("password"):
        password = told if told == HIDDEN else quote(told, safe="")
    login += f":{password}" if password else ""
    port = f":{words['port']}" if "port" in words else ""
    tail = "&".join(f"{name}={value}" for name, value in keys.items())
    database = quote(words.get("dbname", words.get("user", "")), safe="")
    place = f"{login}@{host}{port}" if login else f"{host}{port}"
    return f"postgres://{place}/{database}" + (f"?{tail}" if tail else "")


# What a program of PostgreSQL's own is told of its server by the environment.


def make_client_session(
    words: Mapping[str, str], environment: Mapping[str, str], program: str
) -> Session:
    """Return the session that a program of PostgreSQL's would open: `words` are `host`, `port`,
    `user` and `dbname` of its command line; the environment has the rest.

    `dbname` may be a connection string. `UsageError` for what libpq reads and we do not.
    """
    given = {name: value for name, value in words.items() if value}
    flags: dict[str, str] = {}
    dbname = given.pop("dbname", "")
    if spelled := convert_address(dbname) or (dbname if "://" in dbname else None):
        at, _, keys = spelled.partition(":")[2].partition("?")
        pairs = (pair.partition("=")[::2] for pair in filter(None, keys.split("&")))
        flags |= {name: unquote(value) for name, value in pairs}
        given |= _parse_address(at)
    elif dbname:
        given["dbname"] = dbname
    defaults = read_defaults(environment, flags.get("service", ""))
    told = {"host": "", "port": "", "user": ""} | defaults | given
    flags = {name: value for name, value in defaults.items() if name in url.FLAGS} | flags
    user = told["user"] or getpass.getuser()
    database = told.get("dbname") or told.get("database") or user
    if passfile := defaults.get("passfile"):
        flags.setdefault("passfile", passfile)
    login = _make_client_login(told, user, database, flags)
    settings = [("application_name", environment.get("PGAPPNAME", program))]
    if options := environment.get("PGOPTIONS"):
        settings.append(("options", options))
    return login.to_session("postgres", settings=settings, tells_notices=True)


def _parse_address(at: str) -> dict[str, str]:
    found = _URL.fullmatch(f"postgres:{at}")
    words = _parse_places(found["at"]) if found else {}
    login = words.pop("login", "")
    name, _, password = login.partition(":")
    words |= {"user": unquote(name)} if name else {}
    words |= {"password": unquote(password)} if password else {}
    return words | ({"host": words["host"].strip("[]")} if "host" in words else {})


def _make_client_login(
    told: Mapping[str, str], user: str, database: str, flags: Mapping[str, str]
) -> url.Login:
    if not re.fullmatch(r"\d{0,5}", told["port"]):
        raise UsageError(f'invalid port number: "{told["port"]}"')
    port = int(told["port"] or PORT)
    host = told["host"] or (str(SOCKETS) if SOCKETS.is_dir() else "localhost")
    is_socket = host.startswith("/")
    mode = flags.get("sslmode") or "prefer"
    if mode in url.FALLS_BACK:
        mode = "disable" if is_socket or url.is_here(host) else "require"
    url.check_url(f"//{host}", {**flags, "sslmode": mode}, {})
    at = url.Address(user, host, port, database)
    password = told.get("password") or find_password(at, flags.get("passfile"))
    ca = flags.get("sslrootcert")
    ca = str(Path(ca).expanduser().absolute()) if ca else None
    place = f"{host}/.s.PGSQL.{port}" if is_socket else host
    port = 0 if is_socket else port
    proof = url.read_proof(flags)
    return url.Login(place, user, database, port, password, mode, ca, proof)
