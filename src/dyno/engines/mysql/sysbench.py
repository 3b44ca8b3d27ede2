"""sysbench's driver `mysql`: its connection options as a session."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from dyno.driver.plan import Session
from dyno.engines import SysbenchDriver
from dyno.engines import SysbenchOption as Option
from dyno.engines._server import sysbench
from dyno.engines.mysql.attached import PORT, SOCKETS
from dyno.errors import UsageError

#: A switch up to sysbench 1.0, and from 1.1 on a mode of MySQL's own clients; "": as Dyno has it.
TLS = {
    **dict.fromkeys(("", "on", "true", "1", "required"), "require"),
    **dict.fromkeys(("off", "false", "0", "disabled", "preferred"), ""),
    "verify_ca": "verify-ca",
    "verify_identity": "verify-full",
}
REFUSED = (
    *("mysql-compression", "mysql-compression-algorithms", "mysql-debug"),
    *("mysql-ssl-cipher", "mysql-ssl-key", "mysql-ssl-cert"),
)


def _read_tls(mode: str) -> str:
    if mode.lower() not in TLS:
        hint = "on, off, disabled, preferred, required, verify_ca, verify_identity"
        raise UsageError(f"--mysql-ssl is no mode: {mode}", hint=hint)
    return TLS[mode.lower()]


def make_session(given: Mapping[str, str]) -> Session:
    """How the driver reaches the server: a socket goes before `localhost`, as in MySQL's client."""
    if given["mysql-dry-run"] == "on":
        return {"kind": "null", "delay_ns": 0}
    for name in REFUSED:
        if given[name] not in ("", "off"):
            raise UsageError(f"sysbench's --{name} has no counterpart here", hint="leave it out")
    login = sysbench.read_login("mysql", given, password=os.environ.get("MYSQL_PWD"))
    login = replace(login, tls=_read_tls(given["mysql-ssl"]) or login.tls)
    login = replace(login, ca=given["mysql-ssl-ca"] or login.ca)
    if login.host == sysbench.HOST:
        there = next((path for path in SOCKETS if Path(path).exists()), "")
        socket = given["mysql-socket"] or there
        login = replace(login, host=socket, port=0) if socket else login
    return login.to_session("mysql")


OPTIONS = (
    *sysbench.list_connection_options("mysql", PORT),
    Option("mysql-socket", "STRING", "", "the server's socket, where its host is localhost"),
    Option("mysql-ssl", "MODE", "off", "encrypt connections: on, or a mode of MySQL's clients"),
    Option("mysql-ssl-ca", "FILE", "", "authorities to trust in place of the system's"),
    Option("mysql-ssl-key", "FILE", "", "not done here"),
    Option("mysql-ssl-cert", "FILE", "", "not done here"),
    Option("mysql-ssl-cipher", "STRING", "", "not done here"),
    Option("mysql-compression", "on|off", "off", "not done here"),
    Option("mysql-compression-algorithms", "STRING", "", "not done here"),
    Option("mysql-debug", "on|off", "off", "not done here"),
    Option(
        "mysql-ignore-errors",
        "LIST,...",
        "1213,1020,1205",
        "errors at which an event begins anew, or all",
    ),
    Option("mysql-dry-run", "on|off", "off", "play without a server"),
)
SYSBENCH = SysbenchDriver(
    "mysql", "MySQL driver", OPTIONS, make_session, frozenset({"mysql-ignore-errors"})
)
