"""A server's URL and version, read before anything is put into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from dyno.driver.plan import Session
from dyno.errors import TrialFailed, UsageError
from dyno.servers.kit import server


class Asked:
    """Answers as a server of a version would, and keeps the session that it was asked in."""

    def __init__(self, version: str = "8.0.33") -> None:
        self.version, self.session = version, Session()

    def __call__(
        self, session: Session, statements: Sequence[str], _: float = 0
    ) -> list[list[list[str | None]]]:
        self.session = session
        return [[[self.version, "/usr/lib/plugin/"]] for _ in statements]


def test_a_url_needs_no_database() -> None:
    asked = Asked()
    found = server.reach_server(asked, "mysql://ann:p%40ss@127.0.0.1:3307")
    assert (asked.session["host"], asked.session["port"]) == ("127.0.0.1", 3307)
    assert (asked.session["user"], asked.session["password"]) == ("ann", "p@ss")
    assert found.near and str(found.plugins) == "/usr/lib/plugin"
    assert not server.reach_server(
        asked, "mariadb://ann@db.example:3307/sales?ssl-mode=required"
    ).near
    assert asked.session["database"] == "sales" and asked.session["tls"]["mode"] == "require"


def test_a_password_may_come_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYSQL_PWD", "hidden")
    asked = Asked()
    server.reach_server(asked, "mysql://ann@127.0.0.1/")
    assert asked.session["password"] == "hidden"


@pytest.mark.parametrize(
    "dsn", ["postgres://ann@host/x", "mysql@8.0", "localhost:3306", "mysql:/ann@host"]
)
def test_what_is_no_url_of_such_a_server_is_refused(dsn: str) -> None:
    with pytest.raises(UsageError):
        server.reach_server(Asked(), dsn)


@pytest.mark.parametrize("version", ["5.5.34", "5.1.73-log", "", "5.5.5-10.0.38-MariaDB"])
def test_a_server_that_is_too_old_is_refused(version: str) -> None:
    with pytest.raises(UsageError, match="too old"):
        server.reach_server(Asked(version), "mysql://ann@host")


def test_a_lost_connection_is_no_missing_right_and_no_missing_library() -> None:
    asked = Asked("9.7.4")
    found = server.reach_server(asked, "mysql://ann@host")

    def ask(*_: object) -> list[list[list[str | None]]]:
        raise TrialFailed("the connection is lost")

    lost = replace(found, ask=ask)
    for question in (lost.list_registered, lost.read_library_version):
        with pytest.raises(TrialFailed, match="the connection is lost"):
            question()
    with pytest.raises(UsageError) as told:
        server.run_all(lost, ["DO 1"], "do it", ["a right"])
    assert "a right" not in told.value.hint and "status" in told.value.hint


@pytest.mark.parametrize(
    ("version", "number", "is_mariadb"),
    [
        ("8.0.33-debug", (8, 0, 33), False),
        ("5.5.5-10.4.8-MariaDB-log", (10, 4, 8), True),
        ("10.11.19-MariaDB-0+deb12u1", (10, 11, 19), True),
    ],
)
def test_versions_are_read(version: str, number: tuple[int, ...], is_mariadb: bool) -> None:
    found = server.reach_server(Asked(version), "mysql://ann@host")
    assert (found.number, found.is_mariadb) == (number, is_mariadb)
