"""sysbench's connection options, as all its drivers have them: `--PREFIX-host` and the like."""

from __future__ import annotations

from collections.abc import Mapping

from dyno.access.url import Login, is_here
from dyno.engines import SysbenchOption as Option
from dyno.errors import UsageError

#: sysbench's own defaults of what every driver has.
HOST, USER, DATABASE = "localhost", "sbtest", "sbtest"


def list_connection_options(prefix: str, port: int) -> tuple[Option, ...]:
    """Host, port, user, password and database of a driver; `prefix` is its own (`pgsql`)."""
    return (
        Option(f"{prefix}-host", "STRING", HOST, "the server's host"),
        Option(f"{prefix}-port", "N", str(port), "its port"),
        Option(f"{prefix}-user", "STRING", USER, "who logs in"),
        Option(f"{prefix}-password", "STRING", "", "the user's password"),
        Option(f"{prefix}-db", "STRING", DATABASE, "the database to work in"),
    )


def read_login(prefix: str, given: Mapping[str, str], *, password: str | None) -> Login:
    """The login that `list_connection_options` mean, with `password` where they have none.

    `UsageError` for several hosts or ports, over which sysbench deals its connections.
    """
    for name in ("host", "port"):
        if "," in given[f"{prefix}-{name}"]:
            raise UsageError(
                f"--{prefix}-{name} names several servers", hint="one server is played at a time"
            )
    host = given[f"{prefix}-host"]
    if not given[f"{prefix}-port"].isdigit():
        raise UsageError(f"--{prefix}-port is not a number: {given[f'{prefix}-port']}")
    return Login(
        host,
        given[f"{prefix}-user"],
        given[f"{prefix}-db"],
        int(given[f"{prefix}-port"]),
        given[f"{prefix}-password"] or password,
        "disable" if is_here(host) else "require",
    )
