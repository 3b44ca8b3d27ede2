"""What PostgreSQL's own programs take for a server's address, as our URL.

`host=/tmp port=5433 dbname=shop user=joe`, `postgresql://joe@db/shop`,
`postgres:///shop?host=/tmp`: libpq's connection strings (PostgreSQL's manual, 34.1.1).
"""

from __future__ import annotations

import getpass
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, unquote

from dyno.access import url
from dyno.driver.plan import Session
from dyno.engines.postgres.attached import PORT, SOCKETS, find_password
from dyno.errors import UsageError

#: A word and its value, which may stand in quotes; a backslash takes the next sign as it is.
_WORD = re.compile(r"\s*(\w+)\s*=\s*('(?:\\.|[^'\\])*'|(?:\\.|[^\s\\'])*)(?=\s|$)")
_URL = re.compile(r"postgres(?:ql)?://(?P<at>[^?]*)(?:\?(?P<keys>.*))?")
#: The words that say where the server is, and those that stay keys of the URL.
PLACES = ("host", "port", "user", "dbname")
KEPT = ("sslmode", "sslrootcert", "require_auth", "channel_binding")


def convert_address(text: str) -> str | None:
    """The address as our URL; None where it is not written in libpq's way.

    `UsageError` for a word that has no meaning here, and for a password, which everybody could
    read in the list of processes.
    """
    if url := _URL.fullmatch(text):
        words = dict(
            pair.partition("=")[::2] for pair in filter(None, (url["keys"] or "").split("&"))
        )
        if text.startswith("postgres://") and not set(words) & set(PLACES):
            return None
        places = {name: unquote(value) for name, value in words.items() if name in PLACES}
        return _build_url(_parse_places(url["at"]) | places, _remove_words(words, PLACES))
    words = _parse_words(text)
    if not words or not set(words) & {"host", "dbname", "user", "port"}:
        return None
    if "password" in words:
        raise UsageError("the server's address holds a password", hint="give it in PGPASSWORD")
    return _build_url(words, _remove_words(words, PLACES))


def _parse_words(text: str) -> dict[str, str]:
    found, at = {}, 0
    while word := _WORD.match(text, at):
        value = word[2][1:-1] if word[2].startswith("'") else word[2]
        found[word[1]] = re.sub(r"\\(.)", r"\1", value)
        at = word.end()
    return {} if text[at:].strip() else found


def _remove_words(words: dict[str, str], names: tuple[str, ...]) -> dict[str, str]:
    rest = {name: value for name, value in words.items() if name not in names}
    if strange := [name for name in rest if name not in KEPT]:
        hint = f"a server's address has {', '.join((*PLACES, *KEPT))}"
        raise UsageError(f"'{strange[0]}' of a connection string is not supported", hint=hint)
    return rest


def _parse_places(at: str) -> dict[str, str]:
    """What stands before the keys of a URL: `user@host:port/dbname`, all of it optional.

    A password stays with the user.
    """
    place, _, dbname = at.partition("/")
    user, _, host = place.rpartition("@")
    name, _, port = host.rpartition(":") if re.search(r":\d+$", host) else (host, "", "")
    found = {"host": name, "port": port, "dbname": unquote(dbname)}
    return {key: value for key, value in found.items() if value} | ({"login": user} if user else {})


def _build_url(words: dict[str, str], keys: dict[str, str]) -> str:
    host = words.get("host", "")
    host = host if host.startswith("[") else quote(host, safe="")
    login = quote(words["user"], safe="") if "user" in words else words.get("login", "")
    port = f":{words['port']}" if "port" in words else ""
    tail = "&".join(f"{name}={value}" for name, value in keys.items())
    database = quote(words.get("dbname", words.get("user", "")), safe="")
    place = f"{login}@{host}{port}" if login else f"{host}{port}"
    return f"postgres://{place}/{database}" + (f"?{tail}" if tail else "")


# What a program of PostgreSQL's own is told of its server by the environment.

#: Variables of libpq's that are read here (the password's stand in `attached.find_password`), and
#: those that would change what is reached and are not.
READ = (
    *("PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGDATABASE"),
    *("PGSSLMODE", "PGSSLROOTCERT", "PGREQUIREAUTH", "PGCHANNELBINDING"),
)
UNREAD = ("PGSERVICE", "PGTARGETSESSIONATTRS", "PGSSLCERT", "PGSSLKEY")


def make_client_session(
    words: Mapping[str, str], environment: Mapping[str, str], program: str
) -> Session:
    """The session that a program of PostgreSQL's would open: `words` are `host`, `port`, `user` and
    `dbname` of its command line, where it has them; all else is the environment's.

    `dbname` may be a connection string. `UsageError` for what libpq reads and we do not.
    """
    if unread := [name for name in UNREAD if environment.get(name)]:
        hint = f"it is not read here: unset it; {', '.join(READ)} are"
        raise UsageError(f"${unread[0]} is set", hint=hint)
    told = {name: environment.get(f"PG{name.upper()}", "") for name in ("host", "port", "user")}
    told["host"] = environment.get("PGHOSTADDR") or told["host"]
    told |= {name: value for name, value in words.items() if value}
    flags = {
        "sslmode": environment.get("PGSSLMODE", ""),
        "sslrootcert": environment.get("PGSSLROOTCERT", ""),
        "require_auth": environment.get("PGREQUIREAUTH", ""),
        "channel_binding": environment.get("PGCHANNELBINDING", ""),
    }
    dbname = told.pop("dbname", "")
    if spelled := convert_address(dbname) or (dbname if "://" in dbname else None):
        at, _, keys = spelled.partition(":")[2].partition("?")
        flags |= dict(pair.partition("=")[::2] for pair in filter(None, keys.split("&")))
        told |= _parse_address(at)
    elif dbname:
        told["dbname"] = dbname
    user = told["user"] or getpass.getuser()
    database = told.get("dbname") or environment.get("PGDATABASE") or user
    login = _make_client_login(told, user, database, flags)
    settings = [("application_name", environment.get("PGAPPNAME", program))]
    if options := environment.get("PGOPTIONS"):
        settings.append(("options", options))
    return login.to_session("postgres", settings=settings, tells_notices=True)


def _parse_address(at: str) -> dict[str, str]:
    """What of a spelled address was said; a part that was left out is the environment's."""
    found = _URL.fullmatch(f"postgres:{at}")
    words = _parse_places(found["at"]) if found else {}
    login = words.pop("login", "")
    name, _, password = login.partition(":")
    words |= {"user": unquote(name)} if name else {}
    words |= {"password": unquote(password)} if password else {}
    return {key: unquote(value) for key, value in words.items()}


def _make_client_login(
    told: Mapping[str, str], user: str, database: str, flags: Mapping[str, str]
) -> url.Login:
    if not re.fullmatch(r"\d{0,5}", told["port"]):
        raise UsageError(f'invalid port number: "{told["port"]}"')
    port = int(told["port"] or PORT)
    host = told["host"] or (str(SOCKETS) if SOCKETS.is_dir() else "localhost")
    is_socket = host.startswith("/")
    mode = flags.get("sslmode") or "prefer"
    if mode in ("prefer", "allow"):
        mode = "disable" if is_socket or url.NEAR.fullmatch(host) else "require"
    url.check_url(f"//{host}", {**flags, "sslmode": mode}, {})
    at = url.Address(user, host, port, database)
    password = told.get("password") or find_password(at)
    ca = flags.get("sslrootcert")
    ca = str(Path(ca).expanduser().absolute()) if ca else None
    place = f"{host}/.s.PGSQL.{port}" if is_socket else host
    port = 0 if is_socket else port
    proof = url.read_proof(flags)
    return url.Login(place, user, database, port, password, mode, ca, proof)
