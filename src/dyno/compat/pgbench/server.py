"""The server that a command line of pgbench's names: where it is, and what is asked of it first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dyno import driver
from dyno.compat.pgbench.words import PgbenchSettings
from dyno.driver.plan import Session
from dyno.errors import DynoError, UsageError
from dyno.plugins import load_things

#: A statement of `-i` or a vacuum may take as long as its table is large.
LONGEST_S = 7 * 86400.0

Rows = list[list[list[str | None]]]
Say = Callable[[str], None]

#: How pgbench's accounts are partitioned (`partstrat`), and into how many parts.
_TABLE = (
    "SELECT coalesce(p.partstrat::text, ''), "
    "(SELECT count(*) FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid) "
    "FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = c.oid "
    "WHERE c.oid = pg_catalog.to_regclass('pgbench_accounts')"
)
_METHODS = {"r": "range", "h": "hash"}


@dataclass(frozen=True)
class ServerFacts:
    """What the report says of the server: its version, and of pgbench's tables scale and parts;
    `method` is empty where there are none.
    """

    version: str
    scale: int
    method: str = ""
    partitions: int = 0


def make_session(settings: PgbenchSettings, environment: Mapping[str, str]) -> Session:
    """The session of this command line; a password is in the session alone."""
    words = {
        "host": settings.text.get("host", ""),
        "port": settings.text.get("port", ""),
        "user": settings.text.get("username", ""),
        "dbname": settings.database or "",
    }
    (client_session,) = load_things("dyno.engines", "make_client_session").values()
    session: Session = client_session(words, environment, "pgbench")
    return session


def ask(session: Session, statements: Sequence[str]) -> Rows:
    """The rows of each statement."""
    return driver.ask(session, statements, LONGEST_S)


def look_at(session: Session, settings: PgbenchSettings, say: Say) -> ServerFacts:
    """Logs in, and looks at pgbench's own tables where a script needs them.

    `UsageError` where the server lets us not in, or the tables are missing.
    """
    try:
        version = str(ask(session, ["SHOW server_version"])[0][0][0]).split()[0]
    except DynoError as error:
        raise UsageError(_format_refusal(session, error)) from error
    given = settings.number.get("scale", 1)
    if not any(script.is_builtin for script in settings.scripts):
        return ServerFacts(version, given)
    try:
        branches, table = ask(session, ["SELECT count(*) FROM pgbench_branches", _TABLE])
    except DynoError as error:
        hint = "Perhaps you need to do initialization "
        hint += f'("pgbench -i") in database "{session["database"]}".'
        raise UsageError(error.sentence, hint=hint) from error
    scale = int(str(branches[0][0]))
    if settings.has("scale"):
        source = f"using count from pgbench_branches table ({scale})"
        say(f"pgbench: warning: scale option ignored, {source}")
    method, parts = (str(cell) for cell in table[0]) if table else ("", "0")
    return ServerFacts(version, scale, _METHODS.get(method, ""), int(parts))


def _format_refusal(session: Session, error: DynoError) -> str:
    """What the server said, as libpq words it: a refused log-in is always fatal."""
    host, port = str(session["host"]), session["port"]
    place = f'on socket "{host}"' if host.startswith("/") else f'at "{host}", port {port}'
    who = f"as '{session['user']}': "
    said = error.sentence.partition(who)[2]
    return f"connection to server {place} failed: " + (f"FATAL:  {said}" if said else str(error))


def vacuum(session: Session, settings: PgbenchSettings, say: Say) -> None:
    """What pgbench does to its tables before it plays; a table that is missing is said."""
    if settings.has("no-vacuum"):
        return
    small = ["vacuum pgbench_branches", "vacuum pgbench_tellers", "truncate pgbench_history"]
    say("starting vacuum...")
    _try_all(session, small, say)
    say("end.")
    if settings.has("vacuum-all"):
        say("starting vacuum pgbench_accounts...")
        _try_all(session, ["vacuum analyze pgbench_accounts"], say)
        say("end.")


def _try_all(session: Session, statements: Sequence[str], say: Say) -> None:
    for statement in statements:
        try:
            ask(session, [statement])
        except DynoError as error:
            say(f"pgbench: error: {error.sentence}")
            say("pgbench: detail: (ignoring this error and continuing anyway)")
