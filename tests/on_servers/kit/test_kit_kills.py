"""A server that is killed amid an installation or an upgrade: status tells what is there, and an
upgrade mends it.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest
from kit_servers import BETWEEN, Revived, reviving

from dyno import driver
from dyno.errors import DynoError
from dyno.servers.kit import history, jobs, rights, verbs
from dyno.servers.kit.library import find_parts
from dyno.servers.kit.server import LIBRARY, reach_server
from dyno.servers.kit.verbs import ABSENT, DAMAGED, INSTALLED, UNSAFE, read_status

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]

PARTS = ("async", "history")
#: How many of the kit's routines are there when it is killed, of more than five hundred.
MAKING, DROPPING = 40, 300


@pytest.fixture(scope="module", params=BETWEEN)
def server(request: pytest.FixtureRequest) -> Iterator[Revived]:
    with reviving(str(request.param)) as revived:
        yield revived


def kill_at(server: Revived, verb: str, done: threading.Event) -> None:
    """Kills it amid the making of routines, or where they are being replaced."""
    count = (
        "SELECT COUNT(*) FROM information_schema.routines"
        " WHERE routine_schema IN ('async', 'ps_history', 'sys_history')"
    )
    while not done.is_set():
        with suppress(DynoError):
            found = int(server.now.one(count) or 0)
            if found >= MAKING if verb == "install" else found <= DROPPING:
                break
    server.kill()


def cut_off(server: Revived, *words: str) -> None:
    """Has `dyno kit` do something, and kills the server meanwhile."""
    done = threading.Event()
    killer = threading.Thread(target=kill_at, args=(server, words[0], done))
    killer.start()
    server.now.kit(*words)
    done.set()
    killer.join(60)
    server.begin_anew()


def states(server: Revived) -> dict[str, tuple[str, str]]:
    found = read_status(server.now.reached())
    return {it.part.name: (it.state, it.detail) for it in found if it.part.name in PARTS}


def check_told(server: Revived) -> None:
    """What status says of each part is so."""
    reached = server.now.reached()
    for part, (state, detail) in states(server).items():
        module: Any = history if part == "history" else jobs
        schema = "ps_history" if part == "history" else "async"
        is_there = [schema] in reached.query("SHOW DATABASES")
        assert state in (ABSENT, DAMAGED, INSTALLED, UNSAFE)
        assert (state == ABSENT) == (not is_there), (part, state)
        if is_there:
            whole = module.is_whole(reached) and not rights.find_unsafe(reached, part)
            assert (state == INSTALLED) == whole, (part, state)
        assert "another tool" not in detail and "not ours" not in detail


def check_works(server: Revived) -> None:
    """Both parts do what they are for, and give nobody rights."""
    assert {state for state, _ in states(server).values()} == {INSTALLED}
    for part in PARTS:
        assert not rights.find_unsafe(server.now.reached(), part)
    rows = server.now.ask("CALL async.queue('SELECT 7 AS a')", "CALL async.wait(@query_number)")
    assert rows == [["7"]]
    server.now.ask("CALL ps_history.collect()")
    assert server.now.ask("CALL sys_history.as_of(NULL, 'metrics')") is not None


def test_a_server_that_is_killed_amid_an_installation_is_mended(server: Revived) -> None:
    cut_off(server, "install", *PARTS)
    check_told(server)
    there = [part for part, (state, _) in states(server).items() if state != ABSENT]
    assert server.now.kit("upgrade") == (0 if there else 64)
    assert {states(server)[part][0] for part in there} <= {INSTALLED}
    assert server.now.kit("install", *PARTS) == 0
    check_works(server)
    for part in PARTS:
        assert server.now.kit("uninstall", part) == 0
    assert {state for state, _ in states(server).values()} == {ABSENT}


def test_a_server_that_is_killed_amid_an_upgrade_is_mended(server: Revived) -> None:
    assert server.now.kit("install", *PARTS) == 0
    server.now.ask(
        "CALL ps_history.collect()",
        "CREATE PROCEDURE ps_history.psh_run(IN v_sql LONGTEXT) MODIFIES SQL DATA DO 1",
        "CREATE PROCEDURE async.keep_all(IN v_sql LONGTEXT) MODIFIES SQL DATA DO 1",
    )
    assert {state for state, _ in states(server).values()} == {UNSAFE}
    cut_off(server, "upgrade")
    check_told(server)
    assert server.now.kit("upgrade") == 0
    check_works(server)
    assert server.now.one("SELECT COUNT(*) > 1 FROM ps_history.psh_collections") == "1"
    for part in PARTS:
        assert server.now.kit("uninstall", part) == 0


def die_amid(server: Revived, verb: str, words: str) -> None:
    """Has a Dyno do something that is killed as it asks for what has these words."""
    child = os.fork()
    if child == 0:

        def ask(session: Any, statements: Sequence[str], *more: Any) -> Any:
            if any(words in it for it in statements):
                os.kill(os.getpid(), signal.SIGKILL)
            return driver.ask(session, statements, *more)

        try:
            reached = reach_server(ask, server.now.url)
            getattr(verbs, verb)(reached, find_parts(PARTS), lambda _: None)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_a_dyno_that_is_killed_amid_its_work_is_told_of_and_the_next_one_mends_it(
    server: Revived,
) -> None:
    before = server.now.inventory()
    for verb, words, damaged, mend in (
        ("install", "CREATE DATABASE async_1", "async", "install"),
        ("uninstall", "DROP DATABASE async", "async", "install"),
        ("uninstall", "DROP DATABASE ps_history", "history", "uninstall"),
        ("install", "EVENT ps_history", "history", "uninstall"),
    ):
        die_amid(server, verb, words)
        assert states(server)[damaged][0] == DAMAGED, (verb, words)
        assert server.now.kit(mend, *PARTS) == 0
        if mend == "install":
            assert {state for state, _ in states(server).values()} == {INSTALLED}, (verb, words)
        else:
            assert server.now.inventory() == before, (verb, words)


def test_half_a_library_that_a_killed_dyno_left_goes_and_one_in_the_making_stays(
    server: Revived,
) -> None:
    old, young = (server.now.plugins / f".{LIBRARY}-{it}" for it in ("abcdefgh", "ijklmnop"))
    for path in (old, young):
        path.touch()
    os.utime(old, (time.time() - 3600,) * 2)
    assert server.now.kit("install", "bitmap") == 0
    assert young.exists() and not old.exists()
    assert server.now.kit("uninstall", "bitmap") == 0
    young.unlink()
