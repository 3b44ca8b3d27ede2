"""Servers of a test's own, one of each kind that matters, and what they say was sent to them."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dyno import driver
from dyno.driver.plan import Session
from dyno.engines import Server, find_engine

#: Name of a test's parameter -> engine, build, settings.
SERVERS: dict[str, tuple[str, str, dict[str, str]]] = {
    "postgres-12": ("postgres", "12", {}),
    "postgres-18": ("postgres", "18", {}),
    "mysql-5.6": ("mysql", "5.6.14", {}),
    "mysql-8.0": ("mysql", "8.0.33", {}),
    "mariadb-innodb": ("mariadb", "debian", {}),
    "mariadb-rocksdb": ("mariadb", "debian", {"engine": "RocksDB"}),
}


@contextmanager
def serving(name: str, **more: str) -> Iterator[Server]:
    """The server called so, its database empty; `more` joins its settings."""
    kind, version, settings = SERVERS[name]
    engine = find_engine(kind, driver.ask)
    build = engine.program(version, {}, lambda _: None)
    with tempfile.TemporaryDirectory(prefix="dyno-test-", dir="/var/tmp") as folder:
        # the server's user is not ours, and has to pass through
        Path(folder).chmod(0o755)
        home = Path(folder) / "home"
        home.mkdir()
        server = engine.start(build, home, settings | more)
        try:
            yield server
        finally:
            engine.stop(server)


def login(session: Session) -> str:
    """The user of a session, with the password if there is one, as a URL has them."""
    word = session["password"]
    return str(session["user"]) if word is None else f"{session['user']}:{word}"


LOGGED = re.compile(r"LOG:\s+(statement|execute (\S+)): (.*)")


def arrived(server: Server) -> Counter[str]:
    """What the server has been sent so far.

    MySQL counts commands by kind (`Com_…`); PostgreSQL, with `log_statement=all`, logs each and how
    it came: as text, or under a prepared statement's name.
    """
    if server.session["kind"] == "mysql":
        (rows,) = driver.ask(server.session, ["SHOW GLOBAL STATUS LIKE 'Com\\_%'"])
        return Counter({str(k): int(v or 0) for k, v in rows if "show" not in str(k)})
    assert server.log is not None
    found: Counter[str] = Counter()
    for _, name, text in LOGGED.findall(server.log.read_text(errors="replace")):
        plain = re.sub(r"'[^']*'|-?\b\d+\b", "…", text.rstrip("; "))
        way = "text" if not name else "unnamed" if name == "<unnamed>" else "prepared"
        found[f"{way}: {plain}"] += 1
    return found
