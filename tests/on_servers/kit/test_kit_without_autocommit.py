"""The kit on servers whose sessions begin without autocommit: all is written, and seen by all."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from kit_servers import BETWEEN, KitServer, serving

from dyno.errors import TrialFailed
from dyno.servers.kit.library import PARTS
from dyno.servers.kit.verbs import INSTALLED, NATIVE, read_status

pytestmark = [pytest.mark.timeout(300)]

PATIENCE_S = 60.0
WEAK = {"user": "weak", "password": "Weak-1", "database": "information_schema"}


@pytest.fixture(scope="module", params=BETWEEN)
def server(request: pytest.FixtureRequest) -> Iterator[KitServer]:
    """With all parts, and jobs for somebody else, too."""
    with serving(str(request.param), autocommit="0") as made:
        made.ask("CREATE USER 'weak'@'localhost' IDENTIFIED BY 'Weak-1'")
        before = made.inventory()
        assert made.kit("install", *PARTS, "--account", "weak@localhost") == 0
        assert {it.state for it in read_status(made.reached())} <= {INSTALLED, NATIVE}
        made.ask("CREATE TABLE dyno.t (id INT PRIMARY KEY) ENGINE=InnoDB")
        yield made
        made.ask("DROP TABLE dyno.t")
        for part in PARTS:
            assert made.kit("uninstall", part) == 0
        assert made.inventory() == before


def job(server: KitServer, statement: str, **session: object) -> list[list[str | None]]:
    """What a job answers, asked by another session than the one that queued it."""
    (number,) = server.ask(f"CALL async.queue('{statement}')", **session)[0]
    return server.ask(f"CALL async.wait({number})", **session)


def test_jobs_begin_and_commit_and_are_seen(server: KitServer) -> None:
    assert server.one("SELECT @@SESSION.autocommit") == "0"
    (ended,) = job(server, "INSERT INTO dyno.t VALUES (1), (2)")
    assert ended[1:] == ["SUCCEEDED", "2"]
    assert server.one("SELECT COUNT(*) FROM dyno.t") == "2"
    assert job(server, "SELECT SUM(id) AS total FROM dyno.t") == [["3"]]
    assert job(server, "SELECT CURRENT_USER() AS me", **WEAK) == [["weak@localhost"]]
    running = "SELECT COUNT(*) FROM async.q WHERE state = 'RUNNING'"
    assert server.one(running) == "0"


def test_what_a_procedure_does_is_one_transaction(server: KitServer) -> None:
    server.ask(
        "CREATE PROCEDURE dyno.twice() BEGIN"
        " INSERT INTO dyno.t VALUES (10); INSERT INTO dyno.t VALUES (10); END"
    )
    with pytest.raises(TrialFailed, match="FAILED"):
        job(server, "CALL dyno.twice()")
    assert server.one("SELECT COUNT(*) FROM dyno.t WHERE id = 10") == "0"
    server.ask("DROP PROCEDURE dyno.twice")


def test_jobs_are_cancelled_and_set_right(server: KitServer) -> None:
    server.ask("CALL async.set_concurrency(2)")
    (number,) = server.ask("CALL async.queue('DO SLEEP(60)')")[0]
    server.ask(f"CALL async.cancel({number})")
    until(server, f"SELECT COUNT(*) FROM async.q WHERE q_id = {number} AND state = 'CANCELLED'")
    assert job(server, "SELECT 1 AS one") == [["1"]]


def test_a_history_is_collected_and_set(server: KitServer) -> None:
    server.ask("CALL ps_history.set_collect_interval(7)")
    setting = "SELECT value FROM ps_history.psh_settings WHERE variable = 'interval'"
    assert server.one(setting) == "7"
    until(server, "SELECT COUNT(*) FROM ps_history.psh_collections")
    assert server.ask("CALL sys_history.as_of(NULL, 'host_summary')")


def test_an_index_over_documents_is_made(server: KitServer) -> None:
    server.ask(
        "CREATE TABLE dyno.d (id INT PRIMARY KEY, doc TEXT CHARACTER SET utf8mb4) ENGINE=InnoDB",
        "INSERT INTO dyno.d VALUES (1, '{\"a\": 1}'), (2, '{\"a\": 2}')",
        "COMMIT",
    )
    assert server.kit("index-json", "dyno.d.doc") == 0
    assert server.ask("CALL kit.search('dyno.d.doc', '{\"a\": 2}')")[0][0] == "2"
    assert server.kit("index-json", "dyno.d.doc", "--drop") == 0
    server.ask("DROP TABLE dyno.d")


def until(server: KitServer, question: str) -> None:
    """Waits for an answer that is not 0."""
    until_s = time.monotonic() + PATIENCE_S
    while server.one(question) == "0":
        assert time.monotonic() < until_s, question
        time.sleep(0.05)
