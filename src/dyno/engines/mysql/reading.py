"""A session of MySQL's family that only reads: the variables that make it so, by the version.

A server refuses writes in a READ ONLY transaction (1792), which every one of the session is. The
names of the variables differ, and so does the limit on a statement's time: 5.6 has none, and there
the driver's own limit is the only one.
"""

from __future__ import annotations

import re

from dyno.errors import UsageError

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
