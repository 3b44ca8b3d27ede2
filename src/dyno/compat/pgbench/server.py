"""The server that a command line of pgbench's names: where it is, what is asked of it first; and
`-i`, which drops, makes, fills and vacuums pgbench's own tables and gives them their keys.

The tables are in PostgreSQL's manual (pgbench, "What is the transaction actually performed
in pgbench?", and its initialisation options). Both `g` and `G` let the server make the rows.
"""

from __future__ import annotations

import time
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
    `method` is empty if there are none.
    """

    version: str
    scale: int
    method: str = ""
    partitions: int = 0


def make_session(settings: PgbenchSettings, environment: Mapping[str, str]) -> Session:
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
    return driver.ask(session, statements, LONGEST_S)


def look_at(session: Session, settings: PgbenchSettings, say: Say) -> ServerFacts:
    """Log in, and look at pgbench's own tables if a script needs them.

    `UsageError` if the server refuses the login, or the tables are missing.
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
    """Do what pgbench does to its tables before it plays; a missing table is reported."""
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


TELLERS, ACCOUNTS = 10, 100_000  # for each branch
WIDE_SCALE = 20_000  # from here on, accounts are numbered beyond 2^31
ALL = "pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers"
KEYED = {"pgbench_branches": "bid", "pgbench_tellers": "tid", "pgbench_accounts": "aid"}
FOREIGN = {
    "pgbench_tellers": {"bid": "pgbench_branches"},
    "pgbench_accounts": {"bid": "pgbench_branches"},
    "pgbench_history": {
        "bid": "pgbench_branches",
        "tid": "pgbench_tellers",
        "aid": "pgbench_accounts",
    },
}


@dataclass(frozen=True)
class Tables:
    settings: PgbenchSettings

    @property
    def scale(self) -> int:
        return self.settings.number.get("scale", 1)

    @property
    def partitions(self) -> int:
        return self.settings.number.get("partitions", 0)

    def drop(self) -> list[str]:
        return [f"drop table if exists {ALL}"]

    def create(self) -> list[str]:
        aid = "bigint" if self.scale >= WIDE_SCALE else "int"
        columns = {
            "pgbench_history": f"tid int, bid int, aid {aid}, delta int, mtime timestamp, "
            "filler char(22)",
            "pgbench_tellers": "tid int not null, bid int, tbalance int, filler char(84)",
            "pgbench_accounts": f"aid {aid} not null, bid int, abalance int, filler char(84)",
            "pgbench_branches": "bid int not null, bbalance int, filler char(88)",
        }
        made = []
        for name, cells in columns.items():
            parted = self.partitions if name == "pgbench_accounts" else 0
            method = self.settings.text.get("partition-method", "range")
            tail = f" partition by {method} (aid)" if parted else ""
            if name != "pgbench_history" and not parted:
                tail += f" with (fillfactor={self._fillfactor})"
            # the server lets no logged table refer to an unlogged one, or one in parts be such
            kind = "" if self.partitions else self._kind
            made.append(f"create{kind} table {name} ({cells}){tail}{self._space}")
        return made + self._list_partitions()

    @property
    def _kind(self) -> str:
        return " unlogged" if self.settings.has("unlogged-tables") else ""

    @property
    def _fillfactor(self) -> int:
        return self.settings.number.get("fillfactor", 100)

    @property
    def _space(self) -> str:
        name = self.settings.text.get("tablespace")
        return f" tablespace {_quote(name)}" if name else ""

    def _list_partitions(self) -> list[str]:
        count, made = self.partitions, []
        each = -(-ACCOUNTS * self.scale // count) if count else 0
        for part in range(1, count + 1):
            low = "minvalue" if part == 1 else str((part - 1) * each + 1)
            high = "maxvalue" if part == count else str(part * each + 1)
            values = f"from ({low}) to ({high})"
            if self.settings.text.get("partition-method") == "hash":
                values = f"with (modulus {count}, remainder {part - 1})"
            made.append(
                f"create{self._kind} table pgbench_accounts_{part} partition of pgbench_accounts "
                f"for values {values} with (fillfactor={self._fillfactor}){self._space}"
            )
        return made

    def fill(self) -> list[str]:
        rows = {
            "pgbench_branches(bid, bbalance) select i, 0": self.scale,
            f"pgbench_tellers(tid, bid, tbalance) select i, (i - 1) / {TELLERS} + 1, 0": TELLERS
            * self.scale,
            f"pgbench_accounts(aid, bid, abalance, filler) select i, (i - 1) / {ACCOUNTS} + 1, 0, "
            "''": ACCOUNTS * self.scale,
        }
        filled = [
            f"insert into {each} from generate_series(1, {n}) as i" for each, n in rows.items()
        ]
        return ["begin", f"truncate table {ALL}", *filled, "commit"]

    def vacuum(self) -> list[str]:
        names = ("branches", "tellers", "accounts", "history")
        return [f"vacuum analyze pgbench_{name}" for name in names]

    def add_keys(self) -> list[str]:
        name = self.settings.text.get("index-tablespace")
        space = f" using index tablespace {_quote(name)}" if name else ""
        return [f"alter table {t} add primary key ({key}){space}" for t, key in KEYED.items()]

    def add_foreign_keys(self) -> list[str]:
        return [
            f"alter table {table} add constraint {table}_{key}_fkey "
            f"foreign key ({key}) references {other}"
            for table, keys in FOREIGN.items()
            for key, other in keys.items()
        ]


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def initialize_tables(session: Session, settings: PgbenchSettings, say: Say) -> None:
    """Plays the steps in their order, and says how long each took."""
    tables = Tables(settings)
    parts = f"creating {tables.partitions} partitions..." if tables.partitions else ""
    filling = "generating data (server-side)..."
    steps: dict[str, tuple[tuple[str, ...], str, Callable[[], list[str]]]] = {
        "d": (("dropping old tables...",), "drop tables", tables.drop),
        "t": (
            ("creating tables...", *([parts] if parts else ())),
            "create tables",
            tables.create,
        ),
        "g": ((filling,), "client-side generate", tables.fill),
        "G": ((filling,), "server-side generate", tables.fill),
        "v": (("vacuuming...",), "vacuum", tables.vacuum),
        "p": (("creating primary keys...",), "primary keys", tables.add_keys),
        "f": (("creating foreign keys...",), "foreign keys", tables.add_foreign_keys),
    }
    began_s, told = time.monotonic(), []
    for step in settings.steps:
        sentences, name, statements = steps[step]
        for sentence in sentences:
            say(sentence)
        step_s = time.monotonic()
        for statement in [statements()] if step in "gG" else [[each] for each in statements()]:
            _play(session, statement)
        told.append(f"{name} {time.monotonic() - step_s:.2f} s")
    say(f"done in {time.monotonic() - began_s:.2f} s ({', '.join(told)}).")


def _play(session: Session, statements: list[str]) -> None:
    try:
        ask(session, statements)
    except DynoError as error:
        hint = f"Query was: {'; '.join(statements)}"
        raise UsageError(f"query failed: {error.sentence}", hint=hint) from error
