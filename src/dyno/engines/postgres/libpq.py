"""What PostgreSQL's own programs take for a server's address, as our URL.

`host=/tmp port=5433 dbname=shop user=joe`, `postgresql://joe@db/shop`,
`postgres:///shop?host=/tmp`: libpq's connection strings (PostgreSQL's manual, 34.1.1).
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from dyno.errors import UsageError

#: A word and its value, which may stand in quotes; a backslash takes the next sign as it is.
_WORD = re.compile(r"\s*(\w+)\s*=\s*('(?:\\.|[^'\\])*'|(?:\\.|[^\s\\'])*)(?=\s|$)")
_URL = re.compile(r"postgres(?:ql)?://(?P<at>[^?]*)(?:\?(?P<keys>.*))?")
#: The words that say where the server is, and those that stay keys of the URL.
PLACES = ("host", "port", "user", "dbname")
KEPT = ("sslmode", "sslrootcert")


def spelled_url(text: str) -> str | None:
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
        return _url(_places_of(url["at"]) | places, _without(words, PLACES))
    words = _words(text)
    if not words or not set(words) & {"host", "dbname", "user", "port"}:
        return None
    if "password" in words:
        raise UsageError("a password stands in the server's address", hint="give it in PGPASSWORD")
    return _url(words, _without(words, PLACES))


def _words(text: str) -> dict[str, str]:
    found, at = {}, 0
    while word := _WORD.match(text, at):
        value = word[2][1:-1] if word[2].startswith("'") else word[2]
        found[word[1]] = re.sub(r"\\(.)", r"\1", value)
        at = word.end()
    return {} if text[at:].strip() else found


def _without(words: dict[str, str], names: tuple[str, ...]) -> dict[str, str]:
    rest = {name: value for name, value in words.items() if name not in names}
    if strange := [name for name in rest if name not in KEPT]:
        hint = f"a server's address has {', '.join((*PLACES, *KEPT))}"
        raise UsageError(f"'{strange[0]}' of a connection string is not read here", hint=hint)
    return rest


def _places_of(at: str) -> dict[str, str]:
    """What stands before the keys of a URL: `user@host:port/dbname`, all of it optional.

    A password stays with the user.
    """
    place, _, dbname = at.partition("/")
    user, _, host = place.rpartition("@")
    name, _, port = host.rpartition(":") if re.search(r":\d+$", host) else (host, "", "")
    found = {"host": name, "port": port, "dbname": unquote(dbname)}
    return {key: value for key, value in found.items() if value} | ({"login": user} if user else {})


def _url(words: dict[str, str], keys: dict[str, str]) -> str:
    host = words.get("host", "")
    host = host if host.startswith("[") else quote(host, safe="")
    login = quote(words["user"], safe="") if "user" in words else words.get("login", "")
    port = f":{words['port']}" if "port" in words else ""
    tail = "&".join(f"{name}={value}" for name, value in keys.items())
    database = quote(words.get("dbname", words.get("user", "")), safe="")
    place = f"{login}@{host}{port}" if login else f"{host}{port}"
    return f"postgres://{place}/{database}" + (f"?{tail}" if tail else "")
