"""The part `history` in a server: what performance_schema counts, collected by the server itself.

The tables of `ps_history` are those that this server has: their columns are read from its
information_schema, so that each version gets its own, and an upgrade adds what came since.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import dyno
from dyno.errors import TrialFailed, UsageError
from dyno.kit.server import Server, check_scheduler, run_all

SQL = Path(__file__).parent / "sql/history"
PART = "history"
SCHEMA = "ps_history"
#: In place of a version: the schema is there, and is not ours.
STRANGE = "not ours"
RIGHTS = (
    "CREATE, DROP, ALTER, INDEX, SELECT, INSERT, UPDATE, DELETE, CREATE VIEW, CREATE ROUTINE,"
    " ALTER ROUTINE, EXECUTE and EVENT on ps_history.*",
    "SELECT and UPDATE on performance_schema.*",
    "PROCESS",
    "and where the server keeps a binary log SUPER (MariaDB: BINLOG ADMIN)",
)
#: What counts since the server began: summaries, but of single threads, accounts and objects in
#: memory, whose sums stand in the others.
COUNTED = re.compile(
    r"(?!.*_by_(thread|account|program|instance)(_|$)).*_summary_.*"
    r"|file_summary_by_instance|accounts|hosts|users|global_status"
)
#: What tells a table's rows apart.
KEYS = {
    *("EVENT_NAME", "HOST", "USER", "SCHEMA_NAME", "DIGEST", "OBJECT_TYPE", "OBJECT_SCHEMA"),
    *("OBJECT_NAME", "INDEX_NAME", "FILE_NAME", "VARIABLE_NAME", "ERROR_NUMBER"),
}
#: Whole statements with people's values, not normalised: they stay in the server's memory.
LEFT_OUT = "QUERY_SAMPLE_TEXT"
#: Rows of which nothing was counted are not kept; which column says so, the first that is there.
COUNTS = ("COUNT_STAR", "COUNT_ALLOC", "SUM_ERROR_RAISED")
#: Of every host and user one row of each kind, so that one that did nothing is told, too.
OF_ALL = "'statement/sql/select', 'wait/io/file/sql/binlog'"
#: Partitions are added as time goes on: psh_add_partitions.
PARTITIONED = "PARTITION BY RANGE (TO_SECONDS(ts)) (PARTITION p0 VALUES LESS THAN (0))"
EVENT = (
    f"CREATE EVENT {SCHEMA}.snapshot_performance_schema ON SCHEDULE EVERY 1 SECOND"
    f" ON COMPLETION PRESERVE ENABLE DO CALL {SCHEMA}.collect_at_interval()"
)
#: Names in procedures are compared, and zero dates kept, as performance_schema has them.
BEGIN = ("SET SESSION sql_mode = ''", "SET NAMES utf8")


@dataclass(frozen=True)
class Column:
    """A column of the server's; `kind` as CREATE TABLE says it."""

    name: str
    kind: str

    @property
    def quoted(self) -> str:
        """As statements have it."""
        return f"`{self.name}`"


@dataclass(frozen=True)
class Table:
    """A table of performance_schema that is collected, under its own name."""

    name: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> set[str]:
        """Those of the columns."""
        return {it.name for it in self.columns}

    def create(self) -> str:
        """The statement that makes its history."""
        columns = "".join(f" {it.quoted} {it.kind} NULL," for it in self.columns)
        return (
            f"CREATE TABLE IF NOT EXISTS {SCHEMA}.`{self.name}` (ts DATETIME(6) NOT NULL,"
            f" server_start DATETIME NOT NULL, row_key BINARY(16) NOT NULL,{columns}"
            f" PRIMARY KEY (ts, row_key)) ENGINE=InnoDB COMMENT 'dyno kit history' {PARTITIONED}"
        )

    def collect(self) -> str:
        """The statement that collects it. Should the server tell a row twice, it is added up."""
        names = ", ".join(it.quoted for it in self.columns)
        keys = [f"COALESCE({it.quoted}, CHAR(0))" for it in self.columns if it.name in KEYS]
        added = [it.quoted for it in self.columns if it.name.startswith(("COUNT_", "SUM_"))]
        sums = ", ".join(f"{it} = t.{it} + VALUES({it})" for it in added) or "ts = t.ts"
        return (
            f"INSERT INTO {SCHEMA}.`{self.name}` (ts, server_start, row_key, {names})"
            f" SELECT v_ts, v_start, UNHEX(MD5(CONCAT_WS(CHAR(1), {', '.join(keys)}))), {names}"
            f" FROM performance_schema.`{self.name}`{self._where()}"
            f" ON DUPLICATE KEY UPDATE {sums.replace('t.', f'{SCHEMA}.`{self.name}`.')}"
        )

    def _where(self) -> str:
        names = self.names
        if "VARIABLE_VALUE" in names:
            return " WHERE variable_value NOT IN ('', '0')"
        counted = next((it for it in COUNTS if it in names), "")
        if not counted:
            return ""
        if self.name == "file_summary_by_instance":
            return f" WHERE {counted} > 0 AND file_name NOT LIKE '%/{SCHEMA}/%'"
        everybody = f" OR event_name IN ({OF_ALL})" if names & {"HOST", "USER"} else ""
        return f" WHERE {counted} > 0{everybody if 'EVENT_NAME' in names else ''}"


def tables(server: Server, schema: str = "performance_schema") -> dict[str, Table]:
    """What is collected on this server, or with `schema` what its history has."""
    rows = server.query(
        "SELECT table_name, column_name, column_type, character_set_name, collation_name"
        f" FROM information_schema.columns WHERE table_schema = '{schema}'"
        " ORDER BY table_name, ordinal_position"
    )
    found: dict[str, list[Column]] = {}
    for name, column, kind, charset, collation in rows:
        text = f" CHARACTER SET {charset} COLLATE {collation}" if charset else ""
        if COUNTED.fullmatch(str(name)) and column != LEFT_OUT:
            found.setdefault(str(name), []).append(Column(str(column), f"{kind}{text}"))
    return {name: Table(name, tuple(columns)) for name, columns in found.items()}


def state(server: Server) -> tuple[str, str]:
    """The version that is installed, empty where none is and `STRANGE` where it is not ours; and
    what is to be told of it.
    """
    if [SCHEMA] not in server.query("SHOW DATABASES"):
        return "", ""
    try:
        rows = server.query(f"SELECT variable, value FROM {SCHEMA}.psh_settings")
        ((last,),) = server.query(f"SELECT MAX(ts) FROM {SCHEMA}.psh_collections")
    except TrialFailed:
        return STRANGE, f"the schema {SCHEMA} is not ours, or damaged"
    settings = {str(name): str(value) for name, value in rows}
    if not (version := settings.get("version")):
        return STRANGE, f"the schema {SCHEMA} is another tool's"
    at = f"last at {last[:19]} UTC" if last else "nothing collected yet"
    return version, f"{version}, every {settings['interval']} s, {at}"


def install(server: Server) -> bool:
    """Makes the part where it is not there: was anything made? What a refusal leaves half-made
    goes again. `UsageError` where the event scheduler or performance_schema is off, a right is
    missing, or the schema is somebody else's.
    """
    found, _ = state(server)
    if found == dyno.__version__:
        return False
    if found:
        raise UsageError(
            f"the schema '{SCHEMA}' is there already, and not this version's ({found})",
            hint="dyno kit upgrade brings ours to this version; what another tool made must be "
            "dropped by hand",
        )
    _check_counting(server)
    check_scheduler(server, "the history is collected by it")
    begin, *rest = _script(server, "tables")
    run_all(server, [begin], "install history", RIGHTS)
    try:
        made_by = [*BEGIN, *rest, *_routines(server), EVENT]
        run_all(server, made_by, "install history", RIGHTS, together=True)
    except BaseException:
        with suppress(TrialFailed):
            server.query(f"DROP DATABASE {SCHEMA}")
        raise
    return True


def _check_counting(server: Server) -> None:
    ((counting,),) = server.query("SELECT @@GLOBAL.performance_schema")
    if counting != "1":
        raise UsageError(
            "the server's performance_schema is off, and there is nothing to collect",
            hint="performance_schema = ON in the server's settings, and a restart (MariaDB has it "
            "off unless told)",
        )


def _script(server: Server, name: str) -> list[str]:
    in_performance_schema = not server.is_mariadb and server.number >= (5, 7)
    status = f"{'performance' if in_performance_schema else 'information'}_schema.global_status"
    text = (SQL / f"{name}.sql").read_text()
    filled = {"version": dyno.__version__, "partitioned": PARTITIONED, "status": status}
    for word, meaning in filled.items():
        text = text.replace(f"{{{word}}}", meaning)
    return [it.strip() for it in text.split("$$\n") if it.strip()]


def _routines(server: Server) -> Iterator[str]:
    """Tables and routines, as this server has them; those that are there stay."""
    counted = tables(server)
    yield from (it.create() for it in counted.values())
    added = "SET v_rows = v_rows + ROW_COUNT();"
    taken = "".join(f"\n  {it.collect()};\n  {added}" for it in counted.values())
    for text in [*_script(server, "routines"), *_script(server, "take")]:
        yield text.replace("{tables}", taken)


def upgrade(server: Server) -> bool:
    """Brings routines, tables and columns to this version and to what the server has now; what
    was collected stays. Was anything changed?
    """
    if is_whole(server) and state(server)[0] == dyno.__version__:
        return False
    had, made_by = tables(server, SCHEMA), list(_routines(server))
    added = [
        f"ALTER TABLE {SCHEMA}.`{name}` ADD COLUMN {column.quoted} {column.kind} NULL"
        for name, table in tables(server).items()
        for column in table.columns
        if name in had and column.name not in had[name].names
    ]
    drops = [f"DROP PROCEDURE {SCHEMA}.`{name}`" for name in _there(server)]
    told = (
        f"UPDATE {SCHEMA}.psh_settings SET value = '{dyno.__version__}' WHERE variable = 'version'"
    )
    all_of_it = [
        *(*BEGIN, f"DROP EVENT IF EXISTS {SCHEMA}.snapshot_performance_schema", *drops, *added),
        *(*made_by, EVENT, told),
    ]
    run_all(server, all_of_it, "upgrade history", RIGHTS, together=True)
    return True


def is_whole(server: Server) -> bool:
    """Whether every procedure is there, the event, and all columns that the server has now."""
    had = tables(server, SCHEMA)
    if any(name not in had or it.names - had[name].names for name, it in tables(server).items()):
        return False
    made = re.findall(rf"CREATE PROCEDURE {SCHEMA}\.(\w+)", "\n".join(_routines(server)))
    events = server.query(
        f"SELECT event_name FROM information_schema.events WHERE event_schema = '{SCHEMA}'"
    )
    return set(made) <= _there(server) and bool(events)


def _there(server: Server) -> set[str]:
    """The procedures."""
    rows = server.query(
        f"SELECT routine_name FROM information_schema.routines WHERE routine_schema = '{SCHEMA}'"
    )
    return {str(name) for (name,) in rows}


def uninstall(server: Server) -> bool:
    """Drops the schema with all that was collected: was it there? `UsageError` for another's."""
    found, _ = state(server)
    if not found:
        return False
    if found == STRANGE:
        raise UsageError(
            f"the schema '{SCHEMA}' is not one of this kit's, or damaged",
            hint=f"DROP DATABASE {SCHEMA} by hand",
        )
    drops = [f"DROP EVENT IF EXISTS {SCHEMA}.snapshot_performance_schema"]
    run_all(server, [*drops, f"DROP DATABASE {SCHEMA}"], "uninstall history", RIGHTS)
    return True
