"""Where MySQL's own clients look for what a server's URL leaves out.

Option files (`~/.my.cnf`: groups, `!include`) and a few variables, by the rules of the clients
(MySQL's manual, 4.2.2.2 and 4.9); and the ways of writing a URL that other clients take.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote, unquote

from dyno.errors import UsageError
from dyno.passwords import HIDDEN

#: Read one after the other, what is later goes before; a URL's `defaults-file` is read alone.
GLOBAL_FILES = ("/etc/my.cnf", "/etc/mysql/my.cnf")
OWN_FILE, LOGIN_FILE = ".my.cnf", ".mylogin.cnf"
#: Groups that the servers' own clients read.
GROUPS = {
    "mysql": ("client", "mysql"),
    "mariadb": ("client", "client-server", "client-mariadb", "mysql", "mariadb-client"),
}
#: Options of a file that say where the server is and as whom, and our words for them.
PLACES = {
    "host": "host",
    "port": "port",
    "socket": "socket",
    "user": "user",
    "password": "password",
    "database": "database",
}
KEPT = ("ssl-mode", "ssl-ca")
#: Options that would change how it is reached and have no counterpart here.
REFUSED = ("ssl-cert", "ssl-key", "ssl-cipher", "ssl-crl", "protocol", "default-auth", "plugin-dir")
#: Variables that the clients read before any file.
VARIABLES = {"MYSQL_HOST": "host", "MYSQL_TCP_PORT": "port", "MYSQL_UNIX_PORT": "socket"}
#: Files that include each other in a circle end here.
DEEPEST = 10
_OPTION = re.compile(r"\s*([\w-]+)\s*(?:=\s*(.*))?")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "s": " "} | {it: it for it in "\\'\""}
_WRITABLE_BY_ALL = 0o002

Options = dict[str, str]


def read_defaults(
    engine: str, environment: Mapping[str, str], defaults_file: str = ""
) -> dict[str, str]:
    """Return `host`, `port`, `user`, `password`, `database`, `ssl-mode` and `ssl-ca` as this
    engine's own clients take them by default; `host` is a socket's path if they would take that.

    `UsageError` for an option that changes how a server is reached and is not supported here.
    """
    found = {word: environment[name] for name, word in VARIABLES.items() if environment.get(name)}
    suffix = environment.get("MYSQL_GROUP_SUFFIX", "")
    groups = {group + end for group in GROUPS[engine] for end in {"", suffix}}
    if password := environment.get("MYSQL_PWD"):
        found["password"] = password
    for file in _list_files(defaults_file):
        for name, value in _read_options(file, groups, DEEPEST):
            if name in REFUSED and value:
                hint = "name the server by a URL, with defaults-file=/dev/null"
                raise UsageError(f"'{name}' of {file} is not supported", hint=hint)
            if (name in PLACES and value) or name in KEPT:
                found[PLACES.get(name, name)] = value
    socket = found.pop("socket", "")
    if socket and found.get("host", "localhost") == "localhost":
        found["host"] = socket
    return found


def find_login_file(engine: str, environment: Mapping[str, str]) -> Path | None:
    """The file of `mysql_config_editor`, which MySQL's own clients read and we do not; None where
    there is none. MariaDB's clients do not read it either.
    """
    file = Path(environment.get("MYSQL_TEST_LOGIN_FILE") or Path.home() / LOGIN_FILE)
    return file if engine == "mysql" and file.is_file() else None


def _list_files(defaults_file: str) -> list[Path]:
    if defaults_file:
        file = Path(defaults_file).expanduser()
        if not file.exists():
            raise UsageError(
                f"there is no file {file}", hint="defaults-file names one as ~/.my.cnf"
            )
        return [file]
    files = (*map(Path, GLOBAL_FILES), Path.home() / OWN_FILE)
    return [file for file in files if file.is_file() and os.access(file, os.R_OK)]


def _read_options(file: Path, groups: set[str], depth: int) -> Iterator[tuple[str, str]]:
    if file.stat().st_mode & _WRITABLE_BY_ALL and file.is_file():
        hint = f"chmod o-w {file}"
        raise UsageError(f"{file} is world-writable, so it is not read", hint=hint)
    if not depth:
        raise UsageError(f"{file} is included in a circle", hint="take the !include out")
    group = ""
    for text in file.read_text(errors="replace").splitlines():
        line = text.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("!"):
            for included in _find_included(line):
                yield from _read_options(included, groups, depth - 1)
        elif line.startswith("["):
            group = line[1:].partition("]")[0].strip()
        elif group in groups and (option := _OPTION.fullmatch(line)):
            name = option[1].replace("_", "-").removeprefix("loose-")
            yield name, _read_value(option[2] or "")


def _find_included(line: str) -> list[Path]:
    word, _, place = line.partition(" ")
    path = Path(place.strip())
    if word == "!includedir":
        return sorted(path.glob("*.cnf")) if path.is_dir() else []
    return [path] if path.is_file() else []


def _read_value(text: str) -> str:
    """Return the value without quotes and comment, escapes undone."""
    text = text.strip()
    quoted = re.match(r"'((?:\\.|[^'\\])*)'|\"((?:\\.|[^\"\\])*)\"", text)
    value = (quoted[1] or quoted[2] or "") if quoted else text.partition("#")[0].strip()
    return re.sub(r"\\(.)", lambda it: _ESCAPES.get(it[1], it[0]), value)


#: A URL of this family, or one of another client's with its driver's name (`jdbc:`, `+pymysql`).
_URL = re.compile(
    r"(?:jdbc:)?(?P<engine>mysql|mariadb)(?:\+\w+)?://"
    r"(?:(?P<login>[^?]*)@)?(?P<place>[^/?@]*)(?:/(?P<database>[^/?]*))?(?:\?(?P<keys>.*))?"
)
#: Keys that are the URL's own parts, and other clients' names of keys.
_PARTS = ("host", "port", "user", "password", "socket", "database")
_OTHER_NAMES = {
    "unix_socket": "socket",
    "ssl_mode": "ssl-mode",
    "sslmode": "ssl-mode",
    "sslMode": "ssl-mode",
    "ssl_ca": "ssl-ca",
    "defaults_file": "defaults-file",
    "read_default_file": "defaults-file",
}


def convert_address(text: str) -> str | None:
    """The address as our URL; None where it is none of this family's, or our URL already."""
    if (url := _URL.fullmatch(text)) is None:
        return None
    pairs = [pair.partition("=") for pair in filter(None, (url["keys"] or "").split("&"))]
    keys = {_OTHER_NAMES.get(name, name): value for name, _, value in pairs}
    plain = text.startswith(f"{url['engine']}://")
    if plain and not set(keys) & set(_PARTS) and list(keys) == [name for name, _, _ in pairs]:
        return None
    parts = {name: unquote(value) for name, value in keys.items() if name in _PARTS}
    host, _, port = (url["place"] or "").partition(":")
    user, _, password = (url["login"] or "").partition(":")
    user = quote(parts["user"], safe="") if "user" in parts else user
    if told := parts.get("password"):
        password = told if told == HIDDEN else quote(told, safe="")
    place = parts.get("socket") or parts.get("host")
    host = quote(place, safe="") if place else host
    port = "" if "socket" in parts else parts.get("port", port)
    database = quote(parts["database"], safe="") if "database" in parts else url["database"] or ""
    login = user + (f":{password}" if password else "")
    rest = "&".join(f"{name}={value}" for name, value in keys.items() if name not in _PARTS)
    return (
        f"{url['engine']}://{login}{'@' * bool(login)}{host}{':' * bool(port)}{port}/{database}"
        + (f"?{rest}" if rest else "")
    )
