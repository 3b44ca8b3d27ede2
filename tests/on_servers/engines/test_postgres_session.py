"""The driver's session against a real PostgreSQL: log-ins, settings, values, errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from private_postgres import PASSWORD, VERSIONS, private
from processes import wait_for
from trial import carry_values, play

from dyno import driver
from dyno.driver.plan import Session
from dyno.engines import Server
from dyno.errors import DynoError, UsageError

pytestmark = [pytest.mark.timeout(300)]


@pytest.fixture(scope="module", params=VERSIONS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with private(request.param) as server:
        yield server


def asked(session: Session, *statements: str) -> list[list[str | None]]:
    """The rows of the last statement."""
    return driver.ask(session, statements)[-1]


@pytest.mark.parametrize("user", ["ann", "bob", "eve", "dyno"])
def test_a_user_logs_in_by_the_proof_that_the_server_asks_for(server: Server, user: str) -> None:
    session = server.session | {"user": user, "password": PASSWORD}
    assert asked(session, "SELECT current_user") == [[user]]


@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        ({"user": "ann", "password": "wrong"}, UsageError, "authentication failed"),
        ({"user": "bob", "password": "wrong"}, UsageError, "authentication failed"),
        ({"user": "bob"}, UsageError, "wants a password for 'bob'"),
        ({"user": "nobody"}, UsageError, 'role "nobody" does not exist'),
        ({"user": "few"}, UsageError, "max_connections"),
        ({"database": "nowhere"}, UsageError, "create the database 'nowhere'"),
        ({"settings": [["work_memm", "1MB"]]}, UsageError, "work_memm"),
        ({"tls": {"mode": "require", "ca": None}}, UsageError, "offers no TLS"),
        ({"host": "/nowhere/.s.PGSQL.5432"}, DynoError, "/nowhere"),
    ],
)
def test_a_log_in_that_fails_says_what_to_mend_and_tells_no_password(
    server: Server, change: Session, kind: type[DynoError], says: str
) -> None:
    with pytest.raises(kind) as failed:
        asked(server.session | change, "SELECT 1")
    said = str(failed.value)
    assert says in said
    assert "wrong" not in said


def test_settings_hold_for_the_session(server: Server) -> None:
    session = server.session | {"settings": [["search_path", "a, b"], ["work_mem", "3MB"]]}
    found = asked(session, "RESET ALL", "SHOW search_path; SHOW work_mem")
    assert found == [["3MB"]]
    assert asked(session, "SHOW search_path") == [["a, b"]]


def test_values_travel_there_and_back(server: Server, tmp_path: Path) -> None:
    done = carry_values(server.session, tmp_path, events=3)
    assert (done.done, done.failed) == (3, 0)
    assert (done.rows_read, done.rows_changed) == (6, 6)


FAILS = """
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  turn = (turn or 0) + 1
  con:query("BEGIN")
  con:query("UPDATE t SET n = n + 1 WHERE id = 3")
  if turn % 2 == 0 then con:query("SELECT 1 / 0") end
  con:query("COMMIT")
end
"""


def test_an_error_is_counted_by_its_code_and_leaves_no_transaction(
    server: Server, tmp_path: Path
) -> None:
    asked(server.session, "UPDATE t SET n = 0")
    done = play(server.session, FAILS, tmp_path, events=10)
    assert (done.done, done.failed, done.errors) == (5, 5, {"22012": 5})
    assert asked(server.session, "SELECT n FROM t WHERE id = 3") == [["5"]]
    idle = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"
    # a server notices that a connection is gone some time later
    wait_for(lambda: asked(server.session, idle) == [["0"]])
