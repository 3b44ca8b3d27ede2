"""A MySQL that runs already and lets us do too little: told before anything is loaded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from private_servers import login

from dyno import driver
from dyno.cli import run_words
from dyno.engines import Server

pytestmark = [pytest.mark.timeout(300)]

BRIEF = ["-w", "oltp_insert", "--set", "time=0.2", "--set", "table_size=100"]
#: A user for each right that is missing, with those that he has.
USERS = {
    "no_drop": "SELECT, INSERT, CREATE",
    "no_create": "SELECT, INSERT, DROP",
    "no_insert": "SELECT, CREATE, DROP",
}


@pytest.fixture
def theirs(mysql: Server) -> Iterator[Server]:
    """Somebody's server with a database `bench`, in which nobody of `USERS` may do all."""
    made = [f"CREATE USER '{user}'@'localhost'" for user in USERS]
    grants = [f"GRANT {may} ON bench.* TO '{user}'@'localhost'" for user, may in USERS.items()]
    driver.ask(mysql.session, ["CREATE DATABASE bench", *made, *grants])
    yield mysql
    gone = [f"DROP USER '{user}'@'localhost'" for user in USERS]
    driver.ask(mysql.session, ["DROP DATABASE bench", *gone])


def url(server: Server, user: str) -> str:
    return f"mysql://{user}@{str(server.session['host']).replace('/', '%2F')}/bench"


def refused(server: Server, user: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What is said where nothing is played; the database is as empty as it was."""
    assert run_words(["play", url(server, user), *BRIEF]) == 64
    question = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'bench'"
    assert driver.ask(server.session, [question]) == [[]]
    return capsys.readouterr().err


@pytest.mark.parametrize("user", USERS)
def test_a_right_that_is_missing_is_told(
    theirs: Server, user: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(theirs, user, capsys)
    verb = user.removeprefix("no_").upper()
    assert f"'{user}' may not make, fill and drop tables in 'bench': {verb} command denied" in said
    assert "\nhint: GRANT ALL ON `bench`.*" in said


def test_a_server_that_takes_no_writes_is_told(
    theirs: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    for closed, open_again in (
        ("SET GLOBAL read_only = ON", "SET GLOBAL read_only = OFF"),
        ("SET GLOBAL TRANSACTION READ ONLY", "SET GLOBAL TRANSACTION READ WRITE"),
    ):
        driver.ask(theirs.session, [closed])
        try:
            said = refused(theirs, login(theirs.session), capsys)
        finally:
            driver.ask(theirs.session, ["SET SESSION TRANSACTION READ WRITE", open_again])
        assert "is read-only" in said and "\nhint: name the primary" in said


def test_a_user_with_all_rights_is_let_in(theirs: Server) -> None:
    assert run_words(["play", url(theirs, login(theirs.session)), *BRIEF]) == 0
