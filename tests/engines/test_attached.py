"""A server that runs already: its URL, its password's ways, and that no word of ours has it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from dyno.access import url as _attached
from dyno.access.url import find_server_pid
from dyno.builds import Build
from dyno.driver.plan import Session
from dyno.engines import Ask, Server, find_engine
from dyno.engines.postgres.attached import MAY_CREATE, NAMED, READ_ONLY
from dyno.engines.postgres.client_files import find_password
from dyno.errors import UsageError
from dyno.runs.experiment import candidates

URL = "postgres://joe:s3c%40ret@db.example:6543/bench"
ASKED = (NAMED, READ_ONLY, MAY_CREATE)
SAID = ["PostgreSQL 15.6 on x86_64", "off", "t"]


@pytest.fixture(autouse=True)
def no_password(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))


def told(*answers: str | None, seen: list[Session] | None = None) -> Ask:
    """A server with these answers to `ASKED` and `1` to all else; keeps the sessions it was asked
    over.
    """
    known = dict(zip(ASKED, answers, strict=False))

    def ask(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
        if seen is not None:
            seen.append(session)
        return [[[known.get(it, "1")]] for it in statements]

    return ask


def met(url: str, ask: Ask, **flags: str) -> Build:
    spec = candidates.parse_candidate(url)
    return find_engine(spec.engine, ask).program(
        spec.with_password, spec.keys | flags, lambda _: None
    )


def test_a_server_is_met_as_the_url_says() -> None:
    seen: list[Session] = []
    found = met(URL, told(*SAID, seen=seen))
    assert (found.version, found.attached, found.secret) == ("15.6", True, "s3c@ret")
    assert found.name == "//joe@db.example:6543/bench" and "s3c" not in repr(found)
    session = seen[0]
    assert all(it == session for it in seen)
    assert (session["host"], session["port"], session["user"]) == ("db.example", 6543, "joe")
    assert (session["password"], session["database"]) == ("s3c@ret", "bench")
    assert session["tls"] == {"mode": "require", "ca": None}


def test_nothing_leaves_the_machine_so_nothing_is_encrypted_there() -> None:
    for host in ("localhost", "127.0.0.1", "%2Fsockets%2Fpg", "[::1]"):
        found = met(f"postgres://joe@{host}/d", told(*SAID))
        assert found.facts["sslmode"] == "disable"
        assert find_engine("postgres", told()).start(found, Path("/none"), {}).pid is None
    assert (
        met("postgres://joe@h/d", told(*SAID), sslmode="verify-full").facts["sslmode"] != "require"
    )


def test_a_socket_has_no_port_and_tells_its_process(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / ".s.PGSQL.5433"))
        listening.listen()
        place = str(tmp_path).replace("/", "%2F")
        found = met(f"postgres://joe@{place}:5433/d", told(*SAID))
        server = find_engine("postgres", told()).start(found, tmp_path, {})
    assert server.session["host"] == str(tmp_path / ".s.PGSQL.5433")
    assert (server.session["port"], server.pid) == (0, os.getpid())


def test_what_runs_already_is_neither_stopped_nor_told_to_checkpoint(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(session: Session, statements: Sequence[str]) -> list[list[list[str | None]]]:
        asked.extend(statements)
        answers: list[str | None] = ["public.t", "PostgreSQL 15", "150006"]
        return [[[answer]] for answer in answers[: len(statements)]]

    engine, server = find_engine("postgres", ask), Server({}, tmp_path)
    engine.settle(server)
    engine.stop(server)
    assert asked[-1] == "VACUUM (ANALYZE, INDEX_CLEANUP ON) public.t"
    assert "CHECKPOINT" not in asked


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (["PostgreSQL 15", "on", "t"], "'bench' is read-only"),
        (["PostgreSQL 15", "off", "f"], "'joe' may make no tables in 'bench'"),
    ],
)
def test_a_database_that_cannot_be_written_to_is_refused(
    answers: list[str | None], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        met(URL, told(*answers))


@pytest.mark.parametrize(
    ("build", "flags", "settings", "message"),
    [
        ("//joe@h", {}, {}, "names no database"),
        ("//joe@h:port/d", {}, {}, "cannot read the server's URL"),
        ("//joe@h/d", {"sslmode": "maybe"}, {}, "unknown value of sslmode"),
        ("//joe@h/d", {"sslrootcert": "/none.pem"}, {}, "there is no file /none.pem"),
        ("//joe@h/d", {}, {"shared_buffers": "1GB"}, "cannot be configured: 'shared_buffers'"),
        ("18", {"sslmode": "require"}, {}, "needs the URL"),
    ],
)
def test_a_wrong_url_is_refused(
    build: str, flags: dict[str, str], settings: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        _attached.check_url(build, flags, settings)
        _attached.parse_url(build, 1)


def test_a_password_comes_from_where_libpq_takes_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    at = _attached.parse_url("//joe@h/bench", 5432)
    kept = tmp_path / "pgpass"
    kept.write_text("# mine\nother:*:*:joe:no\nh:5432:*:joe:s\\:e\\\\c\n*:*:*:*:last\n")
    monkeypatch.setenv("PGPASSFILE", str(kept))
    kept.chmod(0o644)
    assert find_password(at) is None
    kept.chmod(0o600)
    assert find_password(at) == "s:e\\c"
    assert find_password(_attached.parse_url("//ann@h/bench", 5432)) == "last"
    monkeypatch.setenv("PGPASSWORD", "known")
    assert met("postgres://joe:***@h/d", told(*SAID)).secret == "known"


LISTENS = """
import os, socket, sys
line = socket.create_server((sys.argv[1], int(sys.argv[2])))
print(line.getsockname()[1], flush=True)
if os.fork() == 0:
    sys.stdin.read()
    os._exit(0)
sys.stdin.read()
"""


@contextmanager
def listening_at(program: Path, host: str, port: int) -> Iterator[tuple[int, int]]:
    """A process, and the port where it listens; `program` is what it is called."""
    program.symlink_to(sys.executable)
    command = [str(program), "-c", LISTENS, host, str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as listening:
        assert listening.stdout and listening.stdin
        yield listening.pid, int(listening.stdout.readline())
        listening.stdin.close()


def find_at(host: str, port: int) -> int | None:
    return find_server_pid({"kind": "postgres", "host": host, "port": port}, ("postgres",))


def test_a_server_behind_a_port_of_this_host_is_its_first_process_and_no_proxy(
    tmp_path: Path,
) -> None:
    for name in ("postgres", "docker-proxy"):
        with listening_at(tmp_path / name, "127.0.0.1", 0) as (pid, port):
            for host in ("127.0.0.1", "localhost"):
                assert find_at(host, port) == (pid if name == "postgres" else None), host
    assert _attached.is_here(socket.gethostname())
    assert not _attached.is_here("192.0.2.1") and not _attached.is_here("no.such.host.invalid")


def test_of_two_servers_at_one_port_of_two_addresses_each_is_found(tmp_path: Path) -> None:
    (tmp_path / "2").mkdir()
    with (
        listening_at(tmp_path / "postgres", "127.0.0.1", 0) as (one, port),
        listening_at(tmp_path / "2" / "postgres", "127.0.0.2", port) as (two, _),
    ):
        assert (find_at("127.0.0.1", port), find_at("127.0.0.2", port)) == (one, two)
        assert find_at("127.0.0.3", port) is None
