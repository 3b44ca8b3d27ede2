"""PostgreSQL over TCP: with TLS as the log-in asks for it, and what goes in plain text."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import outside
from private_postgres import PASSWORD, private

from dyno import driver
from dyno.engines import Server, find_engine
from dyno.errors import DynoError, UsageError
from dyno.plan import Session

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

#: All of 127/8 is ours, so that a server on the usual port elsewhere is in nobody's way. The
#: server's certificate is for the first of the two addresses only.
HOST, OTHER = (f"127.77.{os.getpid() // 250 % 250}.{os.getpid() % 250 + at}" for at in (1, 2))
ACCESS = """
local all all trust
host all ann all scram-sha-256
host all eve all password
"""
CHANGES = {
    "listen_addresses": f"{HOST},{OTHER}",
    "ssl": "on",
    "ssl_cert_file": "ours.crt",
    "ssl_key_file": "ours.key",
}


def certificate(folder: Path, name: str, alternative: str) -> Path:
    """Makes `name.crt` and `name.key`, signed by nobody else; returns the former."""
    files = ["-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.crt"]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", f"/CN={name}", "-addext", f"subjectAltName={alternative}"]
    # one that may sign others is no server's (RFC 5280, 4.2.1.9)
    names += ["-addext", "basicConstraints=critical,CA:FALSE"]
    subprocess.run(
        [outside("openssl"), "req", "-x509", *kind, *files, *names], check=True, capture_output=True
    )
    return folder / f"{name}.crt"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    engine = find_engine("postgres", driver.ask)
    with private("18") as server:
        data = server.home / "data"
        certificate(data, "ours", f"IP:{HOST}")
        (data / "pg_hba.conf").write_text(ACCESS)
        changes = [f"ALTER SYSTEM SET {name} = '{value}'" for name, value in CHANGES.items()]
        driver.ask(server.session, changes)
        engine.stop(server)
        # the key becomes the server's user's with all of its home
        again = engine.start(engine.program("18", {}, lambda _: None), server.home, {})
        try:
            yield again
        finally:
            engine.stop(again)


def over_tcp(mode: str, ca: Path | None = None, **more: object) -> Session:
    """A log-in as a user with a password, in a TLS mode."""
    return {
        "kind": "postgres",
        "host": HOST,
        "port": 5432,
        "user": "ann",
        "password": PASSWORD,
        "database": "dyno",
        "tls": {"mode": mode, "ca": ca and str(ca)},
        "settings": [],
    } | more


ENCRYPTED = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"


@pytest.mark.parametrize("mode", ["disable", "require", "verify-ca", "verify-full"])
def test_a_connection_is_encrypted_as_asked(server: Server, mode: str) -> None:
    session = over_tcp(mode, server.home / "data" / "ours.crt")
    assert driver.ask(session, [ENCRYPTED]) == [[["f" if mode == "disable" else "t"]]]


@pytest.mark.parametrize("mode", ["verify-ca", "verify-full"])
def test_a_certificate_of_another_authority_is_refused(
    server: Server, tmp_path: Path, mode: str
) -> None:
    other = certificate(tmp_path, "other", f"IP:{HOST}")
    with pytest.raises(DynoError) as failed:
        driver.ask(over_tcp(mode, other), [ENCRYPTED])
    assert "certificate" in str(failed.value)
    assert PASSWORD not in str(failed.value)


def test_a_certificate_for_another_host_is_refused_where_that_is_asked(server: Server) -> None:
    ours = server.home / "data" / "ours.crt"
    with pytest.raises(DynoError, match="certificate"):
        driver.ask(over_tcp("verify-full", ours, host=OTHER), [ENCRYPTED])
    assert driver.ask(over_tcp("verify-ca", ours, host=OTHER), [ENCRYPTED]) == [[["t"]]]


def test_a_password_in_clear_text_is_for_servers_of_this_machine_or_those_wanted(
    server: Server,
) -> None:
    assert driver.ask(over_tcp("disable", user="eve"), [ENCRYPTED]) == [[["f"]]]
    assert driver.ask(over_tcp("require", user="eve"), [ENCRYPTED]) == [[["t"]]]
    strict = {"require_auth": ["scram-sha-256"]}
    assert driver.ask(over_tcp("require", proof=strict), [ENCRYPTED]) == [[["t"]]]
    with pytest.raises(UsageError, match="another proof than require_auth has"):
        driver.ask(over_tcp("require", user="eve", proof=strict), [ENCRYPTED])
