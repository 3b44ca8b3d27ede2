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
from dyno.engines.postgres.attached import SOCKETS
from dyno.engines.postgres.client_files import PORT, find_password, read_defaults
from dyno.errors import UsageError
from dyno.passwords import HIDDEN

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
    """`UsageError` for a word of libpq's that is not done here, or is not `known`."""
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
    """The session that a program of PostgreSQL's would open: `words` are `host`, `port`, `user` and
    `dbname` of its command line, where it has them; all else is the environment's.

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
    """What of a spelled address was said; a part that was left out is the environment's."""
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
