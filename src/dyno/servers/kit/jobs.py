"""The part `async` in a server: its schema, the accounts that may queue, and that all of it goes.

Workers and accounts are made one by one, from what is the same for all: CREATE EVENT and CREATE
PROCEDURE cannot be prepared, so no procedure in the server could make them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import dyno
from dyno.errors import HostError, TrialFailed, UsageError
from dyno.servers.kit import queueing, rights
from dyno.servers.kit.queueing import SCHEMA, QueueAccount, escape_text
from dyno.servers.kit.server import KitServer, check_scheduler, quote, run_all

#: In this order.
SCRIPTS = [
    Path(__file__).parent / f"sql/async/{name}.sql"
    for name in ("tables", "calls", "workers", "tending")
]
#: What their statements have in braces. As many workers as there can be, and how many there are at
#: first; events that alternate (about so many sessions can begin in a second); how long a job and
#: its result are kept after its end, and how many rows the results of an account, at first.
FILLED = {
    "workers": 8,
    "workers_max": 32,
    "places": 480,
    "retention_h": 168,
    "result_rows_max": 10_000_000,
}
UTF8 = "DEFAULT CHARACTER SET utf8mb4"
PART = "async"
RIGHTS = ("the rights of an administrator with GRANT OPTION, as root has them",)
#: In place of a version: the schema is there, and is not ours.
STRANGE = "not ours"
#: In place of a version: it is ours, and was not made to its end.
BEGUN = "begun"
ROUTINE = re.compile(r"^CREATE (?:DEFINER=\S+ )?(?:PROCEDURE|FUNCTION) async\.(\w+)", re.M)
#: The events that tend run each second; later than that is told.
LATE_S = 15
#: How long workers may take to end.
END_S = 30.0


def parse_account(text: str) -> QueueAccount:
    """Parse `user@host`; `UsageError` if it is none."""
    user, at, host = text.rpartition("@")
    if not (at and user and host):
        raise UsageError(
            f"'{text}' is not an account", hint="write user@host, or user@% for any host"
        )
    return QueueAccount(f"{user}@{host}")


def read_version(server: KitServer) -> str:
    """Return the version that is installed; empty if none is, `BEGUN` if an installation was cut
    off, `STRANGE` if it is not ours.
    """
    if [SCHEMA] not in server.query("SHOW DATABASES"):
        return ""
    try:
        rows = server.query("SELECT value FROM async.settings WHERE variable = 'version'")
    except TrialFailed:
        rows = []
    if rows:
        return rows[0][0] or ""
    tables = server.query(
        "SELECT table_comment FROM information_schema.tables WHERE table_schema = 'async'"
    )
    return BEGUN if all(comment == "dyno kit async" for (comment,) in tables) else STRANGE


def list_accounts(server: KitServer) -> list[QueueAccount]:
    rows = server.query("SELECT name, id FROM async.account ORDER BY id")
    return [QueueAccount(str(name), int(number or 0)) for name, number in rows]


def explain_stopped(server: KitServer) -> str:
    """Return the remark if no event tends the jobs although the scheduler runs, or ""."""
    late = f"lap_on < UTC_TIMESTAMP() - INTERVAL {LATE_S} SECOND"
    rows = server.query(
        f"SELECT lap_on, slot = 0 FROM async.worker WHERE slot IN (0, 65535) AND {late}"
        " ORDER BY slot"
    )
    if not rows:
        return ""
    lacking = "no event tends the jobs" if rows[0][1] == "1" else "no job was forgotten"
    return f"{lacking} since {str(rows[0][0])[:19]} UTC: the server's log says why"


def install(server: KitServer, names: Sequence[str]) -> list[str]:
    """Install the part unless it is there, and let these accounts and the installing one queue;
    return those that are new, or all after an interruption. After a refusal, what is half-made is
    removed.
    """
    wanted = [parse_account(name) for name in names]
    check_scheduler(server, "jobs run by it")
    found = read_version(server)
    unsafe = rights.find_unsafe(server, SCHEMA)
    if found not in ("", BEGUN) and (found != dyno.__version__ or unsafe):
        older = f"{found}, with {unsafe[0]}" if unsafe else found
        raise UsageError(
            f"the schema '{SCHEMA}' is there already, and not this version's ({older})",
            hint="dyno kit upgrade brings ours to this version; what another tool made must be "
            "dropped by hand",
        )
    for account in wanted:
        _check_account(server, account)
    mended: list[str] = []
    try:
        if found != dyno.__version__:
            _make(server)
        elif list_accounts(server) and not is_whole(server):  # it was cut off
            upgrade(server)
            mended = [account.name for account in list_accounts(server)]
        known = {account.name for account in list_accounts(server)}
        ((own,),) = server.query("SELECT CURRENT_USER()")
        new = dict.fromkeys([str(own), *(it.name for it in wanted)])
        let = [name for name in new if name not in known]
        for name in let:
            _let_in(server, name)
    except BaseException:
        if not found:
            uninstall(server)
        raise
    return [*mended, *let]


def _check_account(server: KitServer, account: QueueAccount) -> None:
    user, _, host = account.name.rpartition("@")
    found = server.query(
        f"SELECT 1 FROM mysql.user WHERE user = '{escape_text(user)}'"
        f" AND host = '{escape_text(host)}'"
    )
    if not found:
        raise UsageError(
            f"the server has no account {account.name}",
            hint="SELECT user, host FROM mysql.user lists them",
        )


def split_statements(script: Path) -> list[str]:
    """Return a script's statements, each ended by `$$`, with the comments before them."""
    text = script.read_text()
    for name, value in FILLED.items():
        text = text.replace(f"{{{name}}}", str(value))
    return [it.strip() for it in text.split("$$\n") if it.strip()]


def _make(server: KitServer) -> None:
    """Make all but the accounts anew: tables that are there stay. The version is written last, so
    that an interruption is seen.
    """
    begin, *rest = (it for script in SCRIPTS for it in split_statements(script))
    _end_workers(server)
    if [SCHEMA] not in server.query("SHOW DATABASES"):
        run_all(server, [begin], "install async", RIGHTS)
    older = [*_list_table_upgrades(server), *_list_drops(server)]
    told = f"REPLACE INTO async.settings VALUES ('version', '{dyno.__version__}')"
    made_by = [*older, *rest, *_list_workers(), told]
    run_all(server, made_by, "install async", RIGHTS)


def _list_workers() -> Iterator[str]:
    """The events that alternate, what wakes each, and those that tend and sweep.

    An event of one time only (AT) that has run once is never run again, whatever ALTER EVENT says,
    while the server has others (5.6.14, 8.0.33, 10.11.19); one of every year is, from STARTS on.
    """
    for place in range(1, FILLED["places"] + 1):
        yield (
            f"CREATE EVENT async.worker_{place} ON SCHEDULE EVERY 1 YEAR DISABLE"
            f" DO CALL async.work({place})"
        )
        yield (
            f"CREATE PROCEDURE async.wake_{place}() SQL SECURITY INVOKER MODIFIES SQL DATA"
            f" ALTER EVENT async.worker_{place} ON SCHEDULE EVERY 1 YEAR"
            " STARTS CURRENT_TIMESTAMP ENABLE"
        )
    for name in ("tend", "sweep"):
        yield f"CREATE EVENT async.{name} ON SCHEDULE EVERY 1 SECOND DO CALL async.{name}()"


def _let_in(server: KitServer, name: str) -> None:
    insert = f"INSERT INTO async.account (name) VALUES ('{escape_text(name)}')"
    run_all(server, [insert], f"let {name} queue", RIGHTS)
    account = next(it for it in list_accounts(server) if it.name == name)
    make_schema = f"CREATE DATABASE {account.schema} {UTF8}"
    made = False
    try:
        run_all(server, [make_schema], f"let {name} queue", RIGHTS)
        made = True
        _make_account(server, account)
    except BaseException:
        if made:  # a schema of that name that was there before is not ours
            _expel(server, account)
        _try(server, f"DELETE FROM async.account WHERE id = {account.number}")
        raise


def _make_account(server: KitServer, account: QueueAccount) -> None:
    made_by = [
        *queueing.list_schema_statements(account),
        *(grant for grant, _ in queueing.list_grants(account, _escape_pattern(server, account))),
    ]
    run_all(server, made_by, f"let {account.name} queue", RIGHTS)


def _escape_pattern(server: KitServer, account: QueueAccount) -> str:
    """The account's schema as GRANT takes it: _ is any letter there, unless rights can be revoked
    in part (MySQL 8.0).
    """
    rows = server.query("SHOW GLOBAL VARIABLES LIKE 'partial_revokes'")
    return account.schema if rows and rows[0][1] == "ON" else account.schema.replace("_", r"\_")


def _expel(server: KitServer, account: QueueAccount) -> None:
    """Revoke what an account was granted, and drop its schema and procedures."""
    back = [it for _, it in queueing.list_grants(account, _escape_pattern(server, account))]
    drops = [
        f"DROP PROCEDURE IF EXISTS async.{name.format(account.number)}"
        for name in queueing.ROUTINES
    ]
    _try(server, *back, *drops, f"DROP DATABASE IF EXISTS {account.schema}")
    _try(server, *queueing.list_older_grants(account))


def upgrade(server: KitServer) -> bool:
    """Bring all of it to this version, and make what is missing; jobs and results stay, and what
    runs is ended. Return whether anything changed.
    """
    is_new = read_version(server) == dyno.__version__
    if is_new and is_whole(server) and not rights.find_unsafe(server, SCHEMA):
        return False
    _make(server)
    for account in list_accounts(server):
        _check_schema(server, account)
        make_schema = f"CREATE DATABASE IF NOT EXISTS {account.schema} {UTF8}"
        run_all(server, [make_schema], "upgrade async", RIGHTS)
        _try(server, *queueing.list_older_grants(account))
        _make_account(server, account)
    if not list_accounts(server):
        install(server, [])
    return True


def _check_schema(server: KitServer, account: QueueAccount) -> None:
    """Raise `UsageError` if the account's schema holds another tool's tables."""
    found = server.query(
        "SELECT table_name FROM information_schema.tables WHERE table_comment <> 'dyno kit async'"
        f" AND table_schema = '{account.schema}' AND table_name NOT REGEXP '^(rs_[0-9]+|jobs)$'"
    )
    if found:
        raise UsageError(
            f"the schema '{account.schema}' holds {found[0][0]}, which is not the kit's",
            hint="move it elsewhere: the kit needs that schema",
        )


def _list_drops(server: KitServer) -> Iterator[str]:
    """Statements that drop triggers, views and routines."""
    ours = "REGEXP '^async(_[0-9]+)?$'"
    triggers = server.query(
        "SELECT trigger_schema, trigger_name FROM information_schema.triggers"
        f" WHERE trigger_schema {ours} AND (trigger_schema = 'async' OR trigger_name = 'enter')"
    )
    views = server.query(
        "SELECT table_schema FROM information_schema.views"
        f" WHERE table_schema {ours} AND table_name = 'jobs'"
    )
    routines = server.query(
        "SELECT routine_type, routine_name FROM information_schema.routines"
        " WHERE routine_schema = 'async'"
    )
    yield from (f"DROP TRIGGER {schema}.{quote(name)}" for schema, name in triggers)
    yield from (f"DROP VIEW {schema}.jobs" for (schema,) in views)
    yield from (f"DROP {kind} async.{quote(name)}" for kind, name in routines)


def _list_table_upgrades(server: KitServer) -> Iterator[str]:
    """Statements that bring the tables of older versions to this one's: the text of a job moves to
    its account's schema, and what ran is lost.
    """
    rows = server.query(
        "SELECT CONCAT(table_name, '.', column_name) FROM information_schema.columns"
        " WHERE table_schema = 'async'"
    )
    columns = {str(name) for (name,) in rows}
    if "needs.job" in columns and "needs.account" not in columns:
        yield (
            "ALTER TABLE async.needs ADD COLUMN account SMALLINT UNSIGNED NOT NULL DEFAULT 0 FIRST,"
            " DROP PRIMARY KEY, ADD PRIMARY KEY (account, job, needed), COMMENT 'dyno kit async'"
        )
    if "q.sql_text" not in columns:
        return
    yield (
        "UPDATE async.needs AS n JOIN async.q AS j ON j.q_id = n.job SET n.account = j.account"
        " WHERE n.account = 0"
    )
    for account in list_accounts(server):
        yield from (it for it in queueing.list_tables(account) if "inbox" in it)
        yield (
            f"INSERT IGNORE INTO {account.schema}.inbox (q_id, {queueing.WRITTEN})"
            f" SELECT q_id, {queueing.WRITTEN} FROM async.q WHERE account = {account.number}"
        )
    yield (
        "UPDATE async.q SET state = 'LOST', completed_on = UTC_TIMESTAMP(6),"
        " errmsg = 'the kit was upgraded' WHERE state = 'RUNNING'"
    )
    for table in ("settings", "account", "worker", "boot"):
        yield f"ALTER TABLE async.{table} COMMENT 'dyno kit async'"
    yield (
        "ALTER TABLE async.q DROP PRIMARY KEY, MODIFY q_id BIGINT UNSIGNED NOT NULL,"
        " ADD PRIMARY KEY (account, q_id), DROP KEY next_one, DROP KEY wishes, DROP KEY old_ones,"
        " ADD KEY next_job (state, priority, created_on, account, q_id),"
        " ADD KEY waiting (account, state), ADD KEY old_jobs (account, completed_on),"
        " DROP COLUMN sql_text, DROP COLUMN after_list, DROP COLUMN wanted,"
        " COMMENT 'dyno kit async'"
    )


def is_whole(server: KitServer) -> bool:
    """Whether all routines, events, tables and triggers are there, and the rights of each account:
    the last that is granted, as they are granted in order.
    """
    let = list_accounts(server)
    texts = "\n".join(text for script in SCRIPTS for text in split_statements(script))
    wanted = {f"async.{name}" for name in ROUTINE.findall("\n".join([texts, *_list_workers()]))}
    wanted |= {f"async.{it}" for it in re.findall(r"TABLE IF NOT EXISTS async\.(\w+)", texts)}
    wanted |= {
        f"event {it}" for it in re.findall(r"EVENT async\.(\w+) ON", "".join(_list_workers()))
    }
    for account in let:
        wanted |= {f"async.{it.format(account.number)}" for it in queueing.ROUTINES}
        wanted |= {f"{account.schema}.{it}" for it in (*queueing.TABLES, "enter")}
        wanted.add(f"rights {account.schema}")
    there = server.query(
        "SELECT CONCAT(routine_schema, '.', routine_name) FROM information_schema.routines"
        " WHERE routine_schema = 'async'"
        " UNION ALL SELECT CONCAT('event ', event_name) FROM information_schema.events"
        " WHERE event_schema = 'async'"
        " UNION ALL SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables"
        " WHERE table_schema REGEXP '^async(_[0-9]+)?$' AND table_comment = 'dyno kit async'"
        " UNION ALL SELECT CONCAT(trigger_schema, '.', trigger_name)"
        " FROM information_schema.triggers WHERE trigger_schema REGEXP '^async_[0-9]+$'"
        " UNION ALL SELECT CONCAT('rights ', table_schema)"
        " FROM information_schema.column_privileges"
        " WHERE table_schema REGEXP '^async_[0-9]+$' AND table_name = 'wishes'"
    )
    return bool(let) and wanted <= {str(name) for (name,) in there}


def uninstall(server: KitServer) -> bool:
    """End the workers, revoke what was granted, drop every schema; return whether anything was
    there.

    Only what Dyno made is removed; `UsageError` for a schema `async` of another tool's.
    """
    found = read_version(server)
    if not found:
        return False
    if found == STRANGE:
        raise UsageError(
            f"the schema '{SCHEMA}' is not one of this kit's",
            hint=f"DROP DATABASE {SCHEMA} by hand",
        )
    _end_workers(server)
    # clients of a job get an answer; a schema cannot be dropped while a procedure of it runs
    _try(
        server,
        "UPDATE async.q SET state = 'CANCELLED' WHERE state IN ('QUEUED', 'BLOCKED', 'RUNNING')",
    )
    for account in _list_existing_accounts(server):
        _expel(server, account)
    run_all(server, [f"DROP DATABASE {SCHEMA}"], "uninstall async", RIGHTS)
    return True


def _list_existing_accounts(server: KitServer) -> list[QueueAccount]:
    try:
        return list_accounts(server)
    except TrialFailed:
        return []


def _try(server: KitServer, *statements: str) -> None:
    # An account that was dropped meanwhile has nothing left that could be taken back.
    try:
        server.query(*statements)
    except TrialFailed:
        for statement in statements if statements[1:] else ():
            _try(server, statement)


def _end_workers(server: KitServer) -> None:
    """Drop the events and end their sessions with their jobs; `HostError` if they go on."""
    events = server.query(
        "SELECT event_name FROM information_schema.events WHERE event_schema = 'async'"
    )
    run_all(
        server,
        [f"DROP EVENT IF EXISTS async.{quote(name)}" for (name,) in events],
        "end events",
        RIGHTS,
    )
    if not events:
        return
    until_s = time.monotonic() + END_S
    sessions = (
        "SELECT p.id FROM information_schema.processlist p JOIN async.worker w"
        " ON w.connection_id = p.id"
    )
    while working := server.query(sessions):
        if time.monotonic() > until_s:
            raise HostError("jobs did not end when they were killed", hint="uninstall again later")
        _try(server, *(f"KILL {number}" for (number,) in working))
        time.sleep(0.1)
