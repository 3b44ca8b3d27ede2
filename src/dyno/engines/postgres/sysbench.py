"""sysbench's driver `pgsql`: its connection options as a session."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from dyno.driver.plan import Session
from dyno.engines import SysbenchDriver
from dyno.engines._server import sysbench


def make_session(given: Mapping[str, str]) -> Session:
    """How the driver reaches the server; a host that is a folder holds its socket, as for libpq."""
    login = sysbench.read_login("pgsql", given, password=os.environ.get("PGPASSWORD"))
    if login.host.startswith("/"):
        login = replace(login, host=f"{login.host}/.s.PGSQL.{login.port}", port=0)
    return login.to_session("postgres")


SYSBENCH = SysbenchDriver(
    "pgsql", "PostgreSQL driver", sysbench.list_connection_options("pgsql", 5432), make_session
)
