"""A login: the driver's words for how a server is reached, and as whom (`login.rs`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dyno.plan import Session


@dataclass(frozen=True)
class Login:
    """Where and as whom. `host` beginning with `/` is the socket's own path, with no port (0).

    `tls` is libpq's word: disable, require, verify-ca, verify-full; `ca` a PEM file of authorities
    to trust in place of the system's.
    """

    host: str
    user: str
    database: str
    port: int = 0
    password: str | None = field(default=None, repr=False)
    tls: str = "disable"
    ca: str | None = None

    def session(self, kind: str, **more: Any) -> Session:
        """The session of this kind with this login, and the kind's own fields."""
        tls = {"mode": self.tls, "ca": self.ca}
        return {
            "kind": kind,
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password,
            "database": self.database,
            "tls": tls,
            "settings": [],
            **more,
        }
