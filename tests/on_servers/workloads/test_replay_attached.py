"""A log played on a server that runs already: in its own tables where that is said, else beside."""

from __future__ import annotations

from pathlib import Path

import pytest
from guides import guide
from private_postgres import private
from private_servers import login, serving
from small_logs import SHOP

from dyno import driver
from dyno.cli import run_words
from dyno.engines import Server

pytestmark = [pytest.mark.timeout(300)]


def url(server: Server) -> str:
    session = server.session
    where = str(session["host"]).replace("/", "%2F")
    return f"{session['kind']}://{login(session)}@{where}/{session['database']}"


def stock(server: Server) -> int:
    ((found,),) = driver.ask(server.session, ["SELECT sum(stock) FROM item"])[0]
    return int(str(found))


@pytest.mark.parametrize("kind", ["mysql-5.6", "mysql-8.0", "mariadb-innodb", "postgres-18"])
def test_only_who_says_so_plays_in_the_servers_own_tables(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    it = guide("log")
    it.unpack(tmp_path)
    dump = [each for each in it.files["shop-dump.sql"].split(";\n") if each.strip()]
    with serving(kind) as server:
        words = ["play", url(server), "--log", "general.log"]
        assert run_words([*words, "--data", "shop-dump.sql"]) == 0, capsys.readouterr().err
        with pytest.raises(Exception, match="item"):
            stock(server)  # the copy is gone
        driver.ask(server.session, dump)
        before = stock(server)
        assert run_words(words) == 64
        assert (
            "a log on a server that runs already needs --data or --in-place"
            in capsys.readouterr().err
        )
        assert run_words([*words, "--data", "shop-dump.sql"]) != 0  # their table is in the way
        assert stock(server) == before
        assert run_words([*words, "--in-place"]) == 0, capsys.readouterr().err
        assert stock(server) == before
        assert run_words([*words, "--in-place", "--writes"]) == 0, capsys.readouterr().err
        assert stock(server) < before


#: What no transaction that only reads holds back: of the server as a whole, and functions' doing.
REACHING = {
    "mysql-8.0": ["SET @@GLOBAL.max_connections = 77", "SELECT GET_LOCK('kept', 1)"],
    "postgres-18": [
        "SELECT pg_create_physical_replication_slot('kept')",
        "SELECT set_config('default_transaction_read_only', 'off', false)",
    ],
}


@pytest.mark.parametrize("kind", REACHING)
def test_a_copy_that_is_only_read_is_judged_by_the_same_lists_as_a_database_in_place(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.sql").write_text(SHOP)
    line = "2026-01-01T10:00:00.{0:06d}Z\t    8 Query\t{1}\n"
    said = ["SELECT name FROM item WHERE id = 1", *REACHING[kind]]
    (tmp_path / "it.log").write_text("".join(line.format(*each) for each in enumerate(said, 1)))
    with serving(kind) as server:
        words = ["play", url(server), "--log", "it.log", "--data", "shop.sql"]
        assert run_words(words) == 0, capsys.readouterr().err
        told = capsys.readouterr().err
    assert "1 of 3 statements are played" in told and "left out: " in told, told


def test_no_other_database_of_a_server_is_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither by a log nor by a dump that names one: only the URL's own was named."""
    monkeypatch.chdir(tmp_path)
    it = guide("log")
    it.unpack(tmp_path)
    text = it.files["general.log"]
    line = "2026-01-01T10:00:00.060000Z\t    9 Query\t"
    beside = [f"{line}UPDATE prod.item SET stock = 0", f"{line}USE prod", f"{line}DELETE FROM item"]
    (tmp_path / "wide.log").write_text("\n".join([text.rstrip("\n"), *beside]) + "\n")
    (tmp_path / "wide.sql").write_text("USE prod;\nDROP TABLE IF EXISTS item;\n")
    (tmp_path / "qualified.sql").write_text("INSERT INTO `prod`.item VALUES (9, 'x', 9);\n")
    dump = it.files["shop-dump.sql"]
    with serving("mysql-8.0") as server:
        made = ["CREATE DATABASE prod", "USE prod", *dump.split(";\n")]
        driver.ask(server.session, [each for each in made if each.strip()])
        kept = ["SELECT * FROM prod.item ORDER BY 1"]
        before = driver.ask(server.session, kept)
        words = ["play", url(server), "--log", "wide.log"]
        assert run_words([*words, "--data", "shop-dump.sql", "--writes"]) == 0
        said = capsys.readouterr().err
        assert "left out: 2 that name a database beside the one of the URL" in said, said
        for data in ("wide.sql", "qualified.sql"):
            assert run_words([*words, "--data", data, "--writes"]) == 64
            assert "names a database" in capsys.readouterr().err
        (tmp_path / "one.sql").write_text("SELECT 1;\n")
        setup = ["play", url(server), "--sql", "one.sql", "--set", "setup=qualified.sql"]
        assert run_words(setup) == 64
        assert "names a database" in capsys.readouterr().err
        driver.ask(server.session, [each for each in dump.split(";\n") if each.strip()])
        assert run_words([*words, "--in-place", "--writes"]) == 0
        assert driver.ask(server.session, kept) == before
        assert driver.ask(server.session, ["SELECT count(*) FROM item"]) == [[["0"]]]


def test_who_may_only_select_is_played_as(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In place nothing is tried that writes, so that an account without rights is enough."""
    monkeypatch.chdir(tmp_path)
    it = guide("log")
    it.unpack(tmp_path)
    for way, name, made in (
        (serving("mysql-8.0"), "low:pw", ["CREATE USER low IDENTIFIED BY 'pw'"]),
        (private("18"), "low", ["CREATE ROLE low LOGIN"]),
    ):
        with way as server:
            dump = it.files["shop-dump.sql"].split(";\n")
            made = [*dump, *made, "GRANT SELECT ON item TO low"]
            driver.ask(server.session, [each for each in made if each.strip()])
            low = url(server).replace(f"{login(server.session)}@", f"{name}@")
            assert run_words(["play", low, "--log", "general.log", "--in-place"]) == 0
            said = capsys.readouterr().err
            assert "safer" not in said, said
            assert run_words(["play", url(server), "--log", "general.log", "--in-place"]) == 0
            assert "a role that may only SELECT is safer" in capsys.readouterr().err


def test_a_log_in_place_is_read_by_the_servers_own_prefix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two numbers in each line, the server says which is the process."""
    monkeypatch.chdir(tmp_path)
    form = "2026-01-01 10:00:0{}.000 UTC [{}] [{}] LOG:  statement: SELECT id FROM item\n"
    rows = ((0, 1, 77), (1, 1, 78), (2, 2, 77))
    (tmp_path / "it.log").write_text("".join(form.format(*row) for row in rows))
    with serving("postgres-18", log_line_prefix="%m [%l] [%p] ") as server:
        driver.ask(server.session, [each for each in SHOP.split(";\n") if each.strip()])
        words = ["play", url(server), "--log", "it.log", "--in-place"]
        assert run_words(words) == 0, capsys.readouterr().err
    assert "3 of 3 statements are played, of 2 sessions" in capsys.readouterr().err
