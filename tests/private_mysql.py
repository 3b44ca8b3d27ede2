"""A MySQL or MariaDB of a test's own, as the engine starts it, with users of every kind."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager

from kit_servers import choose_servers
from private_servers import choose_build, started

from dyno import driver
from dyno.driver.plan import Session
from dyno.engines import Server

#: All of 127/8 is ours: an address of this process, and ports that none is given by the kernel.
HOST = f"127.78.{os.getpid() // 250 % 250}.{os.getpid() % 250 + 1}"
PORTS = itertools.count(21306)
VERSIONS = choose_servers("mysql@5.6.14", "mysql@8.0.33", "mariadb@debian")
PASSWORD = "tr0ub4dor"
#: How each server makes a user who proves himself by a method, the method named by the user.
USERS = {
    "mysql@5.6.14": {"native": "mysql_native_password"},
    "mysql@8.0.33": {
        "native": f"mysql_native_password BY '{PASSWORD}'",
        "caching": f"caching_sha2_password BY '{PASSWORD}'",
        "sha256": f"sha256_password BY '{PASSWORD}'",
    },
    "mysql@9.7": {
        "caching": f"caching_sha2_password BY '{PASSWORD}'",
        "sha256": f"sha256_password BY '{PASSWORD}'",
    },
    "mariadb@debian": {
        "native": f"mysql_native_password USING PASSWORD('{PASSWORD}')",
        "ed25519": f"ed25519 USING PASSWORD('{PASSWORD}')",
    },
}
USERS["mariadb@11.8"] = USERS["mariadb@debian"]
TABLE = [
    "CREATE TABLE t (id int PRIMARY KEY, n bigint NOT NULL DEFAULT 0, x double, s varchar(20))",
    "INSERT INTO t (id) VALUES " + ", ".join(f"({i})" for i in range(1, 101)),
]


@contextmanager
def private(version: str) -> Iterator[Server]:
    """A server of this version, also on a TCP port (`tcp`); its users' password is `PASSWORD`."""
    version = choose_build(version)
    open_port = {"skip_networking": "OFF", "port": str(next(PORTS)), "bind_address": HOST}
    with started(version, open_port | {"innodb_lock_wait_timeout": "1"}) as server:
        driver.ask(server.session, [*_users(version), *TABLE])
        yield server


def tcp(server: Server) -> Session:
    """The same server by its port."""
    (((port,),),) = driver.ask(server.session, ["SELECT @@port"])
    return server.session | {"host": HOST, "port": int(port or 0)}


def _users(version: str) -> Iterator[str]:
    yield (
        "GRANT USAGE ON *.* TO 'few'@'localhost'"
        if "5.6" in version
        else ("CREATE USER 'few'@'localhost'")
    )
    if version.startswith("mariadb"):
        yield "INSTALL SONAME 'auth_ed25519'"
    made = "VIA" if version.startswith("mariadb") else "WITH"
    for user, method in USERS[version].items():
        for name in (f"'{user}'@'localhost'", f"'{user}'@'127.0.0.1'"):
            if "5.6" in version:
                yield f"CREATE USER {name} IDENTIFIED BY '{PASSWORD}'"
            else:
                yield f"CREATE USER {name} IDENTIFIED {made} {method}"
            yield f"GRANT ALL ON dyno.* TO {name}"
