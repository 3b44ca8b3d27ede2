"""Where PostgreSQL's own programs look for what a connection string leaves out, and sysbench's
driver `pgsql`: its connection options as a session.

The environment (`PGHOST` …), a section of pg_service.conf, and passwords in `~/.pgpass`, in the
order and by the rules of libpq (PostgreSQL's manual, 34.15 to 34.17).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from dyno.access.url import FALLS_BACK, MODES, Address
from dyno.driver.plan import Session
from dyno.engines import SysbenchDriver, _server
from dyno.engines import SysbenchOption as Option
from dyno.errors import UsageError

PORT = 5432
#: Variables that are read, and whose word each one is. A password's are `find_password`'s.
VARIABLES = {
    "PGHOST": "host",
    "PGHOSTADDR": "host",
    "PGPORT": "port",
    "PGUSER": "user",
    "PGDATABASE": "database",
    "PGSSLMODE": "sslmode",
    "PGSSLROOTCERT": "sslrootcert",
    "PGREQUIREAUTH": "require_auth",
    "PGCHANNELBINDING": "channel_binding",
}
READ = (*VARIABLES, "PGSERVICE", "PGSERVICEFILE", "PGPASSWORD", "PGPASSFILE")
#: Those that would change what is reached and are not read.
UNREAD = ("PGTARGETSESSIONATTRS", "PGSSLCERT", "PGSSLKEY")
#: Words of a service that have another name here; those that are not listed are refused.
_OF_SERVICE = {"dbname": "database", "hostaddr": "host"} | {
    name: name
    for name in (
        *("host", "port", "user", "password", "passfile"),
        *("sslmode", "sslrootcert", "require_auth", "channel_binding"),
    )
}


def read_defaults(environment: Mapping[str, str], service: str = "") -> dict[str, str]:
    """What a connection string may leave out: `host`, `port`, `user`, `database`, `password`,
    `passfile`, `sslmode` …; a service goes before the environment.

    `UsageError` for a variable or a word that libpq reads and we do not.
    """
    if unread := [name for name in UNREAD if environment.get(name)]:
        hint = f"it is not read here: unset it; {', '.join(READ)} are"
        raise UsageError(f"${unread[0]} is set", hint=hint)
    found = {word: environment[name] for name, word in VARIABLES.items() if environment.get(name)}
    if name := service or environment.get("PGSERVICE", ""):
        found |= _read_service(name, environment)
    return found


def _read_service(name: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The words of a section, from the first file that has it."""
    files = [Path(environment.get("PGSERVICEFILE") or Path.home() / ".pg_service.conf")]
    if folder := environment.get("PGSYSCONFDIR"):
        files.append(Path(folder) / "pg_service.conf")
    files.append(Path("/etc/postgresql-common/pg_service.conf"))
    for file in files:
        if file.is_file() and (words := _parse_service(file, name)) is not None:
            for word in words:
                if word not in _OF_SERVICE:
                    hint = f"a service may have {', '.join(_OF_SERVICE)}"
                    raise UsageError(f"'{word}' of {file} is not supported", hint=hint)
            # libpq connects to hostaddr where both stand
            in_order = sorted(words.items(), key=lambda each: each[0] == "hostaddr")
            return {_OF_SERVICE[word]: value for word, value in in_order}
    looked = ", ".join(map(str, files))
    raise UsageError(f'definition of service "{name}" not found', hint=f"looked in {looked}")


def _parse_service(file: Path, name: str) -> dict[str, str] | None:
    found: dict[str, str] | None = None
    inside = False
    for number, text in enumerate(file.read_text(errors="replace").splitlines(), 1):
        line = text.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            inside = line == f"[{name}]" and found is None
            found = {} if inside else found
        elif inside and found is not None:
            word, equals, value = line.partition("=")
            if not equals:
                raise UsageError(f"{file}:{number} is not key=value", hint="as host=db.example")
            found.setdefault(word.strip(), value.strip())
    return found


def find_password(at: Address, passfile: str | None = None) -> str | None:
    """What libpq would take: `PGPASSWORD`, else the first line of `~/.pgpass` that fits."""
    if (known := os.environ.get("PGPASSWORD")) is not None:
        return known
    named = passfile or os.environ.get("PGPASSFILE")
    file = Path(named).expanduser() if named else Path.home() / ".pgpass"
    if passfile and not file.is_file():
        raise UsageError(f"there is no file {file}", hint="passfile names one as ~/.pgpass is")
    local = at.host.startswith("/") or not at.host
    asked = ("localhost" if local else at.host, str(at.port), at.database, at.user)
    fits = (kept[4] for kept in _read_pgpass_lines(file) if all(map(_matches, kept, asked)))
    return next(fits, None)


def _read_pgpass_lines(file: Path) -> Iterator[list[str]]:
    """host, port, database, user, password of each line, `\\:` and `\\\\` undone.

    As libpq does, a file that others may read is passed over.
    """
    if not file.is_file() or file.stat().st_mode & 0o077:
        return
    for line in file.read_text().splitlines():
        fields = [re.sub(r"\\(.)", r"\1", it) for it in re.split(r"(?<!\\):", line, maxsplit=4)]
        if len(fields) == 5 and not line.startswith("#"):
            yield fields


def _matches(kept: str, asked: str) -> bool:
    return kept in ("*", asked)


def make_session(given: Mapping[str, str]) -> Session:
    """How the driver reaches the server; a host that is a folder holds its socket, as for libpq."""
    login = _server.read_login("pgsql", given, password=os.environ.get("PGPASSWORD"))
    mode = given["pgsql-sslmode"]
    if mode not in (*FALLS_BACK, *MODES):
        raise UsageError(f"invalid --pgsql-sslmode: {mode}", hint=", ".join(MODES))
    login = replace(login, tls=mode if mode in MODES else login.tls)
    if login.host.startswith("/"):
        login = replace(login, host=f"{login.host}/.s.PGSQL.{login.port}", port=0)
    return login.to_session("postgres")


OPTIONS = (
    *_server.list_connection_options("pgsql", 5432),
    Option("pgsql-sslmode", "MODE", "prefer", "encrypt connections: a mode of libpq's"),
)
SYSBENCH = SysbenchDriver("pgsql", "PostgreSQL driver", OPTIONS, make_session)
