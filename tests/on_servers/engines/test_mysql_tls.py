"""TLS to MySQL 8.0, with the certificates that it makes for itself on its first start."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from private_mysql import HOST, PASSWORD, USERS, private, tcp
from private_servers import choose_build

from dyno import driver
from dyno.driver.plan import Session
from dyno.engines import Server
from dyno.errors import UsageError

pytestmark = [pytest.mark.timeout(300)]

VERSION = choose_build("mysql@8.0.33")
USER = min(USERS[VERSION])
CIPHER = "SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME = '{}'"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with private(VERSION) as server:
        yield server


def encrypted(session: Session, mode: str, ca: str | None = None) -> Session:
    return session | {"tls": {"mode": mode, "ca": ca}, "password": PASSWORD}


def test_users_log_in_by_every_method_over_tls(server: Server) -> None:
    ca = str(server.home / "data" / "ca.pem")
    granted = "GRANT SELECT ON performance_schema.* TO '{}'@'{}'"
    hosts = ("localhost", "127.0.0.1")
    driver.ask(server.session, [granted.format(u, h) for u in USERS[VERSION] for h in hosts])
    for session in (server.session, tcp(server)):
        for user in USERS[VERSION]:
            for mode, trusted in (("require", None), ("verify-ca", ca)):
                by = encrypted(session, mode, trusted) | {"user": user}
                (((cipher,),),) = driver.ask(by, [CIPHER.format("Ssl_cipher")])
                assert cipher is not None
                assert cipher.startswith("TLS_")


def test_a_wrong_password_is_refused_over_tls(server: Server) -> None:
    for user in USERS[VERSION]:
        session = encrypted(tcp(server), "require") | {"user": user, "password": "wrong"}
        with pytest.raises(UsageError, match="cannot log in to") as failed:
            driver.ask(session, ["SELECT 1"])
        assert "wrong" not in str(failed.value)


def test_a_certificate_of_a_stranger_or_for_another_host_is_refused(server: Server) -> None:
    ca = str(server.home / "data" / "ca.pem")
    stranger = encrypted(tcp(server), "verify-ca") | {"user": USER}
    with pytest.raises(UsageError, match="not from a trusted authority"):
        driver.ask(stranger, ["SELECT 1"])
    elsewhere = encrypted(tcp(server), "verify-full", ca) | {"user": USER}
    with pytest.raises(UsageError, match=f"not for {re.escape(HOST)}"):
        driver.ask(elsewhere, ["SELECT 1"])
