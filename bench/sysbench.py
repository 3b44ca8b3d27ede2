"""sysbench as a client to be measured, and its command line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from clients import Load
from pgbench import postgres_socket
from serving import CLIENT_CORE, pinned
from spent import Spent, Usage, less, number, run, start_up

from dyno.driver.plan import Session

DRIVERS = {"postgres": "pgsql", "mysql": "mysql"}


@dataclass(frozen=True)
class Sysbench:
    """sysbench: a thread for each connection."""

    session: Session
    load: Load

    def __call__(self) -> Spent:
        said, used = run(self._command(self.load.time_s, 0))
        events = int(number(said, r"total number of events: +(\d+)"))
        wall_s = number(said, r"total time: +([\d.]+)s")
        return Spent(events * self.load.statements, wall_s * 1e9, less(used, self._start))

    @cached_property
    def _start(self) -> Usage:
        return start_up(self._command(0, 1))

    def _command(self, time_s: int, events: int) -> list[object]:
        load = self.load
        options = {"threads": load.connections, "time": time_s, "events": events, **load.options}
        return command(self.session, load.workload, "run", options)


def command(session: Session, script: str, word: str, options: dict[str, object]) -> list[object]:
    """sysbench's command line; a script is a path, or one of its own by name."""
    words = {"db_driver": DRIVERS[session["kind"]], **at(session), **options}
    pairs = [f"--{name.replace('_', '-')}={value}" for name, value in words.items()]
    return [*pinned(CLIENT_CORE), "sysbench", script, *pairs, word]


def at(session: Session) -> dict[str, object]:
    """Where the server is, in sysbench's words."""
    user, database = session["user"], session["database"]
    if session["kind"] == "mysql":
        who = {"mysql_user": user, "mysql_password": session["password"] or ""}
        return {"mysql_socket": session["host"], "mysql_db": database, **who}
    folder, port = postgres_socket(session)
    return {"pgsql_host": folder, "pgsql_port": port, "pgsql_user": user, "pgsql_db": database}
