"""What fingers type for a server: the ways of each client's own programs, and their files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dyno.cli import run_words
from dyno.driver.plan import Session
from dyno.engines.mysql import attached as mysql
from dyno.engines.postgres import attached as postgres
from dyno.errors import UsageError
from dyno.runs.experiment import candidates

VARIABLES = (
    *("PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGDATABASE", "PGPASSWORD", "PGPASSFILE"),
    *("PGSERVICE", "PGSERVICEFILE", "PGSYSCONFDIR", "PGSSLMODE", "PGSSLCERT"),
    *("MYSQL_PWD", "MYSQL_HOST", "MYSQL_TCP_PORT", "MYSQL_UNIX_PORT", "MYSQL_GROUP_SUFFIX"),
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own, and none of whoever plays it."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def reach(text: str) -> tuple[Any, ...]:
    """Where and as whom the driver would log in: host, port, user, database, password."""
    spec = candidates.parse_candidate(text)
    if spec.engine == "postgres":
        session: Session = postgres.make_session(
            postgres.locate_server(spec.with_password, spec.keys)
        )
    else:
        found = mysql.locate_server(spec.engine, spec.with_password, spec.keys)
        session = mysql.make_session(found)
    return tuple(session[name] for name in ("host", "port", "user", "database", "password"))


@pytest.mark.parametrize(
    ("text", "reached"),
    [
        ("postgresql://joe:p%40ss@db.example/shop", ("db.example", 5432, "joe", "shop", "p@ss")),
        ("postgres:///shop?host=/none&user=joe", ("/none", 0, "joe", "shop", None)),
        ("postgresql://joe@/shop?host=%2Fnone", ("/none", 0, "joe", "shop", None)),
        ("host=db.example user=joe dbname=shop", ("db.example", 5432, "joe", "shop", None)),
        ("host=db.example user=joe password=a%b", ("db.example", 5432, "joe", "joe", "a%b")),
        ("host=db.example user=joe password='a b'", ("db.example", 5432, "joe", "joe", "a b")),
        (
            "postgresql://db.example/a?user=joe&password=p%20w",
            ("db.example", 5432, "joe", "a", "p w"),
        ),
        ("postgresql+psycopg://joe@db.example/a", ("db.example", 5432, "joe", "a", None)),
        (
            "jdbc:postgresql://db.example:1/a?user=joe&password=x",
            ("db.example", 1, "joe", "a", "x"),
        ),
        ("mysql://joe:p%40ss@db.example/shop", ("db.example", 3306, "joe", "shop", "p@ss")),
        ("mysql://joe@/shop?socket=/none/s.sock", ("/none/s.sock", 0, "joe", "shop", None)),
        ("mysql+pymysql://joe:x@h/a?unix_socket=/none/s", ("/none/s", 0, "joe", "a", "x")),
        ("jdbc:mysql://db.example:1/a?user=joe&password=x", ("db.example", 1, "joe", "a", "x")),
        ("mariadb://joe@db.example:1/a", ("db.example", 1, "joe", "a", None)),
    ],
)
def test_an_address_is_read_as_the_clients_own_programs_read_it(
    text: str, reached: tuple[Any, ...]
) -> None:
    assert reach(text) == reached
    assert reach(f"mine={text}" if "://" in text else text) == reached


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://joe:***@db.example/shop",
        "postgresql+psycopg://joe@db.example/shop?sslmode=prefer",
        "mysql://joe@/shop?socket=/none/s.sock",
    ],
)
def test_the_scheme_that_was_typed_stays(text: str) -> None:
    spec = candidates.parse_candidate(text)
    assert (spec.name, spec.text) == (text, text)
    more = candidates.with_keys(spec, "b", {"readonly": "on"})
    again = candidates.parse_candidate(more.text)
    assert again.keys["readonly"] == "on" and again.build == spec.build


@pytest.mark.parametrize(
    "text",
    [
        "host=db.example password=s3cret dbname=a",
        "host=db.example password='s3cret x' dbname=a",
        "postgresql://joe@db.example/a?password=s3cret",
        "jdbc:mysql://db.example/a?user=joe&password=s3cret",
        "postgresql://joe@db.example/a?password=s3cret&connect_timeout=5",
    ],
)
def test_a_password_in_a_word_or_key_is_never_shown(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["play", text, "-w", "no_such_workload"]) == 64
    assert run_words(["compare", "null", text, "-w", "no_such_workload"]) == 64
    assert "s3cret" not in "".join(capsys.readouterr())


def test_what_is_left_out_comes_from_libpqs_variables_and_service(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PGHOST": "db.example", "PGPORT": "7", "PGUSER": "ann"}.items():
        monkeypatch.setenv(name, value)
    assert reach("postgres:///shop") == ("db.example", 7, "ann", "shop", None)
    assert reach("postgres://joe@other:8/shop") == ("other", 8, "joe", "shop", None)
    monkeypatch.setenv("PGDATABASE", "shop")
    assert reach("postgresql://") == ("db.example", 7, "ann", "shop", None)
    (home / ".pg_service.conf").write_text(
        "# mine\n[other]\nhost=no\n[mine]\nhost=svc.example\nuser=sue\npassword=hidden\n"
    )
    assert reach("service=mine") == ("svc.example", 7, "sue", "shop", "hidden")
    assert reach("postgresql:///x?service=mine") == ("svc.example", 7, "sue", "x", "hidden")
    monkeypatch.setenv("PGSERVICE", "mine")
    assert reach("postgres://joe@/shop") == ("svc.example", 7, "joe", "shop", "hidden")
    (home / "pass").write_text("svc.example:7:shop:joe:kept\n")
    (home / "pass").chmod(0o600)
    (home / ".pg_service.conf").write_text("[mine]\nhost=svc.example\npassfile=~/pass\n")
    assert reach("postgres://joe@/shop") == ("svc.example", 7, "joe", "shop", "kept")


@pytest.mark.parametrize(
    ("variables", "text", "said"),
    [
        ({}, "postgres:///a?service=none", 'definition of service "none" not found'),
        ({"PGSERVICE": "odd"}, "postgres:///a", "'options' of .* is not supported"),
        ({"PGSSLCERT": "/c.pem"}, "postgres:///a", r"\$PGSSLCERT is set"),
        ({"PGPORT": "many"}, "postgres:///a", "invalid port number: 'many'"),
        ({"PGHOST": "a,b"}, "postgres:///a", "'a,b' names several servers"),
        ({}, "postgresql://a:1,b:2/a", "names several servers"),
        ({}, "host=a,b dbname=x", "names several servers"),
        (
            {},
            "postgresql://db/a?target_session_attrs=any",
            "'target_session_attrs' of a connection",
        ),
        ({}, "postgres://db/a?passfile=/none/p", "there is no file /none/p"),
        ({}, "mysql://db/a?defaults-file=/none/p", "there is no file /none/p"),
    ],
)
def test_what_is_read_there_and_not_here_is_refused_by_name(
    variables: dict[str, str],
    text: str,
    said: str,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (home / ".pg_service.conf").write_text("[odd]\noptions=-c x=1\n")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=said):
        reach(text)


MY_CNF = """
# whose it is
[client]
user = joe
password = "p#ss w\\"ord"   # no part of it
port=3307
!include {folder}/more.cnf
[mysqld]
user = mysql
port = 1
[mysql]
database=shop
prompt=joke
[mariadb-client]
user=mary
"""


def write(file: Path, text: str, mode: int = 0o600) -> Path:
    file.write_text(text)
    file.chmod(mode)
    return file


def test_what_is_left_out_comes_from_the_groups_of_my_cnf(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / ".my.cnf", MY_CNF.format(folder=home))
    write(home / "more.cnf", "[client]\nhost=db.example\nssl_mode=PREFERRED\n")
    assert reach("mysql://") == ("db.example", 3307, "joe", "shop", 'p#ss w"ord')
    assert reach("mariadb://other/x") == ("other", 3307, "mary", "x", 'p#ss w"ord')
    assert reach("mysql://ann:own@other:1/x") == ("other", 1, "ann", "x", "own")
    write(home / "more.cnf", "[client]\nsocket=/none/s.sock\n[client-old]\nuser=old\n")
    assert reach("mysql:///x") == ("/none/s.sock", 0, "joe", "x", 'p#ss w"ord')
    monkeypatch.setenv("MYSQL_GROUP_SUFFIX", "-old")
    assert reach("mysql:///x")[2] == "old"
    alone = write(home / "alone.cnf", "[client]\nuser=al\nhost=h\n")
    assert reach(f"mysql:///x?defaults-file={alone}") == ("h", 3306, "al", "x", None)
    monkeypatch.setenv("MYSQL_PWD", "known")
    assert reach(f"mysql:///x?defaults-file={alone}")[4] == "known"


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("[client]\nuser=joe\n", 0o666, "is world-writable"),
        ("[client]\nssl-cert=/c.pem\n", 0o600, "'ssl-cert' of .* is not supported"),
        ("!include {home}/.my.cnf\n", 0o600, "is included in a circle"),
    ],
)
def test_an_option_file_that_cannot_be_followed_is_refused_by_name(
    text: str, mode: int, said: str, home: Path
) -> None:
    write(home / ".my.cnf", text.format(home=home), mode)
    with pytest.raises(UsageError, match=said):
        reach("mysql://db.example/a")
    assert reach("mysql://joe@db.example/a?defaults-file=/dev/null")[2] == "joe"


def test_only_reading_is_added_to_an_address_however_it_is_written() -> None:
    from dyno.runs.resolve.copies import with_access

    typed: Sequence[str] = (
        "postgresql://joe:s3@db/a?host=/none",
        "host=db user=joe password=s3 dbname=a",
        "mysql://joe@db/a",
    )
    for before, after in zip(typed, with_access(True, False, typed), strict=True):
        one, other = map(candidates.parse_candidate, (before, after))
        assert other.keys == one.keys | {"readonly": "on"}
        assert (other.with_password, other.engine) == (one.with_password, one.engine)


@pytest.mark.parametrize(("url", "named"), [("mysql://joe@", True), ("mariadb://joe@", False)])
def test_a_login_file_that_is_not_read_is_named_where_a_login_fails(
    url: str, named: bool, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".mylogin.cnf").write_bytes(b"\0\0\0\0")
    for login in (url, url.replace("joe", "joe:secret")):
        assert run_words(["play", f"{login}127.0.0.1:1/shop", "--workload", "oltp_read_only"]) == 64
        said = capsys.readouterr().err
        assert (".mylogin.cnf is not read" in said) == (named and "secret" not in login), said
