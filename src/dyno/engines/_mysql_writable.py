"""A database of somebody's server is tried: may we make tables there, fill them and drop them?"""

from __future__ import annotations

import re
import secrets
from contextlib import suppress

from dyno.engines import Ask
from dyno.engines._attached import Address
from dyno.errors import DynoError, TrialFailed, UsageError
from dyno.plan import Session

#: How the table's name begins. One that a kill left is empty and in nobody's way, and is not
#: counted among the database's tables.
PROBE = "dyno_probe_"
#: How servers say that they take no writes (1290, 1792, 1836), in the words of several.
READ_ONLY = re.compile(r"read[- _]only", re.IGNORECASE)


def check(ask: Ask, session: Session, at: Address) -> None:
    """Makes a table of our own, fills it and drops it; `UsageError` where that is refused.

    Rights are tried and not read: grants, roles, wildcards and proxies give them, otherwise in
    each server. Dropping is tried before anything is made, so that what is made can be dropped.
    """
    name = f"{PROBE}{secrets.token_hex(4)}"
    drop, make = f"DROP TABLE IF EXISTS {name}", f"CREATE TABLE {name} (id INT PRIMARY KEY)"
    try:
        ask(session, [drop, make, f"INSERT INTO {name} VALUES (1)", drop])
    except DynoError as refused:
        with suppress(DynoError):
            ask(session, [drop])
        if isinstance(refused, TrialFailed):
            raise _refused(at, refused) from refused
        raise


def _refused(at: Address, why: TrialFailed) -> UsageError:
    """The server's own words say which right is missing."""
    cause = why.message.partition(": ")[2] or why.message
    if READ_ONLY.search(cause):
        return read_only(at, cause)
    hint = f"GRANT ALL ON {quoted(at.database)}.* TO that user, or name a database of that user's"
    message = f"'{at.user}' may not make, fill and drop tables in '{at.database}'"
    return UsageError(message, cause=cause, hint=hint)


def read_only(at: Address, cause: str = "") -> UsageError:
    """The error for a server that takes no writes."""
    hint = "name the primary server, or let it be written to (SET GLOBAL read_only = OFF) yourself"
    return UsageError(
        f"the server at {at.host or 'this host'} is read-only", cause=cause, hint=hint
    )


def quoted(name: str) -> str:
    """A name as it may stand in a statement."""
    return "`" + name.replace("`", "``") + "`"
