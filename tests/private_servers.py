"""Servers of a test's own, one of each kind that matters, as the engines start them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dyno import driver
from dyno.engines import Server, find

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
def serving(name: str) -> Iterator[Server]:
    """The server called so, its database empty."""
    kind, version, settings = SERVERS[name]
    engine = find(kind, driver.ask)
    build = engine.program(version, {}, lambda _: None)
    with tempfile.TemporaryDirectory(prefix="dyno-test-", dir="/var/tmp") as folder:
        # the server's user is not ours, and has to pass through
        Path(folder).chmod(0o755)
        home = Path(folder) / "home"
        home.mkdir()
        server = engine.start(build, home, settings)
        try:
            yield server
        finally:
            engine.stop(server)
