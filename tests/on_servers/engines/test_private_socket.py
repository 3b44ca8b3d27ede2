"""A private server lets nobody in but us: not another process of the user whom it runs as."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import outside
from private_servers import started
from processes import processes_in

from dyno import driver
from dyno.access import account
from dyno.driver.plan import VERSION, Session
from dyno.engines import Server, find_engine

pytestmark = [pytest.mark.timeout(300)]

POSTGRES = ("postgres@10", "postgres@12", "postgres@18")
MARIADB = ("mariadb@10.1.13", "mariadb@10.2.11", "mariadb@11.4.5", "mariadb@debian")
MYSQL = ("mysql@5.5.34", "mysql@5.6.14", "mysql@8.0.33")


def begun(text: str, home: Path, **settings: str) -> Server:
    """A server; who begins it stops it."""
    outside("mvn")
    name, _, version = text.partition("@")
    engine = find_engine(name, driver.ask)
    return engine.start(engine.program(version, {}, lambda _: None), home, settings)


@pytest.fixture(scope="module", params=[*POSTGRES, *MARIADB, *MYSQL])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with started(request.param) as server:
        yield server


def by_nobody(session: Session, home: Path) -> str:
    """What the driver says, asked by another process of the server's user's."""
    if os.geteuid():
        pytest.skip("an ordinary user's servers run as that user")
    program = shutil.copy(driver.find_driver(), home.parent / "driver")
    user = account.find_server_account()
    done = subprocess.run(
        ["setpriv", f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups", program, "ask"],
        input=json.dumps({"version": VERSION, "session": session, "statements": ["SELECT 1"]}),
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


def test_another_process_of_the_servers_user_is_refused(server: Server) -> None:
    assert driver.ask(server.session, ["SELECT 1"])[0] == [["1"]]
    for user in (server.session["user"], "root", "", "nobody", "postgres"):
        said = by_nobody({**server.session, "user": user, "password": None}, server.home)
        assert '"error"' in said and '"rows"' not in said, (user, said)


def test_the_password_stands_nowhere(server: Server) -> None:
    password = server.session["password"]
    if password is None:  # PostgreSQL knows us by our number
        assert server.session["kind"] == "postgres"
        return
    assert not any(str(password) in line for line in processes_in(server.home).values())
    for file in server.home.rglob("*"):
        with suppress(FileNotFoundError):  # a server that works renames its redo logs
            if stat.S_ISREG(file.lstat().st_mode):
                assert str(password).encode() not in file.read_bytes(), file


@pytest.mark.parametrize("text", ["postgres@18", "mariadb@11.4.5", "mysql@8.0.33"])
def test_data_of_an_earlier_start_let_us_in_again(text: str, home: Path) -> None:
    engine = find_engine(text.partition("@")[0], driver.ask)
    first = begun(text, home)
    engine.stop(first)
    second = begun(text, home)
    try:
        assert driver.ask(second.session, ["SELECT 1"])[0] == [["1"]]
        assert second.session["password"] is None or second.session != first.session
    finally:
        engine.stop(second)


@pytest.mark.parametrize("text", ["mariadb@10.1.13", "mariadb@11.4.5", "mysql@8.0.33"])
@pytest.mark.parametrize("way", ["setting", "config"])
def test_a_file_that_the_user_has_run_at_the_start_is_run(text: str, way: str, home: Path) -> None:
    mine = home.parent / "mine.sql"
    mine.write_text("CREATE TABLE dyno.mine (id INT);\n")
    (home.parent / "my.cnf").write_text(f"[mysqld]\ninit-file = '{mine}'\n")
    given = {"setting": {"init_file": str(mine)}, "config": {"config": str(home.parent / "my.cnf")}}
    server = begun(text, home, **given[way])
    engine = find_engine(text.partition("@")[0], driver.ask)
    try:
        assert driver.ask(server.session, ["SHOW TABLES"])[0] == [["mine"]]
        assert engine.settings(server)["skip_grant_tables"] == "OFF"
    finally:
        engine.stop(server)


@pytest.mark.parametrize("text", ["mariadb@10.1.13", "mariadb@11.4.5", "mysql@8.0.33"])
def test_where_nobodys_rights_are_checked_nobody_has_a_password(text: str, home: Path) -> None:
    server = begun(text, home, skip_grant_tables="on")
    engine = find_engine(text.partition("@")[0], driver.ask)
    try:
        assert server.session["password"] is None
        assert engine.settings(server)["skip_grant_tables"] == "ON"
    finally:
        engine.stop(server)
