"""sysbench's driver `pgsql`: its connection options as a session."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from dyno.access.url import FALLS_BACK, MODES
from dyno.driver.plan import Session
from dyno.engines import SysbenchDriver
from dyno.engines import SysbenchOption as Option
from dyno.engines._server import sysbench
from dyno.errors import UsageError


def make_session(given: Mapping[str, str]) -> Session:
    """How the driver reaches the server; a host that is a folder holds its socket, as for libpq."""
    login = sysbench.read_login("pgsql", given, password=os.environ.get("PGPASSWORD"))
    mode = given["pgsql-sslmode"]
    if mode not in (*FALLS_BACK, *MODES):
        raise UsageError(f"--pgsql-sslmode is no mode: {mode}", hint=", ".join(MODES))
    login = replace(login, tls=mode if mode in MODES else login.tls)
    if login.host.startswith("/"):
        login = replace(login, host=f"{login.host}/.s.PGSQL.{login.port}", port=0)
    return login.to_session("postgres")


OPTIONS = (
    *sysbench.list_connection_options("pgsql", 5432),
    Option("pgsql-sslmode", "MODE", "prefer", "encrypt connections: a mode of libpq's"),
)
SYSBENCH = SysbenchDriver("pgsql", "PostgreSQL driver", OPTIONS, make_session)
