"""Servers in use for the tests of `dyno profile`: a session that works, and a profile taken."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from private_servers import login

from dyno import driver
from dyno.cli import run_words
from dyno.compare.run_folder import read_json
from dyno.driver.plan import Session
from dyno.errors import DynoError
from dyno.record.server_profile import ServerProfile


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
