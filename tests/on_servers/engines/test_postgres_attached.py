"""A PostgreSQL that runs already, nothing faked: played on, left as it was found, not stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from private_postgres import PASSWORD, private
from private_servers import choose_build

from dyno import driver
from dyno.cli import run_words
from dyno.engines import Server

pytestmark = [pytest.mark.timeout(300)]

BUILD = choose_build("postgres@18").partition("@")[2]
BRIEF = ["--set", "time=0.3", "--set", "table_size=200"]


@pytest.fixture(scope="module")
def theirs() -> Iterator[Server]:
    """Somebody's server, with ann's own database in it."""
    with private(BUILD) as server:
        driver.ask(server.session, ["CREATE DATABASE anns OWNER ann", "CREATE DATABASE others"])
        yield server


def url(server: Server, user: str, database: str) -> str:
    return f"postgres://{user}@{str(server.session['host']).replace('/', '%2F')}/{database}"


def tables(server: Server, database: str) -> list[list[str | None]]:
    question = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
    return driver.ask({**server.session, "database": database}, [question])[0]


def test_a_comparison_leaves_the_server_as_it_was(
    theirs: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path))
    first, second = url(theirs, f"ann:{PASSWORD}", "anns"), url(theirs, "ann", "anns")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    words = ["compare", f"one={first}", f"two={second}", "-w", "oltp_insert", *BRIEF]
    assert run_words([*words, "--blocks", "3"]) in (0, 1, 2)
    assert tables(theirs, "anns") == []
    (folder,) = tmp_path.iterdir()
    run = json.loads((folder / "run.json").read_text())
    assert [side["build"]["version"][:2] for side in run["candidates"]] == [BUILD, BUILD]
    for file in folder.rglob("*"):
        assert not file.is_file() or PASSWORD.encode() not in file.read_bytes(), file
    assert driver.ask(theirs.session, ["SELECT 1"]) == [[["1"]]]
    trials = [json.loads(file.read_text()) for file in (folder / "trials").iterdir()]
    echoes = {(t["candidate"], t["status"]) for t in trials if t["block"] < 0}
    assert echoes >= {("(echo) one", "ok")}, "the way to it is measured"


def test_two_servers_that_run_already_are_interleaved_and_two_names_of_one_are_not(
    theirs: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path))
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    first = url(theirs, "ann", "anns")
    words = ["-w", "oltp_point_select", *BRIEF, "--blocks", "3"]
    with private(BUILD) as other:
        driver.ask(other.session, ["CREATE DATABASE anns OWNER ann"])
        second = url(other, "ann", "anns")
        assert run_words(["compare", f"one={first}", f"two={second}", *words]) in (0, 1, 2, 3)
    (folder,) = tmp_path.iterdir()
    assert json.loads((folder / "run.json").read_text())["design"]["interleaving"]
    capsys.readouterr()
    assert run_words(["compare", f"one={first}", f"two={first}", *words, "--interleaved"]) == 64
    assert "one and two are one server" in capsys.readouterr().err


SETUP = "CREATE TABLE my_t AS SELECT 1 AS x; CREATE VIEW my_v AS SELECT * FROM my_t;"
NO_CLEANUP = """
function prepare() sysbench.sql.driver():connect():query("CREATE TABLE mine (x int)") end
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT * FROM mine") end
"""


def test_tables_that_a_script_never_drops_are_dropped_after_every_trial(
    theirs: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    (tmp_path / "setup.sql").write_text(SETUP)
    (tmp_path / "my.sql").write_text("SELECT * FROM my_v;")
    (tmp_path / "my.lua").write_text(NO_CLEANUP)
    (tmp_path / "bad.sql").write_text(SETUP + "SELECT * FROM nosuch;")
    at, brief = url(theirs, "ann", "anns"), ["--set", "time=0.2"]
    words = ["-w", str(tmp_path / "my.sql"), "--set", "setup=setup.sql", *brief]
    assert run_words(["compare", f"one={at}", f"two={at}", *words, "--aa", "--blocks", "3"]) < 4
    (folder,) = (tmp_path / "runs").iterdir()
    trials = [json.loads(file.read_text()) for file in (folder / "trials").iterdir()]
    assert {trial["status"] for trial in trials} == {"ok"}
    assert run_words(["play", at, "-w", str(tmp_path / "my.lua"), *brief]) == 0
    assert run_words(["play", at, *words[:2], "--set", "setup=bad.sql", *brief]) == 64
    assert tables(theirs, "anns") == []


def test_tables_that_were_there_are_left_alone(
    theirs: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = {**theirs.session, "database": "others"}
    driver.ask(kept, ["CREATE TABLE sbtest1 (theirs int)", "INSERT INTO sbtest1 VALUES (7)"])
    assert run_words(["play", url(theirs, "dyno", "others"), "-w", "oltp_insert", *BRIEF]) == 64
    assert "is not empty: oltp_insert loads its own tables" in capsys.readouterr().err
    assert driver.ask(kept, ["SELECT theirs FROM sbtest1"]) == [[["7"]]]


@pytest.mark.parametrize(
    ("user", "database", "message"),
    [
        ("ann:wrong", "anns", "password authentication failed"),
        (f"ann:{PASSWORD}", "none", 'database "none" does not exist'),
        (f"ann:{PASSWORD}", "others", "may make no tables in 'others'"),
        (f"ann:{PASSWORD}", "", "names no database"),
    ],
)
def test_what_cannot_be_attached_to_is_told_before_anything_is_played(
    theirs: Server, user: str, database: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["play", url(theirs, user, database), "-w", "oltp_insert", *BRIEF]) == 64
    said = capsys.readouterr()
    assert message in said.err and PASSWORD not in said.err + said.out


def test_a_database_that_is_read_only_is_refused(
    theirs: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    driver.ask(theirs.session, ["ALTER ROLE few SET default_transaction_read_only = on"])
    driver.ask(theirs.session, ["ALTER ROLE few CONNECTION LIMIT -1"])
    assert run_words(["play", url(theirs, "few", "anns"), "-w", "oltp_insert", *BRIEF]) == 64
    assert "the database 'anns' is read-only" in capsys.readouterr().err
