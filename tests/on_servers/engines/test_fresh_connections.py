"""Questions to a server: each has a session of its own, whoever answered the last one."""

from __future__ import annotations

import pytest
from private_servers import serving

from dyno import driver
from dyno.errors import TrialFailed


@pytest.mark.parametrize("name", ["postgres-18", "mysql-8.0"])
def test_nothing_of_a_session_reaches_the_next_question(name: str) -> None:
    with serving(name) as server:
        session = server.session
        is_postgres = session["kind"] == "postgres"
        setting = "statement_timeout" if is_postgres else "@@max_execution_time"
        shown = f"{'SHOW' if is_postgres else 'SELECT'} {setting}"
        before = driver.ask(session, ["CREATE TABLE kept (n INT)", shown])[1]
        ours = f"SET {setting} = 777"
        made = "CREATE TEMPORARY TABLE mine (n INT)"
        after = driver.ask(session, [ours, shown, made, "BEGIN", "INSERT INTO kept VALUES (1)"])[1]
        assert after != before
        assert driver.ask(session, [shown, "SELECT COUNT(*) FROM kept"]) == [before, [["0"]]]
        with pytest.raises(TrialFailed, match="mine"):
            driver.ask(session, ["SELECT * FROM mine"])
