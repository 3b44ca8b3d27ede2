"""Who is let into a private server of MySQL's family: `root`, by a password of this start's own.

A server runs as an unprivileged user, and as `nobody` so may anybody: a socket that only this user
can open keeps nobody out. The password is generated at each start and set before the server listens
(`init_file`); only the server and the driver know it, and the file is gone once the server answers.
Whoever can read the memory or the files of the server's user is not kept out by any password.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, field, replace
from pathlib import Path

from dyno.builds import Build
from dyno.engines import _builds
from dyno.engines.mysql.settings import AskedSettings
from dyno.errors import UsageError

#: The variable, and a file of a user's that sets it.
VARIABLE = "init_file"
IN_FILE = re.compile(
    r"^[ \t]*+(?:loose[-_])?init[-_]file[ \t]*+=[ \t]*+(\S(?:.*\S)?)[ \t]*+$", re.MULTILINE
)
#: From here on users are changed by `ALTER USER`, and MariaDB keeps them in a table of its own.
ALTERS, OWN_TABLE = (5, 7), (10, 4)


@dataclass(frozen=True)
class Access:
    """How a server lets us in: `asked` of it, and the `password` (None where nobody's is checked).

    `file` holds the password until the server answers.
    """

    asked: AskedSettings
    password: str | None = field(default=None, repr=False)
    file: Path | None = None

    def forget(self) -> None:
        """Removes the file; the server has read it."""
        if self.file:
            self.file.unlink(missing_ok=True)


def grant_access(build: Build, requested: AskedSettings, home: Path) -> Access:
    """A password for a server to be, left in its home; an `init_file` of the user's is kept."""
    if requested.skip_grants:
        return Access(requested)
    password, file = f"Dyno-{secrets.token_hex(16)}", home / "init.sql"
    file.touch(mode=0o600)
    file.write_text("\n".join([*list_statements(build, password), _read_own_statements(requested)]))
    return Access(replace(requested, own={**requested.own, VARIABLE: str(file)}), password, file)


def list_statements(build: Build, password: str) -> list[str]:
    """What gives `root` the password and takes every other user away that a new server may have.

    Where the server would keep the statement as it is, in a log of its own, its hash is given.
    """
    version = _builds.parse_version(build.version)
    name = "'root'@'localhost'"
    if build.engine == "mysql" and version >= ALTERS:
        return ["SET SQL_LOG_BIN=0;", f"ALTER USER {name} IDENTIFIED BY '{password}';"]
    has_own_table = build.engine == "mariadb" and version >= OWN_TABLE
    users = "global_priv" if has_own_table else "user"
    doubled = hashlib.sha1(hashlib.sha1(password.encode()).digest()).hexdigest().upper()
    give = f"SET PASSWORD FOR {name} = '*{doubled}';"
    if has_own_table:
        give = f"ALTER USER {name} IDENTIFIED BY PASSWORD '*{doubled}';"
    return [
        "SET SQL_LOG_BIN=0;",
        f"DELETE FROM mysql.{users} WHERE User='' OR (User='root' AND Host<>'localhost');",
        "FLUSH PRIVILEGES;",
        give,
    ]


def _read_own_statements(requested: AskedSettings) -> str:
    """What the user's own file has the server do at its start; of two files it takes the last."""
    named = requested.own.get(VARIABLE, "")
    if not named and requested.config and (found := IN_FILE.findall(requested.config.read_text())):
        named = found[-1].strip("\"'")
    try:
        return Path(named).read_text() if named else ""
    except OSError as refused:
        cause = refused.strerror
        raise UsageError(f"cannot read {VARIABLE} {named}", cause=cause) from None
