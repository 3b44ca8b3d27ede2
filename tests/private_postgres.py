"""A PostgreSQL of a test's own, as the engine starts it, with users who log in by every proof."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import private_servers
import pytest

from dyno import driver
from dyno.engines import Server, find_engine

VERSIONS = ("10", "18")
PASSWORD = "tr0ub4dor"
#: SCRAM-SHA-256 and MD5 by user, trust for all others.
ACCESS = """
local all ann scram-sha-256
local all bob md5
local all eve password
local all all trust
"""
USERS = [
    "SET password_encryption = 'scram-sha-256'",
    f"CREATE ROLE ann LOGIN PASSWORD '{PASSWORD}'",
    "SET password_encryption = 'md5'",
    f"CREATE ROLE bob LOGIN PASSWORD '{PASSWORD}'",
    f"CREATE ROLE eve LOGIN PASSWORD '{PASSWORD}'",
    "CREATE ROLE few LOGIN CONNECTION LIMIT 0",
    "CREATE TABLE t (id int PRIMARY KEY, n bigint NOT NULL DEFAULT 0, x float8, s varchar(20))",
    "INSERT INTO t SELECT i, 0 FROM generate_series(1, 100) i",
]

#: The versions that a test of the engine is played on.
OLD, NEW = "12", "18"


@pytest.fixture(params=[OLD, NEW])
def version(request: pytest.FixtureRequest) -> str:
    """One of the two; Maven fetches it."""
    return str(request.param)


def started(version: str, home: Path, **settings: str) -> Server:
    """A server on the data in `home`; who starts it stops it."""
    engine = find_engine("postgres", driver.ask)
    return engine.start(engine.program(version, {}, lambda _: None), home, settings)


@contextmanager
def private(version: str) -> Iterator[Server]:
    """A server of this version; its users' password is `PASSWORD`."""
    with private_servers.started(f"postgres@{version}", {"deadlock_timeout": "20ms"}) as server:
        driver.ask(server.session, USERS)
        (server.home / "data" / "pg_hba.conf").write_text(ACCESS)
        driver.ask(server.session, ["SELECT pg_reload_conf()"])
        yield server
