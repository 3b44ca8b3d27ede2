"""Servers that run already, reached in the ways that fingers type, nothing faked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from private_mysql import PASSWORD, private, tcp
from private_postgres import private as private_postgres
from private_servers import choose_build

from dyno.access.url import find_server_pid
from dyno.cli import run_words
from dyno.engines import Server
from dyno.engines.mysql.attached import PROGRAMS
from dyno.engines.postgres.attached import PROGRAMS as POSTGRES

pytestmark = [pytest.mark.timeout(300)]

ASKS = "SELECT 1;\n"
BRIEF = ["--set", "time=0.1", "--set", "warmup_time=0"]


@pytest.fixture(scope="module")
def theirs() -> Iterator[Server]:
    """Somebody's MySQL, also on a port."""
    with private("mysql@8.0.33") as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own, with a script that only asks."""
    for name in ("PGHOST", "PGUSER", "PGPORT", "PGDATABASE", "PGSERVICE", "MYSQL_PWD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ask.sql").write_text(ASKS)
    return tmp_path


def play(address: str) -> int:
    joint = "&" if "?" in address else "?"
    words = address if "://" not in address else f"{address}{joint}readonly=on"
    return run_words(["play", words, "--sql", "ask.sql", *BRIEF])


def test_mysql_is_reached_by_socket_port_and_option_file_and_its_process_is_known(
    theirs: Server, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    by_port, place = tcp(theirs), quote(str(theirs.session["host"]), safe="")
    assert find_server_pid(by_port, PROGRAMS) == theirs.pid
    assert find_server_pid(theirs.session, PROGRAMS) == theirs.pid
    assert find_server_pid(by_port, ("docker-proxy",)) is None, "a proxy is no server"
    file = home / ".my.cnf"
    at = f"host={by_port['host']}\nport={by_port['port']}\n"
    file.write_text(f"[client]\nuser=caching\npassword={PASSWORD}\n[mysql]\ndatabase=dyno\n")
    file.chmod(0o600)
    for address in (f"mysql://?socket={place}", f"mysql://%2F{place[3:]}/dyno"):
        assert play(address) == 0, capsys.readouterr().err
    file.write_text(file.read_text() + f"[client]\n{at}")
    for address in ("mysql://", "mysql+pymysql:///dyno", "jdbc:mysql:///?user=caching&x=1"):
        code, said = play(address), capsys.readouterr().err
        assert code == (64 if "&x" in address else 0), said
        assert "'x'" in said or code == 0
    assert PASSWORD not in "".join(capsys.readouterr())


def test_postgres_is_reached_by_words_service_and_variables(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with private_postgres(choose_build("postgres@18").partition("@")[2]) as server:
        folder, socket = str(server.session["host"]).rsplit("/", 1)
        port = socket.rpartition(".")[2]
        assert find_server_pid(server.session, POSTGRES) == server.pid
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
        words = f"host={folder} port={port} user=ann dbname=dyno"
        for address in (
            f"{words} readonly=on",
            f"postgresql:///dyno?host={folder}&port={port}&user=ann",
            f"postgresql://ann@{quote(folder, safe='')}:{port}/dyno?sslmode=prefer",
        ):
            assert play(address) == 0, capsys.readouterr().err
        monkeypatch.delenv("PGPASSWORD")
        (home / ".pg_service.conf").write_text(
            "[mine]\n" + words.replace(" ", "\n") + f"\npassword={PASSWORD}\n"
        )
        assert play("service=mine readonly=on") == 0, capsys.readouterr().err
        monkeypatch.setenv("PGSERVICE", "mine")
        assert play("postgresql://") == 0, capsys.readouterr().err
        assert play("postgresql://nobody@/dyno") == 64
        said = capsys.readouterr().err
        assert "nobody" in said and PASSWORD not in said
