"""The part `history` in a server: what performance_schema counts, collected by the server itself.

The tables of `ps_history` are those that this server has: their columns are read from its
information_schema, so that each version gets its own, and an upgrade adds what came since.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import dyno
from dyno.errors import TrialFailed, UsageError
from dyno.servers.kit import rights
from dyno.servers.kit.collected import (
    PARTITIONED,
    REPORTS,
    SCHEMA,
    CollectedTable,
    build_reports,
    read_tables,
)
from dyno.servers.kit.server import KitServer, check_scheduler, extract_words, quote, run_all

SQL = Path(__file__).parent / "sql/history"
PART = "history"
#: Where its views of the sys schema are.
READING = "sys_history"
#: In place of a version: the schema is there, and is not ours.
STRANGE = "not ours"
#: In place of a version: it is ours, and was not made to its end.
BEGUN = "begun"
RIGHTS = (
    "CREATE, DROP, ALTER, INDEX, SELECT, INSERT, UPDATE, DELETE, CREATE VIEW, CREATE ROUTINE,"
    " ALTER ROUTINE, EXECUTE and EVENT on ps_history.*",
    "CREATE, DROP, SELECT, INSERT, UPDATE, CREATE ROUTINE, ALTER ROUTINE and EXECUTE on"
    " sys_history.*",
    "SELECT and UPDATE on performance_schema.*",
    "and where the server keeps a binary log SUPER (MySQL 8.0: SESSION_VARIABLES_ADMIN, MariaDB:"
    " BINLOG ADMIN)",
)
REPORTS_TABLE = f"table_schema = '{READING}' AND table_name IN ('reports', 'psh_turn')"
EVENT = (
    f"CREATE EVENT {SCHEMA}.snapshot_performance_schema ON SCHEDULE EVERY 1 SECOND"
    f" ON COMPLETION PRESERVE ENABLE DO CALL {SCHEMA}.collect_at_interval()"
)
#: Told at the end, so that whatever was cut off is known for it.
TOLD = f"REPLACE INTO {SCHEMA}.psh_settings VALUES ('version', '{dyno.__version__}')"
NO_EVENT = f"DROP EVENT IF EXISTS {SCHEMA}.snapshot_performance_schema"
#: How often tables are looked for while a collection may be altering them, and how long apart.
LOOKS, LOOK_PAUSE_S = 6, 0.5
#: Names in procedures are compared, and zero dates kept, as performance_schema has them.
BEGIN = ("SET SESSION sql_mode = ''", "SET NAMES utf8")


def read_state(server: KitServer) -> tuple[str, str]:
    """Return the version that is installed, empty if none is, `BEGUN` if an installation was cut
    off and `STRANGE` if it is not ours; and a remark.
    """
    if [SCHEMA] not in server.query("SHOW DATABASES"):
        return "", ""
    try:
        rows = server.query(f"SELECT variable, value FROM {SCHEMA}.psh_settings")
        ((last,),) = server.query(f"SELECT MAX(ts) FROM {SCHEMA}.psh_collections")
    except TrialFailed:
        rows, last = [], None
    settings = {str(name): str(value) for name, value in rows}
    if not (version := settings.get("version")):
        if _is_begun(server):
            return BEGUN, "not all of it is there: dyno kit upgrade"
        return STRANGE, f"the schema {SCHEMA} is not ours, or damaged"
    at = f"last at {last[:19]} UTC" if last else "nothing collected yet"
    return version, f"{version}, every {settings.get('interval')} s, {at}"


def _is_begun(server: KitServer) -> bool:
    rows = server.query(
        "SELECT table_comment FROM information_schema.tables WHERE table_type = 'BASE TABLE'"
        f" AND table_schema = '{SCHEMA}'"
    )
    return all(comment == "dyno kit history" for (comment,) in rows)


def explain_stopped(server: KitServer) -> str:
    """Return the remark if collections do not come although the scheduler runs, or "". One that is
    late by less than three intervals and ten seconds is no reason.
    """
    asked = (
        "SELECT MAX(ts), IFNULL(MAX(ts) + INTERVAL 3 * (SELECT value + 0 FROM"
        f" {SCHEMA}.psh_settings WHERE variable = 'interval') + 10 SECOND > UTC_TIMESTAMP(), 0),"
        f" (SELECT MAX(problem) FROM {READING}.psh_turn) FROM {SCHEMA}.psh_collections"
    )
    try:
        ((last, is_recent, problem),) = server.query("SET SESSION time_zone = '+00:00'", asked)
    except TrialFailed:
        return ""
    if is_recent == "1" or not (last or problem):
        return ""
    since = f"nothing collected since {last[:19]} UTC" if last else "nothing collected"
    return f"{since}: {problem}" if problem else since


def install(server: KitServer) -> bool:
    """Install the part unless it is there; return whether anything was made. After a refusal, what
    is half-made is removed. `UsageError` if the event scheduler or performance_schema is off, a
    right is missing, or the schema is another tool's.
    """
    found, _ = read_state(server)
    unsafe = rights.find_unsafe(server, PART)
    if found == dyno.__version__ and not unsafe and is_whole(server):
        return False
    if found == BEGUN or (found == dyno.__version__ and not unsafe):  # it was cut off
        return upgrade(server)
    if found:
        older = f"{found}, with {unsafe[0]}" if unsafe else found
        raise UsageError(
            f"the schema '{SCHEMA}' is there already, and not this version's ({older})",
            hint="dyno kit upgrade brings ours to this version; what another tool made must be "
            "dropped by hand",
        )
    _check_reading(server)
    _check_counting(server)
    _check_log(server)
    check_scheduler(server, "the history is collected by it")
    begin, *rest = _read_script(server, "tables")
    run_all(server, [begin], "install history", RIGHTS)
    try:
        made_by = [
            *BEGIN,
            *rest,
            *_list_routines(server),
            *_build_reports_schema(server),
            EVENT,
            TOLD,
        ]
        run_all(server, made_by, "install history", RIGHTS)
    except BaseException:
        with suppress(TrialFailed, UsageError):  # the first error is told; `status` shows the rest
            _drop_all(server)
        raise
    return True


def _has_reports_schema(server: KitServer) -> bool:
    """Whether something of the reports' schema is there, and ours."""
    ours = f"schema = '{READING}' AND {{0}}_comment LIKE 'dyno kit history%'"
    asked = (
        f"SELECT 1 FROM information_schema.{{0}}s WHERE {{0}}_{ours}".format(it)
        for it in ("table", "routine")
    )
    return bool(server.query(" UNION ALL ".join(asked)))


def _check_reading(server: KitServer) -> None:
    # an empty one is of an installation that was cut off
    tables = f"SELECT 1 FROM information_schema.tables WHERE table_schema = '{READING}'"
    if server.query(tables) and not _has_reports_schema(server):
        raise UsageError(
            f"the schema '{READING}' is there already, and is not the kit's",
            hint="the history needs that name: rename yours",
        )


def _check_counting(server: KitServer) -> None:
    ((counting,),) = server.query("SELECT @@GLOBAL.performance_schema")
    if counting != "1":
        raise UsageError(
            "the server's performance_schema is off, and there is nothing to collect",
            hint="set performance_schema = ON in the server's settings and restart it (MariaDB's "
            "default is OFF)",
        )


def _check_log(server: KitServer) -> None:
    """Check the right to leave the binary log: a collection keeps itself out of it. Without the
    right nothing would be collected, and only the server's log would say so.
    """
    ((log,),) = server.query("SELECT @@GLOBAL.log_bin")
    try:
        server.query("SET SESSION sql_log_bin = 0" if log == "1" else "DO 1")
    except TrialFailed as refused:
        later = "SESSION_VARIABLES_ADMIN" if server.number >= (8, 0) else "SUPER"
        right = "BINLOG ADMIN" if server.is_mariadb else later
        raise UsageError(
            "this user may not set sql_log_bin, which keeps collections out of the binary log",
            cause=extract_words(refused),
            hint=f"GRANT {right} ON *.* TO that user",
        ) from refused


def _read_script(server: KitServer, name: str) -> list[str]:
    in_performance_schema = not server.is_mariadb and server.number >= (5, 7)
    status = f"{'performance' if in_performance_schema else 'information'}_schema.global_status"
    text = (SQL / f"{name}.sql").read_text()
    filled = {"version": dyno.__version__, "partitioned": PARTITIONED, "status": status}
    for word, meaning in filled.items():
        text = text.replace(f"{{{word}}}", meaning)
    return [it.strip() for it in text.split("$$\n") if it.strip()]


def _list_routines(server: KitServer) -> Iterator[str]:
    counted = read_tables(server)
    yield from (it.create() for it in counted.values())
    added = "SET v_rows = v_rows + ROW_COUNT();"
    taken = "".join(f"\n  {it.collect(server.build_hash)};\n  {added}" for it in counted.values())
    for text in [*_read_script(server, "routines"), *_read_script(server, "take")]:
        yield text.replace("{tables}", taken)


def _build_reports_schema(server: KitServer) -> Iterator[str]:
    """The schema of the reports, for the columns that this server has."""
    begin, table, *procedures = _read_script(server, "reading")
    yield from (begin, table)
    for each in build_reports(read_tables(server)):
        fields = ", ".join("'{}'".format(it.replace("'", "''")) for it in each)
        yield f"INSERT INTO {READING}.reports VALUES ({fields})"
    yield from procedures


def upgrade(server: KitServer) -> bool:
    """Bring routines, tables and columns to this version and to what the server has now; what was
    collected stays. Return whether anything changed.
    """
    whole = is_whole(server) and read_state(server)[0] == dyno.__version__
    if whole and not rights.find_unsafe(server, PART):
        return False
    run_all(server, [NO_EVENT], "upgrade history", RIGHTS)
    had, made_by = _read_tables(server), list(_list_routines(server))
    added = [
        f"ALTER TABLE {SCHEMA}.`{name}` ADD COLUMN {column.quoted} {column.kind} NULL"
        for name, table in read_tables(server).items()
        for column in table.columns
        if name in had and column.name not in had[name].names
    ]
    there = [it.split(".", 1) for it in _list_procedures(server)]
    drops = [f"DROP PROCEDURE {SCHEMA}.{quote(it)}" for schema, it in there if schema == SCHEMA]
    _check_reading(server)
    # nothing that was collected is in the reports' schema
    drops.append(f"DROP DATABASE IF EXISTS {READING}")
    all_of_it = [
        *(*BEGIN, *drops, *added),
        *(
            *_list_missing(server),
            *[text for text in _read_script(server, "tables") if text.startswith("INSERT IGNORE")],
            *made_by,
            *_build_reports_schema(server),
            EVENT,
            TOLD,
        ),
    ]
    run_all(server, all_of_it, "upgrade history", RIGHTS)
    return True


def _list_missing(server: KitServer) -> list[str]:
    """Return what makes those of the kit's own tables and views that were dropped."""
    rows = server.query(
        f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{SCHEMA}'"
    )
    there = {name for (name,) in rows}
    texts = _read_script(server, "tables")
    made = [(re.search(rf"^CREATE .*{SCHEMA}\.(\w+)", text, re.M), text) for text in texts]
    return [text for name, text in made if name and name[1] not in there]


def _read_tables(server: KitServer) -> dict[str, CollectedTable]:
    """Return the tables of the history. MySQL 5.6 does not list one that is being altered."""
    wanted, found = read_tables(server), {}
    for _ in _list_looks(server):
        found = read_tables(server, SCHEMA)
        if wanted.keys() <= found.keys():
            break
    return found


def _list_looks(server: KitServer) -> Iterator[None]:
    """Yield for each look at the tables: two, and more while a collection is running."""
    yield
    for _ in range(LOOKS - 1):
        collects = True  # also where that may not be seen
        with suppress(TrialFailed):
            turn = f"SELECT 1 FROM {READING}.psh_turn WHERE connection_id <> 0"
            collects = bool(server.query(turn))
        if collects:
            time.sleep(LOOK_PAUSE_S)
        yield
        if not collects:
            return


def is_whole(server: KitServer) -> bool:
    """Whether all tables, views and procedures are there, the event, and all columns that the
    server has now. What is missing is looked for once more: a collection may be altering it.
    """
    return any(_is_whole_now(server) for _ in _list_looks(server))


def _is_whole_now(server: KitServer) -> bool:
    if _list_missing(server):
        return False
    had = read_tables(server, SCHEMA)
    if any(
        name not in had or it.names - had[name].names for name, it in read_tables(server).items()
    ):
        return False
    texts = "\n".join([*_list_routines(server), *_read_script(server, "reading")])
    made = re.findall(r"CREATE PROCEDURE (\w+\.\w+)", texts)
    events = server.query(
        f"SELECT event_name FROM information_schema.events WHERE event_schema = '{SCHEMA}'"
    )
    return set(made) <= _list_procedures(server) and bool(events) and _has_reports(server)


def _has_reports(server: KitServer) -> bool:
    if len(server.query(f"SELECT 1 FROM information_schema.tables WHERE {REPORTS_TABLE}")) < 2:
        return False
    names = {name for (name,) in server.query(f"SELECT name FROM {READING}.reports")}
    return names == {path.stem for path in REPORTS.glob("*.sql")}


def _list_procedures(server: KitServer) -> set[str]:
    rows = server.query(
        "SELECT routine_schema, routine_name FROM information_schema.routines"
        f" WHERE routine_schema IN ('{SCHEMA}', '{READING}')"
    )
    return {f"{schema}.{name}" for schema, name in rows}


def uninstall(server: KitServer) -> bool:
    """Drop the schema with all that was collected; return whether it was there. `UsageError` for
    another tool's.
    """
    found, _ = read_state(server)
    if not found:
        return False
    if found == STRANGE:
        raise UsageError(
            f"the schema '{SCHEMA}' is not one of this kit's, or damaged",
            hint=f"DROP DATABASE {SCHEMA} by hand",
        )
    run_all(server, [NO_EVENT], "uninstall history", RIGHTS)
    _drop_all(server)
    return True


def _drop_all(server: KitServer) -> None:
    """Drop both schemas, last the one that identifies the part, so that an interruption is seen."""
    drops = [f"DROP DATABASE {READING}"] if _has_reports_schema(server) else []
    run_all(server, [*drops, f"DROP DATABASE {SCHEMA}"], "uninstall history", RIGHTS)
