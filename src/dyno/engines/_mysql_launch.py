"""The command line of a server of MySQL's family."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dyno.builds import Build
from dyno.engines import Under, _server, _socket
from dyno.engines._mysql_asked import Asked
from dyno.engines._mysql_prefix import Prefix

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
