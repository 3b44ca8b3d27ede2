"""PostgreSQL, nothing faked: fetched by Maven, started, read back, settled, killed, restored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from private_postgres import OLD, started
from private_postgres import version as version
from processes import processes_in

from dyno import driver
from dyno.cli import run_words
from dyno.engines import Server, find_engine
from dyno.errors import TrialFailed, UsageError

pytestmark = [pytest.mark.timeout(400)]

BRIEF = ["--set", "time=0.3", "--set", "table_size=200"]


@pytest.fixture
def server(version: str, home: Path) -> Iterator[Server]:
    running = started(version, home, work_mem="7MB")
    yield running
    find_engine("postgres", driver.ask).stop(running)


def test_settings_are_read_back_and_tables_settled(server: Server, version: str) -> None:
    engine = find_engine("postgres", driver.ask)
    driver.ask(server.session, ["CREATE TABLE t (a int)", "INSERT INTO t SELECT 1"])
    engine.settle(server)
    found = engine.settings(server)
    assert found["server_version"].startswith(f"{version}.")
    assert found["work_mem"] == "7MB (configuration file)"
    assert found["shared_buffers"] == "1GB (configuration file)"
    assert found["data_checksums"].startswith("off") and "built with CFLAGS" in found
    assert not [value for value in found.values() if str(server.home) in value]
    known = "SELECT reltuples::int, relallvisible FROM pg_class WHERE relname = 't'"
    assert driver.ask(server.session, [known]) == [[["1", "1"]]]


def test_a_cluster_holds_our_database_and_what_others_are_made_from(server: Server) -> None:
    names = "SELECT datname::text FROM pg_database ORDER BY 1"
    assert driver.ask(server.session, [names]) == [[["dyno"], ["template1"]]]
    driver.ask(server.session, ["CREATE DATABASE another"])


def test_a_server_runs_as_nobody_special_on_a_private_socket(server: Server) -> None:
    assert server.pid is not None and server.pid in processes_in(server.home)
    assert Path(f"/proc/{server.pid}").stat().st_uid != 0
    assert server.home.stat().st_mode & 0o077 == 0
    ((addresses,),) = (driver.ask(server.session, ["SHOW listen_addresses"])[0],)
    assert addresses == [""]


def test_a_setting_that_something_else_decides_fails_the_trial(server: Server) -> None:
    driver.ask(server.session, ["ALTER DATABASE dyno SET work_mem = '5MB'"])
    with pytest.raises(TrialFailed, match=r"work_mem=5MB \(database\), though 7MB was asked for"):
        find_engine("postgres", driver.ask).settings(server)


def test_what_a_version_does_not_take_is_known_before_the_first_trial() -> None:
    command = ["play", "-w", "oltp_point_select", *BRIEF]
    engine = find_engine("postgres", driver.ask)
    build = engine.program(OLD, {}, lambda _: None)
    for settings, message in (
        ({"io_method": "sync"}, r"unknown setting of this postgres 'io_method'"),
        ({"shared_buffers": "lots"}, r'invalid value for parameter "shared_buffers": "lots"'),
    ):
        with pytest.raises(UsageError, match=message):
            engine.accept(build, settings)  # type: ignore[attr-defined]
    assert run_words([*command, f"postgres@{OLD}?shared_bufers=1GB"]) == 64


def test_a_prefix_of_ones_own_is_a_build(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    program = find_engine("postgres", driver.ask).program(version, {}, lambda _: None).program
    words = ["play", f"postgres@{program.parent.parent}", "-w", "oltp_insert", *BRIEF]
    assert run_words(words) == 0
    said = capsys.readouterr().out
    (ledger,) = (line for line in said.splitlines() if line.startswith("ledger: rows ="))
    found, expected = (word for word in ledger.split() if word.isdigit())
    assert found == expected != "0"
