"""Functions that are registered in a server whose library is gone: a physical backup, a new image.

MySQL 8.0 dies of a call of such a function: nothing here may call one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from kit_servers import BETWEEN, Revived, choose_servers, reviving

from dyno import driver
from dyno.errors import DynoError, TrialFailed, UsageError
from dyno.servers.kit import library, routines, verbs
from dyno.servers.kit import server as kit_server
from dyno.servers.kit.library import find_parts
from dyno.servers.kit.server import LIBRARY
from dyno.servers.kit.verbs import ABSENT, DAMAGED, INSTALLED, UNCHECKED, read_status

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]

LOST = "its library is missing; dyno kit uninstall"
PARTS = ("bitmap", "json")
COLUMN = "dyno.lost.doc"
ROWS = f"SELECT COUNT(*) FROM mysql.func WHERE dl = '{LIBRARY}'"


@pytest.fixture(scope="module", params=[*BETWEEN, *choose_servers("mysql@9.7")])
def revived(request: pytest.FixtureRequest) -> Iterator[Revived]:
    with reviving(str(request.param)) as server:
        yield server


@pytest.fixture
def server(revived: Revived) -> Iterator[Revived]:
    """The server with both parts in it, and without them in the end."""
    assert revived.now.kit("install", *PARTS) == 0
    yield revived
    assert revived.now.kit("uninstall", *PARTS) == 0
    if revived.now.is_mysql_5:
        revived.begin_anew()  # it forgets names only so
    assert not list(revived.now.plugins.iterdir()) and revived.now.one(ROWS) == "0"


def lose(server: Revived) -> None:
    """The server begins without the library."""
    server.kill()
    (server.now.plugins / LIBRARY).unlink()
    server.begin_anew()


def states(server: Revived, **other: Any) -> dict[str, tuple[str, str]]:
    """Of both parts, while the server goes on."""
    reached = replace(server.now.reached(), **other)
    found = {it.part.name: (it.state, it.detail) for it in read_status(reached)}
    assert server.now.one("SELECT 1") == "1"
    return {name: found[name] for name in PARTS}


def test_it_is_told_and_the_rows_are_taken_out(
    server: Revived, capsys: pytest.CaptureFixture[str]
) -> None:
    lose(server)
    assert {(state, LOST in told) for state, told in states(server).values()} == {(DAMAGED, True)}
    assert server.now.kit("install", "files") == 64
    assert "dyno kit upgrade loads it anew" in capsys.readouterr().err
    assert server.now.one(ROWS) != "0" and not list(server.now.plugins.iterdir())
    assert server.now.kit("uninstall", *PARTS) == 0
    assert {state for state, _ in states(server).values()} == {ABSENT}
    assert server.now.one(ROWS) == "0"


def test_an_upgrade_loads_it_anew_and_a_file_put_back_by_hand_is_not_taken_for_loaded(
    server: Revived, capsys: pytest.CaptureFixture[str]
) -> None:
    lose(server)
    library.put(server.now.reached())
    assert {state for state, _ in states(server).values()} == {DAMAGED}
    (server.now.plugins / LIBRARY).unlink()
    if server.now.is_mysql_5:
        assert server.now.kit("upgrade") == 64
        assert "restart the server" in capsys.readouterr().err
        server.begin_anew()
    assert server.now.kit("upgrade") == 0
    assert {state for state, _ in states(server).values()} == {INSTALLED}
    assert server.now.one("SELECT rb_cardinality(rb_build('1,2'))") == "2"


def test_from_elsewhere_what_the_server_does_not_tell_is_not_checked(server: Revived) -> None:
    dies = server.now.reached().calls_lost
    far = replace(server.now.reached(), near=False)
    seen = {state for state, _ in states(server, near=False).values()}
    assert seen == {UNCHECKED if dies else INSTALLED}
    verbs.install(far, find_parts(["files"]), lambda _: None)
    assert server.now.kit("uninstall", "files") == 0
    lose(server)
    seen = {state for state, _ in states(server, near=False).values()}
    assert seen == {UNCHECKED if dies else DAMAGED}
    with pytest.raises(UsageError):
        verbs.install(replace(server.now.reached(), near=False), find_parts(["files"]), print)
    assert server.now.one("SELECT 1") == "1"


def test_an_index_over_json_is_refused_and_the_server_goes_on(
    server: Revived, capsys: pytest.CaptureFixture[str]
) -> None:
    server.now.ask("CREATE DATABASE IF NOT EXISTS dyno")
    server.now.ask("CREATE TABLE dyno.lost (id INT PRIMARY KEY, doc TEXT CHARACTER SET utf8mb4)")
    server.now.ask("INSERT INTO dyno.lost VALUES (1, '{}')")
    try:
        far = replace(server.now.reached(), near=False)
        routines.create_index(far, COLUMN)
        lose(server)
        assert server.now.kit("index-json", COLUMN, "--drop") == 0
        assert server.now.kit("index-json", COLUMN) == 64
        if server.now.reached().calls_lost:
            assert "its library is missing" in capsys.readouterr().err
        with pytest.raises(UsageError):
            routines.create_index(replace(server.now.reached(), near=False), COLUMN)
        assert server.now.one("SELECT COUNT(*) FROM dyno.lost") == "1"
    finally:
        server.now.ask("DROP TABLE dyno.lost")


def test_a_server_that_dies_amid_the_first_function_keeps_its_library(revived: Revived) -> None:
    def ask(session: Any, statements: Sequence[str], *more: Any) -> list[list[list[str | None]]]:
        answers = driver.ask(session, statements, *more)
        if any("CREATE FUNCTION dyno_kit_version" in it for it in statements):
            revived.kill()
            raise TrialFailed("the connection is lost")
        return answers

    reached = kit_server.reach_server(ask, revived.now.url)
    with pytest.raises(UsageError):
        verbs.install(reached, find_parts(["bitmap"]), lambda _: None)
    assert (revived.now.plugins / LIBRARY).exists()
    revived.begin_anew()
    assert revived.now.one(ROWS) == "1"
    assert revived.now.kit("install", "bitmap") == 0
    revived.now.ask("SET GLOBAL innodb_flush_log_at_trx_commit = 0")
    assert revived.now.kit("uninstall", "bitmap") == 0
    revived.kill()
    assert not list(revived.now.plugins.iterdir())
    revived.begin_anew()
    assert revived.now.one(ROWS) == "0"


def test_installs_and_removals_at_once_amid_a_kill_leave_no_row_without_the_library(
    revived: Revived,
) -> None:
    reached, asked = [], threading.Semaphore(0)

    def ask(*words: Any) -> list[list[list[str | None]]]:
        answers = driver.ask(*words)
        if any("FUNCTION" in it for it in words[1]):
            asked.release()
        return answers

    def play(part: str) -> None:
        with suppress(DynoError):  # the kill, which may come before it has logged in
            server = kit_server.reach_server(ask, revived.now.url)
            for _ in range(20):
                verbs.install(server, find_parts([part]), lambda _: None)
                verbs.uninstall(server, find_parts([part]), lambda _: None)
        reached.append(part)

    players = [threading.Thread(target=play, args=(it,)) for it in (*PARTS, "files")]
    for player in players:
        player.start()
    for _ in range(6):
        asked.acquire(timeout=60)
    revived.kill()
    for player in players:
        player.join(120)
    assert len(reached) == len(players)
    has_library = (revived.now.plugins / LIBRARY).exists()
    revived.begin_anew()
    assert has_library or revived.now.one(ROWS) == "0"
    assert revived.now.kit("uninstall", *PARTS, "files") == 0
    assert not list(revived.now.plugins.iterdir()) and revived.now.one(ROWS) == "0"
