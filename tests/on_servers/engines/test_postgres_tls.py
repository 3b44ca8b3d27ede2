"""PostgreSQL over TCP: with TLS as the log-in asks for it, and what goes in plain text."""

from __future__ import annotations

import os
import select
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from conftest import outside
from private_postgres import PASSWORD, private
from private_servers import choose_build

from dyno import driver
from dyno.driver.plan import Session
from dyno.engines import Server, find_engine
from dyno.errors import DynoError, UsageError

pytestmark = [pytest.mark.timeout(300)]

#: All of 127/8 is ours, so that a server on the usual port elsewhere is in nobody's way. The
#: server's certificate is for the first of the two addresses only.
HOST, OTHER = (f"127.77.{os.getpid() // 250 % 250}.{os.getpid() % 250 + at}" for at in (1, 2))
ACCESS = """
local all all trust
host all ann all scram-sha-256
host all eve all password
"""
BUILD = choose_build("postgres@18").partition("@")[2]
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
    with private(BUILD) as server:
        data = server.home / "data"
        certificate(data, "ours", f"IP:{HOST}")
        (data / "pg_hba.conf").write_text(ACCESS)
        changes = [f"ALTER SYSTEM SET {name} = '{value}'" for name, value in CHANGES.items()]
        driver.ask(server.session, changes)
        engine.stop(server)
        # the key becomes the server's user's with all of its home
        again = engine.start(engine.program(BUILD, {}, lambda _: None), server.home, {})
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
    with pytest.raises(UsageError, match="method that require_auth excludes"):
        driver.ask(over_tcp("require", user="eve", proof=strict), [ENCRYPTED])


def bound(how: str) -> dict[str, Any]:
    return {"proof": {"channel_binding": how}}


@pytest.mark.parametrize("how", ["prefer", "require"])
def test_a_proof_is_bound_to_the_certificate_of_tls(server: Server, how: str) -> None:
    assert driver.ask(over_tcp("require", **bound(how)), [ENCRYPTED]) == [[["t"]]]


def test_a_proof_that_cannot_be_bound_is_refused_where_that_is_required(server: Server) -> None:
    for mode, user in (("disable", "ann"), ("require", "eve"), ("disable", "eve")):
        assert driver.ask(over_tcp(mode, user=user, **bound("prefer")), ["SELECT 1"]) == [[["1"]]]
        with pytest.raises(UsageError, match="cannot bind the proof to its certificate"):
            driver.ask(over_tcp(mode, user=user, **bound("require")), ["SELECT 1"])


def wish_for_tls(line: socket.socket) -> bytes:
    """Asks a server for TLS in PostgreSQL's words: its answer."""
    line.sendall(struct.pack("!II", 8, 80877103))
    return line.recv(1)


def pass_on(near: ssl.SSLSocket, far: ssl.SSLSocket) -> None:
    """Both ways, in one thread: OpenSSL lets no two threads use a connection at once."""
    peers = {near: far, far: near}
    with suppress(OSError):
        while ready := select.select(peers, (), (), 60)[0]:
            for source in ready:
                source.settimeout(0)
                with suppress(ssl.SSLWantReadError):
                    while data := source.recv(1 << 14):
                        peers[source].settimeout(60)
                        peers[source].sendall(data)
                    return


@contextmanager
def somebody_between(certificate: Path) -> Iterator[int]:
    """Who ends the client's TLS with a certificate of its own, and begins another with the server:
    its port on `OTHER`."""
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.load_cert_chain(certificate, certificate.with_suffix(".key"))
    theirs = ssl.create_default_context()
    theirs.check_hostname, theirs.verify_mode = False, ssl.CERT_NONE
    with socket.create_server((OTHER, 0)) as listener:
        listener.settimeout(60)

        def serve() -> None:
            client, _ = listener.accept()
            client.settimeout(60)
            client.recv(8)
            client.sendall(b"S")
            server = socket.create_connection((HOST, 5432), timeout=60)
            wish_for_tls(server)
            with (
                ours.wrap_socket(client, server_side=True) as near,
                theirs.wrap_socket(server) as far,
            ):
                pass_on(near, far)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(60)


@pytest.mark.parametrize("how", ["prefer", "require"])
def test_who_stands_between_cannot_pass_a_bound_proof_on(
    server: Server, tmp_path: Path, how: str
) -> None:
    other = certificate(tmp_path, "other", f"IP:{OTHER}")
    with somebody_between(other) as port:
        unbound = over_tcp("require", host=OTHER, port=port, **bound("disable"))
        assert driver.ask(unbound, [ENCRYPTED]) == [[["t"]]], "a proof that is bound to nothing is"
    with somebody_between(other) as port, pytest.raises(DynoError) as failed:
        driver.ask(over_tcp("require", host=OTHER, port=port, **bound(how)), [ENCRYPTED])
    assert "channel binding" in str(failed.value) and PASSWORD not in str(failed.value)
