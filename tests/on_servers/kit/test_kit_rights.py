"""Nobody gets rights by the kit: every routine with another account's rights is known, and called
by a nobody with hostile arguments.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress

import pytest
from kit_parts import KitParts
from kit_servers import KitServer

from dyno import driver
from dyno.errors import DynoError
from dyno.servers.kit import jobs, queueing, rights
from dyno.servers.kit.library import PARTS
from dyno.servers.kit.verbs import DAMAGED, INSTALLED, NATIVE, UNSAFE, read_status

pytestmark = [pytest.mark.timeout(300)]

SCHEMAS = "(async|async_[0-9]+|ps_history|sys_history|kit)"
#: With a name that no grant's pattern meant: _ stands for any letter in a grant's schema.
NOBODY = {"user": "nob", "password": "Nob-1", "database": "information_schema"}
ACCOUNT = "'nob'@'localhost'"
#: In place of each text: a statement, names and values that break out of what they are put into.
HOSTILE = (
    f"'GRANT ALL ON *.* TO {ACCOUNT.replace(chr(39), chr(39) * 2)} WITH GRANT OPTION'",
    "'mysql.user'",
    "'async_1.rs_1'",
    "'1 DAY; DROP DATABASE dyno'",
    "'`; DROP DATABASE dyno; -- `'",
    "'dyno.loot.doc'",
    "NULL",
)
NUMBERS = ("0", "1", "2", "-1", "18446744073709551615", "NULL")


@pytest.fixture(scope="module")
def server(kit_parts: KitParts) -> Iterator[KitServer]:
    """With every part, and a nobody who may queue jobs."""
    server = kit_parts.hold(
        *(*PARTS, "--account", "nob@localhost"),
        before=["CREATE USER 'nob'@'localhost' IDENTIFIED BY 'Nob-1'"],
        after=["DROP USER 'nob'@'localhost'"],
    )
    server.ask("CALL async.queue('SELECT 42 AS secret')", "CALL async.wait(@query_number)")
    yield server
    kit_parts.clear()


def definers(server: KitServer) -> set[str]:
    """Every routine of the kit's that has not its caller's rights."""
    rows = server.ask(
        "SELECT CONCAT(routine_schema, '.', routine_name) FROM information_schema.routines"
        f" WHERE security_type = 'DEFINER' AND routine_schema REGEXP '^{SCHEMAS}$'"
    )
    return {str(name) for (name,) in rows}


def arguments(server: KitServer) -> dict[str, list[tuple[str, str]]]:
    """Mode and type of each argument, by routine."""
    rows = server.ask(
        "SELECT CONCAT(specific_schema, '.', specific_name), parameter_mode, data_type"
        f" FROM information_schema.parameters WHERE specific_schema REGEXP '^{SCHEMAS}$'"
        " AND ordinal_position > 0 ORDER BY specific_schema, specific_name, ordinal_position"
    )
    found = defaultdict[str, list[tuple[str, str]]](list)
    for name, mode, kind in rows:
        found[str(name)].append((str(mode), str(kind)))
    return found


def test_the_routines_with_definers_rights_are_those_of_the_list(server: KitServer) -> None:
    allowed = re.compile("|".join(rights.DEFINERS.values()))
    found = definers(server)
    assert found and not [name for name in found if not allowed.fullmatch(name)]


def test_no_routine_with_definers_rights_takes_text(server: KitServer) -> None:
    those = arguments(server)
    taken = {
        name: [kind for mode, kind in those[name] if mode != "OUT"] for name in definers(server)
    }
    numbers = {"tinyint", "smallint", "int", "bigint"}
    assert taken and not {name: kinds for name, kinds in taken.items() if set(kinds) - numbers}


def calls(server: KitServer) -> Iterator[str]:
    """Each routine of the kit with each hostile argument in each place."""
    rows = server.ask(
        "SELECT CONCAT(routine_schema, '.', routine_name), routine_type"
        f" FROM information_schema.routines WHERE routine_schema REGEXP '^{SCHEMAS}$'"
        " AND routine_name NOT REGEXP '^wake_([2-9]|[0-9]{2,})$'"
    )
    those = arguments(server)
    for name, kind in rows:
        chosen = [
            ("@out",) if mode == "OUT" else NUMBERS if "int" in kind else HOSTILE
            for mode, kind in those[str(name)]
        ]
        verb = "CALL" if kind == "PROCEDURE" else "SELECT"
        for turn in range(max(map(len, chosen), default=1)):
            values = (each[(turn + place) % len(each)] for place, each in enumerate(chosen))
            yield f"{verb} {name}({', '.join(values)})"


def spoils(server: KitServer) -> list[list[list[str | None]]]:
    """What a nobody must not change: grants and accounts, other accounts' jobs and results, tables,
    settings.
    """
    return [
        server.ask("SHOW GRANTS FOR 'nob'@'localhost'"),
        server.ask("SELECT user, host FROM mysql.user ORDER BY 1, 2"),
        server.ask("SELECT * FROM ps_history.psh_settings ORDER BY 1"),
        server.ask("SELECT * FROM async.settings ORDER BY 1"),
        server.inventory(),
    ]


def granted(server: KitServer) -> Iterator[list[str]]:
    """Each documented grant by itself, and all routines of the server."""
    yield from (grant.list_statements(ACCOUNT) for grant in rights.GRANTS)
    yield [f"GRANT EXECUTE ON *.* TO {ACCOUNT}"]
    yield to_queue(server)


def to_queue(server: KitServer) -> list[str]:
    """What an account is granted that may queue jobs."""
    found = [it for it in jobs.list_accounts(server.reached()) if it.name == "nob@localhost"]
    return [
        grant
        for account in found
        for grant, _ in queueing.list_grants(account, account.schema.replace("_", r"\_"))
    ]


def test_a_nobody_gains_nothing_by_any_routine(server: KitServer) -> None:
    """With each documented grant by itself, and with EXECUTE on everything: each routine is called
    with hostile arguments.
    """
    # the first collection alters tables, which are not told meanwhile
    collected = "SELECT COUNT(*) FROM ps_history.psh_collections, sys_history.psh_turn"
    while server.one(f"{collected} WHERE connection_id = 0") == "0":
        time.sleep(0.1)
    server.ask("CALL ps_history.set_collect_interval(86400)")
    hostile = list(calls(server))
    shown = "SELECT CONCAT(routine_schema, '.', routine_name) FROM information_schema.routines"
    shown += f" WHERE routine_schema REGEXP '^{SCHEMAS}$'"
    assert len(hostile) > 200
    for statements in granted(server):
        server.ask(f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {ACCOUNT}", *statements)
        before, told = spoils(server), []
        # the server itself refuses what it does not even show
        granted_them = {str(name) for (name,) in server.ask(shown, **NOBODY)}
        chosen = [it for it in hostile if it.partition("(")[0].split()[1] in granted_them]
        assert chosen or not any("EXECUTE" in it for it in statements)
        for call in chosen:
            with suppress(DynoError):
                told.append(driver.ask(server.engine.session | NOBODY, [call], 20))
        after = spoils(server)
        assert "secret" not in str(told), "another account's job"
        if any("psh_settings" in it for it in statements):
            before[2] = after[2]
        was, now = ({str(row) for rows in it for row in rows} for it in (before, after))
        assert was == now, (statements, was ^ now)
    with pytest.raises(DynoError):
        server.ask("SELECT COUNT(*) FROM mysql.user", **NOBODY)


def test_an_installation_that_gives_rights_is_told_and_mended(server: KitServer) -> None:
    """As those of older versions did."""
    old = {
        "history": "CREATE PROCEDURE ps_history.psh_run(IN v_sql LONGTEXT) MODIFIES SQL DATA BEGIN"
        " SET @psh_command = v_sql; PREPARE c FROM @psh_command; EXECUTE c; END",
        "async": "CREATE PROCEDURE async.keep_rows(IN v_table VARCHAR(64), IN v_kept VARCHAR(64))"
        " MODIFIES SQL DATA DO 1",
        "json": "CREATE PROCEDURE kit.check_index(IN v_column TEXT, IN v_schema VARCHAR(64),"
        " IN v_table VARCHAR(64), OUT v_key TEXT) SQL SECURITY DEFINER READS SQL DATA"
        " COMMENT 'dyno kit json 0.1.0' DO 1",
    }
    names = {part: re.findall(r"PROCEDURE ([\w.]+)", create)[0] for part, create in old.items()}
    server.ask(*(f"DROP PROCEDURE IF EXISTS {name}" for name in names.values()), *old.values())
    states = {it.part.name: (it.state, it.detail) for it in read_status(server.reached())}
    for part, name in names.items():
        state, detail = states[part]
        assert state == UNSAFE and name in detail and "dyno kit upgrade" in detail
        assert part == "json" or server.kit("install", part) == 64
    assert server.kit("upgrade") == 0
    assert not any(rights.find_unsafe(server.reached(), part) for part in old)
    assert {it.state for it in read_status(server.reached())} <= {INSTALLED, NATIVE}
    assert server.ask("CALL async.queue('SELECT 7 AS a')", "CALL async.wait(@query_number)") == [
        ["7"]
    ]


def test_a_job_s_rows_are_kept_for_its_account_only(server: KitServer) -> None:
    """What an account with EXECUTE on everything and events of its own could once copy."""
    server.ask(
        f"GRANT EXECUTE ON *.* TO {ACCOUNT}",
        "CREATE DATABASE nobs",
        f"GRANT ALL ON nobs.* TO {ACCOUNT}",
    )
    names = [*sorted(definers(server)), "async.keep_rows", "async.execute_job", "async.drop_job"]
    those = arguments(server)
    event = (
        "CREATE EVENT nobs.e{} ON SCHEDULE AT CURRENT_TIMESTAMP DO CALL {}({})".format(
            number, name, ", ".join(["@o" if mode == "OUT" else "1" for mode, _ in args])
        )
        for number, name in enumerate(names)
        if (args := those[name])
    )
    texts = "CALL async.keep_rows('nobs.stolen', 'mysql.user')"
    for statement in (*event, f"CREATE EVENT nobs.f ON SCHEDULE AT CURRENT_TIMESTAMP DO {texts}"):
        with suppress(DynoError):
            server.ask(statement, **NOBODY)
    server.ask("DO SLEEP(2)")
    assert server.ask("SHOW TABLES FROM nobs") == []
    server.ask("DROP DATABASE nobs", f"REVOKE EXECUTE ON *.* FROM {ACCOUNT}")


#: The queue as older versions had it: a job's text in it, and the account's jobs a view.
OLDER_QUEUE = (
    "DROP TABLE async.q",
    "DROP TABLE async_1.inbox",
    "DROP TABLE async.needs",
    "CREATE TABLE async.q (q_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, account"
    " SMALLINT UNSIGNED NOT NULL, state ENUM('QUEUED','BLOCKED','RUNNING','SUCCEEDED','FAILED',"
    "'CANCELLED','TIMED_OUT','LOST') NOT NULL DEFAULT 'QUEUED', sql_text LONGTEXT NOT NULL,"
    " priority SMALLINT NOT NULL DEFAULT 0, after_list VARCHAR(1000) CHARACTER SET ascii NOT NULL"
    " DEFAULT '', timeout_s INT UNSIGNED NULL, keeps TINYINT NOT NULL DEFAULT 0, wanted"
    " ENUM('','CANCEL','FORGET') NOT NULL DEFAULT '', created_on DATETIME(6) NULL, started_on"
    " DATETIME(6) NULL, completed_on DATETIME(6) NULL, row_count BIGINT NULL, sql_state CHAR(5)"
    " CHARACTER SET ascii NULL, errno INT UNSIGNED NULL, errmsg TEXT NULL, connection_id BIGINT"
    " UNSIGNED NULL, boot CHAR(36) CHARACTER SET ascii NULL, ending"
    " ENUM('','CANCELLED','TIMED_OUT') NOT NULL DEFAULT '', has_result TINYINT NOT NULL DEFAULT 0,"
    " KEY next_one (state, priority, q_id), KEY wishes (wanted), KEY old_ones (completed_on))",
    "CREATE TABLE async.needs (job BIGINT UNSIGNED NOT NULL, needed BIGINT UNSIGNED NOT NULL,"
    " PRIMARY KEY (job, needed), KEY (needed))",
    "CREATE SQL SECURITY DEFINER VIEW async_1.jobs AS SELECT q_id, state FROM async.q",
    "CREATE TABLE async_1.rs_901 (a INT)",
    "INSERT INTO async_1.rs_901 VALUES (9)",
    "INSERT INTO async.q (q_id, account, state, sql_text, keeps, has_result, created_on,"
    " completed_on) VALUES (901, 1, 'SUCCEEDED', 'SELECT 9 AS a', 1, 1, UTC_TIMESTAMP(),"
    " UTC_TIMESTAMP()), (902, 1, 'RUNNING', 'DO 1', 0, 0, UTC_TIMESTAMP(), NULL)",
    "INSERT INTO async.q (q_id, account, state, sql_text, after_list, keeps, created_on)"
    " VALUES (903, 1, 'BLOCKED', 'SELECT 8 AS b', '901', 1, UTC_TIMESTAMP())",
    "INSERT INTO async.needs VALUES (903, 901)",
)


def test_an_upgrade_keeps_the_jobs_and_results_of_an_older_queue(server: KitServer) -> None:
    server.ask("SET GLOBAL event_scheduler = OFF", *OLDER_QUEUE)
    states = {it.part.name: it.state for it in read_status(server.reached())}
    assert states["async"] == DAMAGED
    assert server.kit("upgrade") == 0
    server.ask("SET GLOBAL event_scheduler = ON")
    assert server.ask("CALL async.wait(901)") == [["9"]]
    assert server.ask("CALL async.wait(903)") == [["8"]]
    with pytest.raises(DynoError, match="LOST: the kit was upgraded"):
        server.ask("CALL async.wait(902)")
    assert server.ask("CALL async.queue('SELECT 7 AS a')") == [["904"]]
    assert {it.state for it in read_status(server.reached())} <= {INSTALLED, NATIVE}
