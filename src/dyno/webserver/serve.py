"""Binds, and serves until somebody ends it. Nothing is written, so a kill leaves nothing."""

from __future__ import annotations

import errno
import logging
import os
import pwd
import socket
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from dyno.errors import HostError, UsageError
from dyno.pages.library import Library
from dyno.webserver.app import PagesApp
from dyno.webserver.guard import Guard, list_host_names

#: How long answers that are under way have at the end; a page that follows a run never ends.
GRACE_S = 1


@dataclass(frozen=True)
class ServeOptions:
    """Where, for whom, and with which token; `names` are host names beside this host's own."""

    host: str = "127.0.0.1"
    port: int = 8642
    token: str = ""
    names: tuple[str, ...] = ()


def bind(options: ServeOptions) -> socket.socket:
    """A socket that listens; `HostError` or `UsageError` where that cannot be."""
    host, port = options.host.strip("[]"), options.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        host.encode()
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, OverflowError, UnicodeError) as error:
        code = getattr(error, "errno", None)
        if code == errno.EADDRINUSE:
            hint = "`dyno serve --port 0` takes any that is free"
            raise UsageError(f"port {port} of {host} is in use", hint=hint) from None
        cause = getattr(error, "strerror", "") or str(error)
        raise HostError(f"cannot listen on {host} port {port}", cause=cause.lower()) from None


def serve(library: Library, options: ServeOptions, listening: socket.socket) -> None:
    """Answers until SIGINT or SIGTERM."""
    logging.getLogger("uvicorn.error").disabled = True  # each fault is a page
    footer = f"Read-only, from {', '.join(map(str, library.homes))}."
    app = Guard(PagesApp(library, footer).build(), list_host_names(options.names), options.token)
    config = uvicorn.Config(
        app,
        lifespan="off",
        http="h11",
        ws="none",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    uvicorn.Server(config).run(sockets=[listening])


def find_folder_owner(folder: Path) -> str:
    """The account of somebody else whose folder it is; empty where it is ours."""
    owner = folder.stat().st_uid
    if owner == os.geteuid():
        return ""
    try:
        return pwd.getpwuid(owner).pw_name
    except KeyError:
        return f"the account {owner}"
