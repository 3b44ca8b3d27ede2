"""The part `async` in a server: its schema, the accounts that may queue, and that all of it goes.

Workers and accounts are made one by one, from what is the same for all: CREATE EVENT and CREATE
PROCEDURE cannot be prepared, so no procedure in the server could make them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import dyno
from dyno.errors import HostError, TrialFailed, UsageError
from dyno.kit import rights
from dyno.kit.server import Server, check_scheduler, run_all

#: In this order.
SCRIPTS = [
    Path(__file__).parent / f"sql/async/{name}.sql"
    for name in ("tables", "calls", "workers", "tending")
]
SCHEMA = "async"
#: As many workers as there can be, and how many there are at first.
WORKERS_MAX, WORKERS = 32, 8
#: Events that take turns: about so many sessions can begin in a second.
RING = 480
#: How long a job and its result are kept after its end, at first.
RETENTION_H = 168
#: What whoever queues may call; all have the caller's own rights but the last, which a job's own
#: procedure calls, as the account, and which answers none but a worker.
CALLED = (
    *("who", "command", "submit", "queue", "look", "check", "wait", "wait_list", "wait_all"),
    *("wish", "cancel", "forget", "text_of"),
)
WRITTEN = "account, sql_text, priority, after_list, timeout_s"
RIGHTS = ("the rights of an administrator with GRANT OPTION, as root has them",)
#: In place of a version: the schema is there, and is not ours.
STRANGE = "not ours"
#: The event that tends runs each second; later than that is told.
LATE_S = 15
#: How long workers may take to end.
END_S = 30.0


@dataclass(frozen=True)
class Account:
    """An account that may queue, `user@host`, and its number."""

    name: str
    number: int = 0

    @property
    def quoted(self) -> str:
        """As statements have it."""
        user, _, host = self.name.rpartition("@")
        return f"'{_escaped(user)}'@'{_escaped(host)}'"

    @property
    def schema(self) -> str:
        """Where its jobs and their results are."""
        return f"{SCHEMA}_{self.number}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "''")


def parse_account(text: str) -> Account:
    """`user@host`; `UsageError` where it is none."""
    user, at, host = text.rpartition("@")
    if not (at and user and host):
        raise UsageError(f"'{text}' is no account", hint="write user@host, or user@% for any host")
    return Account(f"{user}@{host}")


def version(server: Server) -> str:
    """The version that is installed; empty where none is, `STRANGE` where it is not ours."""
    if [SCHEMA] not in server.query("SHOW DATABASES"):
        return ""
    try:
        rows = server.query("SELECT value FROM async.settings WHERE variable = 'version'")
    except TrialFailed:
        rows = []
    return rows[0][0] or "" if rows else STRANGE


def stopped(server: Server) -> str:
    """What is to be told where nobody tends the jobs although the scheduler runs; else nothing."""
    late = f"lap_on < UTC_TIMESTAMP() - INTERVAL {LATE_S} SECOND"
    rows = server.query(f"SELECT lap_on FROM async.worker WHERE slot = 0 AND {late}")
    return f"nobody tends the jobs since {str(rows[0][0])[:19]} UTC" if rows else ""


def accounts(server: Server) -> list[Account]:
    """Those that may queue."""
    rows = server.query("SELECT name, id FROM async.account ORDER BY id")
    return [Account(str(name), int(number or 0)) for name, number in rows]


def install(server: Server, names: Sequence[str]) -> list[str]:
    """Makes the part where it is not there, and lets these accounts queue, and the one that
    installs: those that were let now. What a refusal leaves half-made goes again.
    """
    wanted = [parse_account(name) for name in names]
    check_scheduler(server, "jobs run by it")
    found = version(server)
    unsafe = rights.unsafe(server, SCHEMA)
    if found and (found != dyno.__version__ or unsafe):
        older = f"{found}, with {unsafe[0]}" if unsafe else found
        raise UsageError(
            f"the schema '{SCHEMA}' is there already, and not this version's ({older})",
            hint="dyno kit upgrade brings ours to this version; what another tool made must be "
            "dropped by hand",
        )
    for account in wanted:
        _check_account(server, account)
    try:
        if not found:
            _create(server)
        known = {account.name for account in accounts(server)}
        ((own,),) = server.query("SELECT CURRENT_USER()")
        new = dict.fromkeys([str(own), *(it.name for it in wanted)])
        let = [name for name in new if name not in known]
        for name in let:
            _let_in(server, name)
    except BaseException:
        if not found:
            uninstall(server)
        raise
    return let


def _check_account(server: Server, account: Account) -> None:
    user, _, host = account.name.rpartition("@")
    found = server.query(
        f"SELECT 1 FROM mysql.user WHERE user = '{_escaped(user)}' AND host = '{_escaped(host)}'"
    )
    if not found:
        raise UsageError(
            f"the server has no account {account.name}",
            hint="SELECT user, host FROM mysql.user lists them",
        )


def statements(script: Path) -> list[str]:
    """A script's statements, each ended by `$$`; comments before them go along."""
    return [text.strip() for text in script.read_text().split("$$\n") if text.strip()]


def _create(server: Server) -> None:
    settings = (
        f"INSERT INTO async.settings VALUES ('version', '{dyno.__version__}'),"
        f" ('thread_count', '{WORKERS}'), ('thread_max', '{WORKERS_MAX}'), ('places', '{RING}'),"
        f" ('retention_h', '{RETENTION_H}')"
    )
    # the mark by which an uninstall knows its own comes before all that may be refused
    begin, made_by, *rest = (it for script in SCRIPTS for it in statements(script))
    run_all(server, [begin, made_by, settings], "install async", RIGHTS)
    run_all(server, [*rest, *_workers()], "install async", RIGHTS, together=True)


def upgrade(server: Server) -> bool:
    """Brings procedures and events to this version; jobs and results stay, and what runs is ended.
    Was anything changed?
    """
    if version(server) == dyno.__version__ and not rights.unsafe(server, SCHEMA):
        return False
    _end_workers(server)
    made_by = [
        text
        for script in SCRIPTS
        for text in statements(script)
        if re.search("^CREATE (PROCEDURE|FUNCTION|TRIGGER)", text, re.M)
    ]
    all_of_it = [
        *_drops(server),
        *made_by,
        *(runner(account) for account in accounts(server)),
        *(grant for account in accounts(server) for grant, _ in grants(account)),
        f"UPDATE async.settings SET value = '{dyno.__version__}' WHERE variable = 'version'",
        *_workers(),
    ]
    run_all(server, all_of_it, "upgrade async", RIGHTS, together=True)
    return True


def _drops(server: Server) -> list[str]:
    """Statements that drop triggers and routines."""
    triggers = server.query(
        "SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = 'async'"
    )
    routines = server.query(
        "SELECT routine_type, routine_name FROM information_schema.routines"
        " WHERE routine_schema = 'async'"
    )
    return [
        *(f"DROP TRIGGER async.{name}" for (name,) in triggers),
        *(f"DROP {kind} async.{name}" for kind, name in routines),
    ]


def _workers() -> Iterator[str]:
    """The events that take turns, what wakes each, and the one that tends.

    An event of one time only (AT) that has run once is never run again, whatever ALTER EVENT says,
    while the server has others (5.6.14, 8.0.33, 10.11.19); one of every year is, from STARTS on.
    """
    for place in range(1, RING + 1):
        yield (
            f"CREATE EVENT async.worker_{place} ON SCHEDULE EVERY 1 YEAR DISABLE"
            f" DO CALL async.work({place})"
        )
        yield (
            f"CREATE PROCEDURE async.wake_{place}() SQL SECURITY INVOKER MODIFIES SQL DATA"
            f" ALTER EVENT async.worker_{place} ON SCHEDULE EVERY 1 YEAR"
            " STARTS CURRENT_TIMESTAMP ENABLE"
        )
    yield "CREATE EVENT async.tend ON SCHEDULE EVERY 1 SECOND DO CALL async.tend()"


def _let_in(server: Server, name: str) -> None:
    insert = f"INSERT INTO async.account (name) VALUES ('{_escaped(name)}')"
    run_all(server, [insert], f"let {name} queue", RIGHTS)
    account = next(it for it in accounts(server) if it.name == name)
    make_schema = f"CREATE DATABASE {account.schema} DEFAULT CHARACTER SET utf8mb4"
    made = False
    try:
        run_all(server, [make_schema], f"let {name} queue", RIGHTS)
        made = True
        run_all(server, list(_account_statements(account)), f"let {name} queue", RIGHTS)
    except BaseException:
        if made:  # a schema of that name that was there before is somebody's
            _expel(server, account)
        _try(server, f"DELETE FROM async.account WHERE id = {account.number}")
        raise


def _expel(server: Server, account: Account) -> None:
    """Takes back what an account was granted, and drops its schema and procedure."""
    for _, back in grants(account):
        _try(server, back)
    _try(server, f"DROP PROCEDURE IF EXISTS async.run_{account.number}")
    _try(server, f"DROP DATABASE IF EXISTS {account.schema}")


def _account_statements(account: Account) -> Iterator[str]:
    schema, number = account.schema, account.number
    yield (
        f"CREATE SQL SECURITY DEFINER VIEW {schema}.jobs AS SELECT q_id, state, {WRITTEN}, wanted,"
        " created_on, started_on, completed_on, row_count, sql_state, errno, errmsg,"
        f" connection_id, has_result FROM async.q WHERE account = {number} WITH CHECK OPTION"
    )
    yield runner(account)
    yield from (grant for grant, _ in grants(account))


def runner(account: Account) -> str:
    """The procedure that runs this account's jobs: it is the account's own, and so are the rights.

    A query's rows are kept in a temporary table. What begins as a query and cannot stand behind
    CREATE TABLE (WITH … UPDATE) is run as it is. Behind CREATE TABLE a query locks every row that
    it reads, unless the session's level is READ COMMITTED; of one statement both levels show one
    snapshot. A binary log by statement takes no writes of InnoDB at that level (error 1665).
    Where sessions begin without autocommit a job does, too: a procedure is one transaction.
    """
    kept = f"{account.schema}.kept_rows"
    return f"""
CREATE DEFINER={account.quoted} PROCEDURE async.run_{account.number}(
  IN v_job BIGINT UNSIGNED, OUT v_rows BIGINT, OUT v_kept TINYINT)
SQL SECURITY DEFINER MODIFIES SQL DATA
BEGIN
  DECLARE v_sql LONGTEXT;
  SET v_kept = 0;
  CALL async.text_of(v_job, {account.number}, v_sql, v_kept);
  SET SESSION sql_mode = @@GLOBAL.sql_mode;
  IF v_kept THEN
    BEGIN
      DECLARE CONTINUE HANDLER FOR 1064, 1221, 1234, 1235, 1746 SET v_kept = 0;
      SET @async_command = CONCAT('CREATE TEMPORARY TABLE {kept} ENGINE=InnoDB AS ', v_sql);
      PREPARE async_statement FROM @async_command;
    END;
  END IF;
  IF NOT v_kept THEN
    SET @async_command = v_sql;
    PREPARE async_statement FROM @async_command;
    SET SESSION autocommit = @@GLOBAL.autocommit;
  END IF;
  SET @async_command = NULL;
  IF v_kept AND NOT (@@GLOBAL.log_bin AND @@GLOBAL.binlog_format = 'STATEMENT') THEN
    SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
  END IF;
  EXECUTE async_statement;
  SET v_rows = ROW_COUNT();
  DEALLOCATE PREPARE async_statement;
END"""


def grants(account: Account) -> Iterator[tuple[str, str]]:
    """What an account is granted, and how that is taken back."""
    # a definer may execute its own procedure only where it is granted to it
    called = (*CALLED, f"run_{account.number}")
    rights = [f"EXECUTE ON PROCEDURE async.{name}" for name in called]
    rights += ["SELECT ON async.account", f"SELECT ON {account.schema}.*"]
    rights += [f"CREATE TEMPORARY TABLES ON {account.schema}.*"]
    rights += [f"INSERT ({WRITTEN}), UPDATE (wanted) ON {account.schema}.jobs"]
    for right in rights:
        yield f"GRANT {right} TO {account.quoted}", f"REVOKE {right} FROM {account.quoted}"


def uninstall(server: Server) -> bool:
    """Ends the workers, takes back what was granted, drops every schema: was there anything?

    Only what Dyno made is taken out; `UsageError` for a schema `async` of another tool's.
    """
    found = version(server)
    if not found:
        return False
    if found == STRANGE:
        raise UsageError(
            f"the schema '{SCHEMA}' is not one of this kit's",
            hint=f"DROP DATABASE {SCHEMA} by hand",
        )
    _end_workers(server)
    # whoever waits for a job is told; a schema cannot be dropped while a procedure of it runs
    _try(
        server,
        "UPDATE async.q SET state = 'CANCELLED' WHERE state IN ('QUEUED', 'BLOCKED', 'RUNNING')",
    )
    for account in _accounts_there(server):
        _expel(server, account)
    run_all(server, [f"DROP DATABASE {SCHEMA}"], "uninstall async", RIGHTS)
    return True


def _accounts_there(server: Server) -> list[Account]:
    """Those that may queue; none where the installation did not come so far."""
    try:
        return accounts(server)
    except TrialFailed:
        return []


def _try(server: Server, statement: str) -> None:
    # An account that was dropped meanwhile has nothing left that could be taken back.
    with suppress(TrialFailed):
        server.query(statement)


def _end_workers(server: Server) -> None:
    """Drops the events and ends their sessions, jobs and all; `HostError` where they go on."""
    events = server.query(
        "SELECT event_name FROM information_schema.events WHERE event_schema = 'async'"
    )
    run_all(
        server, [f"DROP EVENT IF EXISTS async.{name}" for (name,) in events], "end events", RIGHTS
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
            raise HostError("jobs go on that were told to end", hint="uninstall once more later")
        for (number,) in working:
            _try(server, f"KILL {number}")
        time.sleep(0.1)
