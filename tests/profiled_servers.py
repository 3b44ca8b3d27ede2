"""Servers in use for the tests of `dyno profile`: a session that works, and a profile taken."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from private_servers import login

from dyno import driver
from dyno.cli import run_words
from dyno.driver.plan import Session
from dyno.errors import DynoError
from dyno.record.server_profile import ServerProfile
from dyno.runs.run_folder import read_json


def url_of(session: Session, user: str = "") -> str:
    """The URL of a server, for another `user` without a password."""
    host = quote(str(session["host"]), safe="")
    return f"{session['kind']}://{user or login(session)}@{host}/{session['database']}"


@contextmanager
def working(session: Session, statement: str) -> Iterator[None]:
    """A session that plays the statement again and again."""
    over = threading.Event()

    def play() -> None:
        with driver.Conversation(20) as ask:
            while not over.is_set():
                try:
                    ask(session, [statement])
                except DynoError:  # the server was killed
                    return

    thread = threading.Thread(target=play)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def profile(*words: str, output: Path) -> ServerProfile:
    """What `dyno profile` writes."""
    assert run_words(["profile", *words, "--output", str(output)]) == 0
    return read_json(ServerProfile, output)


@contextmanager
def forwarding(path: str) -> Iterator[int]:
    """A port of this host that leads to a Unix socket, by a program that is no server."""
    with ExitStack() as made, socket.create_server(("127.0.0.1", 0)) as line:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    client, _ = line.accept()
                    server = made.enter_context(socket.socket(socket.AF_UNIX))
                    made.enter_context(client)
                    server.connect(path)
                    for pair in ((client, server), (server, client)):
                        threading.Thread(target=_copy, args=pair, daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield line.getsockname()[1]
        line.shutdown(socket.SHUT_RDWR)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while part := source.recv(1 << 16):
            target.sendall(part)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
