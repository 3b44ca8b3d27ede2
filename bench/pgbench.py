"""pgbench as a client to be measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from clients import Load
from serving import CLIENT_CORE, pinned
from spent import Spent, Usage, less, number, run, start_up

from dyno.driver.plan import Session


@dataclass(frozen=True)
class Pgbench:
    """pgbench: one thread for all connections, a script file, prepared statements."""

    session: Session
    load: Load
    script: Path

    def __call__(self) -> Spent:
        said, used = run(self._command("--time", self.load.time_s))
        transactions = int(number(said, r"transactions actually processed: (\d+)"))
        rate_per_s = number(said, r"tps = ([\d.]+)")
        wall_ns = transactions / rate_per_s * 1e9
        return Spent(transactions * self.load.statements, wall_ns, less(used, self._start))

    @cached_property
    def _start(self) -> Usage:
        return start_up(self._command("--transactions", 1))

    def _command(self, *stop: object) -> list[object]:
        clients = ["-c", self.load.connections, "-j", 1]
        how = ["--no-vacuum", "-M", "prepared", "-D", f"table_size={self.load.table_size}"]
        command = ["pgbench", *how, *clients, "-f", self.script, *stop, *libpq(self.session)]
        return [*pinned(CLIENT_CORE), *command]


def libpq(session: Session) -> list[str]:
    """Where the server is, in the words of PostgreSQL's own tools."""
    folder, port = postgres_socket(session)
    return ["-h", folder, "-p", port, "-U", session["user"], session["database"]]


def postgres_socket(session: Session) -> tuple[str, str]:
    """Folder and port, as libpq names a Unix socket (`/folder/.s.PGSQL.5432`)."""
    path = Path(session["host"])
    return str(path.parent), path.suffix.removeprefix(".")
