"""A log played on a server that runs already: in its own tables where that is said, else beside."""

from __future__ import annotations

from pathlib import Path

import pytest
from guides import guide
from private_servers import login, serving

from dyno import driver
from dyno.cli import exit_code
from dyno.engines import Server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


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
        assert exit_code([*words, "--data", "shop-dump.sql"]) == 0, capsys.readouterr().err
        with pytest.raises(Exception, match="item"):
            stock(server)  # the copy is gone
        driver.ask(server.session, dump)
        before = stock(server)
        assert exit_code(words) == 64
        assert "a log is played on a copy" in capsys.readouterr().err
        assert exit_code([*words, "--data", "shop-dump.sql"]) != 0  # their table is in the way
        assert stock(server) == before
        assert exit_code([*words, "--in-place"]) == 0, capsys.readouterr().err
        assert stock(server) == before
        assert exit_code([*words, "--in-place", "--writes"]) == 0, capsys.readouterr().err
        assert stock(server) < before
