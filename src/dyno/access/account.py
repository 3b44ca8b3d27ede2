"""Whom a server runs as (ourselves, or an unprivileged user where we are root), and where its Unix
socket lies: in its private home, or in a short private folder.

A server that answers strangers' requests has no business being root, and some refuse to be. Root's
servers run as the user who called sudo, else as `nobody`, and their homes are given to that user.

The kernel takes at most 107 bytes for a socket's path (`sun_path`), and a run's folder may be deep.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import stat
from dataclasses import dataclass
from pathlib import Path

from dyno import scratch
from dyno.access import account
from dyno.errors import HostError, InternalError

#: A folder of so many parts is the system's: `/`, `/var`.
SYSTEM_PARTS = 2
#: Starts a program only if the process that wanted it ($0) is still its parent: if that died before
#: the death signal was set, nothing would ever end the program.
GUARD = 'test "$PPID" = "$0" && exec "$@"'


@dataclass(frozen=True)
class Account:
    """A user of this machine; `switch` says that we are another."""

    name: str
    uid: int
    gid: int
    switch: bool


def find_server_account() -> Account:
    """Return the user whom servers run as; `HostError` if root has no other user."""
    uid = os.geteuid()
    if uid:
        return Account(str(uid), uid, os.getegid(), switch=False)
    caller = os.environ.get("SUDO_UID", "")
    try:
        found = pwd.getpwuid(int(caller)) if int(caller or 0) else pwd.getpwnam("nobody")
    except (KeyError, ValueError):
        hint = "call dyno as an ordinary user"
        raise HostError(
            "servers do not run as root, and there is no user nobody", hint=hint
        ) from None
    return Account(found.pw_name, found.pw_uid, found.pw_gid, switch=True)


def build_account_prefix(user: Account, death: signal.Signals) -> list[str]:
    """The command that starts a program as `user`, and sends it `death` when the thread that
    started it ends: start servers from a thread that lives as long as they should.
    """
    if shutil.which("setpriv") is None:
        hint = "install util-linux"
        raise HostError("setpriv is not on PATH: a server could outlive Dyno", hint=hint)
    identity = [f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups"]
    death_name = f"--pdeathsig={death.name.removeprefix('SIG')}"
    guarded = ["sh", "-c", GUARD, str(os.getpid())]
    return ["setpriv", *(identity if user.switch else []), death_name, *guarded]


def give_folder(user: Account, folder: Path) -> None:
    """Make `folder`, and all in it, `user`'s alone; `InternalError` for one of the system's own."""
    if len(folder.resolve().parts) <= SYSTEM_PARTS:
        raise InternalError(f"{folder} is no home of a server's")
    folder.chmod(0o700)
    if not user.switch:
        return
    os.chown(folder, user.uid, user.gid)
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(Path(place) / name, user.uid, user.gid, follow_symlinks=False)


def check_reach(user: Account, path: Path, hint: str) -> None:
    """`HostError` where `user` cannot get to `path`; `hint` says what would move it."""
    if not user.switch:
        return
    for folder in sorted({*path.absolute().parents, *path.resolve().parents}):
        if not _can_enter(user, folder.stat()):
            cause = f"{user.name}, as whom servers run, may not enter {folder}"
            raise HostError(f"a server could not reach {path}", cause=cause, hint=hint)


def _can_enter(user: Account, found: os.stat_result) -> bool:
    if found.st_uid == user.uid:
        return bool(found.st_mode & stat.S_IXUSR)
    if found.st_gid == user.gid:
        return bool(found.st_mode & stat.S_IXGRP)
    return bool(found.st_mode & stat.S_IXOTH)


LONGEST_BYTES = 107


@dataclass(frozen=True)
class Socket:
    """A place for a socket; `passing` says that its folder was made for it and goes with it."""

    path: Path
    passing: bool
    held: scratch.Held | None = None

    @property
    def folder(self) -> Path | None:
        return self.path.parent if self.passing else None

    def remove(self) -> None:
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
