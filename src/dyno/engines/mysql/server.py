"""The command line of a server of MySQL's family.

The verbs that MySQL and MariaDB share: start, settings, settle, stop.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dyno.builds import Build, Say
from dyno.engines import UNHELD, Ask, Server, Under, _server
from dyno.engines._server import socket as _socket
from dyno.engines._server import url
from dyno.engines._server.url import Login
from dyno.engines.mysql import attached, builds, data
from dyno.engines.mysql import settings as _mysql_asked
from dyno.engines.mysql.builds import Prefix
from dyno.engines.mysql.data import Query, prepare
from dyno.engines.mysql.evidence import Weighed
from dyno.engines.mysql.settings import FIXED_BYTES, KNOBS, PASSING, Asked, options
from dyno.engines.mysql.settle import preload, settle
from dyno.engines.mysql.values import held, lasting, try_out
from dyno.plan import Session

#: Where a user's own settings lie, in the server's home.
CONFIG = "my.cnf"


@dataclass(frozen=True)
class Started(_server.Running):
    """A server's process, and what it was asked to run with."""

    asked: Asked


def launch(build: Build, prefix: Prefix, home: Path, asked: Asked, under: Under) -> _server.Launch:
    """The server to be, its data in `home/data`, its socket in `home` or as near as can be."""
    socket = _socket.place(home, "mysqld.sock")
    places = _places(home, socket.path, asked.config)
    return _server.Launch(
        name=f"{build.engine} {build.version}",
        command=[str(build.program), *places, *prefix.arguments(), *asked.arguments(prefix)],
        home=home,
        socket=socket,
        under=under,
        environment=prefix.environment(),
    )


def _places(home: Path, socket: Path, config: Path | None) -> Sequence[str]:
    """Where the server keeps things; the file of settings must come first."""
    first = "--no-defaults"
    if config:
        shutil.copyfile(config, home / CONFIG)
        (home / CONFIG).chmod(0o600)
        first = f"--defaults-file={home / CONFIG}"
    return [
        first,
        f"--datadir={home / 'data'}",
        f"--tmpdir={home / 'tmp'}",
        f"--socket={socket}",
        f"--pid-file={home / 'mysqld.pid'}",
        f"--log-error={home / 'server.log'}",
    ]


#: Whom everything is done as: `root` may set what settling needs, and stands in every build.
USER, DATABASE = "root", "dyno"
QUESTIONS = ("SHOW GLOBAL VARIABLES", "SELECT CURRENT_USER()")


class Family(Weighed, attached.Listed):
    """A server of this family on a private socket, with every variable of it as a setting.

    All of them are read back; one that differs from what was asked for fails the trial.
    """

    embedded: ClassVar[bool] = False
    options: ClassVar[dict[str, tuple[str, str]]] = options()
    flags: ClassVar[dict[str, tuple[str, str]]] = attached.FLAGS
    versions: ClassVar[tuple[str, ...]]
    variables: ClassVar[frozenset[str]]
    knobs: ClassVar[dict[str, dict[str, dict[str, str]]]] = KNOBS
    name: ClassVar[str]

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def check_version(self, build: str) -> None:
        """`UsageError` where there is no such version to fetch."""
        raise NotImplementedError

    def fetched(self, build: str, say: Say) -> Build:
        """The server of a version."""
        raise NotImplementedError

    def adjusted(self, version: str) -> dict[str, str]:
        """Rows of the table that mean something else in this version."""
        return {}

    def check(self, build: str, flags: dict[str, str], settings: dict[str, str]) -> None:
        """`UsageError` for a version, a place, a setting or a value that cannot be."""
        url.check(build, attached.flags_of(flags), settings)
        _mysql_asked.check(self.name, settings, self.variables)
        if not url.is_url(build) and not builds.is_path(build):
            self.check_version(build)

    def program(self, build: str, flags: dict[str, str], say: Say) -> Build:
        """The server of a version (fetched), of the system, in a folder; or one that runs."""
        self.check(build, flags, {})
        if url.is_url(build):
            return attached.met(self._ask, self.name, build, flags)
        if builds.is_path(build):
            return builds.local(self.name, build, say)
        return self.fetched(build, say)

    def accept(self, build: Build, settings: dict[str, str]) -> None:
        """`UsageError` where this build has no such variable, or does not take its value."""
        if build.attached:
            return
        asked = _mysql_asked.asked(settings, self.adjusted(build.version))
        try_out(build, builds.of(build.program), asked)

    def filed(self, settings: dict[str, str]) -> dict[str, str]:
        """All that may shape the files: every setting but those that pass with the process."""
        return {name: value for name, value in settings.items() if name not in PASSING}

    def disk_bytes(self, data_bytes: int, settings: dict[str, str]) -> int:
        """Half-full pages, redo and system files; the binary log holds all rows once more."""
        logged = data_bytes if settings.get("log_bin", "off").lower() == "on" else 0
        return 2 * data_bytes + logged + FIXED_BYTES

    def start(
        self, build: Build, home: Path, settings: dict[str, str], under: Under = UNHELD
    ) -> Server:
        """The server with its data in `home/data`, answering; `home/server.log` is its log.

        `UsageError` where the build has no such storage engine, `TrialFailed` with the log's last
        words where it does not start.
        """
        if build.attached:
            return attached.server(build, home)
        asked = _mysql_asked.asked(settings, self.adjusted(build.version))
        prefix = builds.of(build.program)
        if not (home / "data").exists():
            data.fill(build, prefix, asked.all(), home / "data")
        (home / "tmp").mkdir(exist_ok=True)
        running = _server.start(launch(build, prefix, home, asked, under))
        started = Started(**vars(running), asked=asked)
        session = Login(str(running.launch.socket.path), USER, DATABASE).session("mysql")
        _server.ready(started, lambda: self._ask(session, ["SELECT 1"]))
        try:
            prepare(self._query(session), running.launch.name, asked.storage, prefix)
        except BaseException:
            _server.kill(started)
            raise
        return Server(session, home, running.process.pid, running.log, started)

    def settings(self, server: Server) -> dict[str, str]:
        """Every global variable as the server reports it, without what names this start."""
        variables, user = self._ask(server.session, QUESTIONS)
        told = {str(name).lower(): value or "" for name, value in variables}
        # without grants everybody is called so, or has no name at all
        free = str(user[0][0]).startswith(("skip-grants", "@"))
        told["skip_grant_tables"] = "ON" if free else "OFF"
        if started := server.handle:
            held(started.launch.name, told, started.asked.strict(), started.asked.table)
        return lasting(told, server.home)

    def settle(self, server: Server) -> None:
        """What the insert benchmark does between writes and reads (`_mysql_settle`)."""
        settle(self._query(server.session), ours=server.handle is not None)

    def preload(self, server: Server) -> dict[str, str]:
        """Reads every index of every table of the database, the rows' own among them."""
        return preload(self._query(server.session))

    def stop(self, server: Server) -> None:
        """Ends the server cleanly; its data stay. One that ran already goes on."""
        if server.handle is not None:
            _server.stop(server)

    def _query(self, session: Session) -> Query:
        return lambda statements: self._ask(session, statements)
