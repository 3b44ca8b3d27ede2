"""The driver's session against real MySQLs and a MariaDB: log-ins, settings, results."""

from __future__ import annotations

import pytest
from private_mysql import PASSWORD, USERS, tcp

from dyno import driver
from dyno.driver.plan import Session
from dyno.engines import Server
from dyno.errors import DynoError, UsageError

pytestmark = [pytest.mark.timeout(300)]

Rows = list[list[str | None]]


def asked(session: Session, *statements: str) -> Rows:
    """The rows of the last statement."""
    return driver.ask(session, statements)[-1]


def test_users_log_in_by_every_method(mysql: Server, mysql_version: str) -> None:
    for session in (mysql.session, tcp(mysql)):
        for user in USERS[mysql_version]:
            # the second time, MySQL 8.0 remembers the password and asks for less
            for _ in range(2):
                found = asked(
                    session | {"user": user, "password": PASSWORD},
                    "SELECT SUBSTRING_INDEX(USER(), '@', 1)",
                )
                assert found == [[user]]


@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        ({"user": "native", "password": "wrong"}, UsageError, "cannot log in to"),
        ({"user": "native", "password": None}, UsageError, "using password: NO"),
        ({"user": "few", "password": None}, UsageError, "few may not use the database dyno"),
        ({"database": "nowhere"}, UsageError, "no database nowhere"),
        ({"settings": [["sort_buffer", "1"]]}, UsageError, "sort_buffer"),
        ({"settings": [["sql_mode", "NONSENSE"]]}, UsageError, "NONSENSE"),
        ({"host": "/nowhere/mysqld.sock"}, DynoError, "/nowhere"),
    ],
)
def test_a_log_in_that_fails_says_what_to_mend_and_tells_no_password(
    mysql: Server, change: Session, kind: type[DynoError], says: str
) -> None:
    with pytest.raises(kind) as failed:
        asked(mysql.session | change, "SELECT 1")
    said = str(failed.value)
    assert says in said
    assert "wrong" not in said


def test_a_wrong_password_is_refused_by_every_method(mysql: Server, mysql_version: str) -> None:
    for session in (mysql.session, tcp(mysql)):
        for user in USERS[mysql_version]:
            with pytest.raises(UsageError, match="cannot log in to"):
                asked(session | {"user": user, "password": "wrong"}, "SELECT 1")


def test_settings_hold_for_the_session(mysql: Server) -> None:
    settings = [["sort_buffer_size", "65536"], ["sql_mode", "ANSI_QUOTES,NO_UNSIGNED_SUBTRACTION"]]
    session = mysql.session | {"settings": settings}
    found = asked(session, "SELECT @@SESSION.sort_buffer_size, @@SESSION.sql_mode")
    assert found == [["65536", "ANSI_QUOTES,NO_UNSIGNED_SUBTRACTION"]]


def test_several_results_of_one_query(mysql: Server) -> None:
    three = "SELECT 1; UPDATE t SET n = n + 1 WHERE id = 50; SELECT 'ü', NULL"
    found = asked(mysql.session, three)
    assert found == [["ü", None]]
    found = asked(
        mysql.session,
        "CREATE PROCEDURE two() BEGIN SELECT 1; SELECT 'second' AS x; END",
        "CALL two()",
    )
    assert found == [["second"]]
