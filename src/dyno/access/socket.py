"""Where a server's Unix socket lies: in its private home, or in a short private folder.

The kernel takes at most 107 bytes for a socket's path (`sun_path`), and a run's folder may be deep.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from dyno import scratch
from dyno.access import account
from dyno.errors import HostError

LONGEST_BYTES = 107


@dataclass(frozen=True)
class Socket:
    """A place for a socket; `passing` says that its folder was made for it and goes with it."""

    path: Path
    passing: bool
    held: scratch.Held | None = None

    @property
    def folder(self) -> Path | None:
        """The folder, if it was made for the socket."""
        return self.path.parent if self.passing else None

    def remove(self) -> None:
        """Removes the folder, if it was made for the socket."""
        if self.held:
            self.held.remove()


def place_socket(home: Path, file: str) -> Socket:
    """A path for the socket called `file` ("s.sock"), reachable by the server and by us alone.

    `file` may be longer than the socket's own name where the server makes a neighbour beside it
    (a lock file): only the socket is bound.
    """
    if len(os.fsencode(home / file)) <= LONGEST_BYTES:
        return Socket(home / file, passing=False)
    user = account.find_server_account()
    own = os.environ.get("XDG_RUNTIME_DIR", "") if not user.switch else ""
    for parent in filter(None, (own, "/tmp")):
        if os.access(parent, os.W_OK | os.X_OK):
            held = scratch.make("socket", parent)
            account.give_folder(user, held.path)
            if len(os.fsencode(held.path / file)) <= LONGEST_BYTES:
                return Socket(held.path / file, passing=True, held=held)
            held.remove()
    hint = "set DYNO_TMP to a folder with a shorter path"
    raise HostError(f"{home / file} is too long for a socket", hint=hint)
