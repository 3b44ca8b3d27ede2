"""Temporary folders of ours: made, locked while in use, removed.

The kernel frees the lock however we end: so what a killed Dyno left is told from what another one
works in, and `dyno clean` removes it. All their names begin with `dyno-` and what they are for;
nobody else's folder has such a name.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from dyno import private_files
from dyno.errors import HostError, UsageError
from dyno.locks import try_lock

#: What a folder is made for: each has its name by it, and what is named so is swept.
Use = Literal[
    "play", "pgbench", "sysbench", "explain", "socket", "ask", "npm", "crate", "copies", "disk",
    "clients", "pack", "unpack", "publish", "gather", "fleet", "history",
]  # fmt: skip
#: A folder that is made here; a run's, or a play's, for its engines' data; a traceback of ours.
OURS = re.compile(
    rf"dyno-(?:{'|'.join(get_args(Use))})-\w{{8}}"
    r"|dyno-(?:\d{8}T\d{6}Z?-.+|dyno-play-\w{8})-[0-9a-f]{8}"
    r"|dyno-traceback-\w{8}\.txt"
)


#: How a folder of ours is opened: where somebody put a link, not at all.
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def find_data_home() -> str:
    """Where engines' data lie that are not in their run's folder: in `$DYNO_TMP`, root's else in
    /var/tmp (a server runs as another user, whom root's folders keep out); else empty.
    """
    return os.environ.get("DYNO_TMP") or ("/var/tmp" if os.geteuid() == 0 else "")


def find_temporary_folder() -> str | None:
    """The folder `$DYNO_TMP`, made where it is missing; None where the user chose none."""
    name = os.environ.get("DYNO_TMP")
    if not name:
        return None
    try:
        Path(name).mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=name).close()
    except OSError as refused:
        cause, hint = (refused.strerror or str(refused)).lower(), "name a folder to write data to"
        raise UsageError(f"$DYNO_TMP cannot be {name}", cause=cause, hint=hint) from None
    return name


@dataclass(frozen=True)
class Held:
    """A folder that is ours until it is removed, or we end."""

    path: Path
    handle: int

    def remove(self) -> None:
        """Removes the folder with all in it.

        What stays is nobody's from now on: the next run sweeps it, or says why that cannot be.
        """
        shutil.rmtree(self.path, ignore_errors=True)
        with suppress(OSError):  # a test has closed it, as the kernel does at a kill
            os.close(self.handle)


def make(use: Use, parent: Path | str | None = None) -> Held:
    """A new folder that nobody else can look into, for a use that `OURS` knows.

    It lies in `parent`, or where temporary things lie. `OSError` where it cannot be made.
    """
    while True:
        path = Path(tempfile.mkdtemp(prefix=f"dyno-{use}-", dir=parent))
        try:
            handle = os.open(path, FOLDER)
        except FileNotFoundError:  # who sweeps came between
            continue
        if try_lock(handle) and path.exists():
            return Held(path, handle)
        os.close(handle)


@contextmanager
def make_folder(use: Use, parent: Path | str | None = None) -> Iterator[Path]:
    """A new folder, removed at the end."""
    held = make(use, parent)
    try:
        yield held.path
    finally:
        held.remove()


@contextmanager
def make_staging(use: Use, parent: Path) -> Iterator[Path]:
    """The same in `parent`, for what is renamed out of it once it is whole; what killed Dynos left
    there goes first.
    """
    for path in parent.glob(f"dyno-{use}-*"):
        if _is_ours(path) and not is_held(path):
            with suppress(OSError):
                clear(path)
    with make_folder(use, parent) as made:
        yield made


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Holds a folder that somebody else made for us and will remove."""
    handle = os.open(path, FOLDER)
    try:
        if not try_lock(handle) or not path.exists():
            raise HostError(f"{path} was removed while it was in use", hint="start again")
        yield
    finally:
        os.close(handle)


def list_leftovers() -> list[Path]:
    """All folders and files of such names that are ours to remove, held or not, by path.

    They are looked for where they are made: in `$TMPDIR`, in `$DYNO_TMP` (or where root's homes lie
    without it), and where sockets lie. Root removes everybody's: its servers are another user's.
    """
    sockets = dict.fromkeys((os.environ.get("XDG_RUNTIME_DIR"), "/tmp"), "dyno-socket-*")
    places = sockets | {find_data_home(): "dyno-*", tempfile.gettempdir(): "dyno-*"}
    paths: set[Path] = set()
    for place, names in places.items():
        with suppress(OSError):  # a place that cannot be read holds nothing that we could remove
            paths |= set(Path(place or "/nowhere").resolve().glob(names))
    return sorted(path for path in paths if _is_ours(path))


def _is_ours(path: Path) -> bool:
    try:
        seen = path.lstat()
    except FileNotFoundError:  # its maker has ended since the folder was listed
        return False
    named = OURS.fullmatch(path.name) and not stat.S_ISLNK(seen.st_mode)
    return bool(named) and os.geteuid() in (0, seen.st_uid)


def is_held(path: Path) -> bool:
    """Does a living Dyno hold it? Yes, where that cannot be told."""
    if not path.is_dir():
        return False
    try:
        handle = os.open(path, FOLDER)
    except OSError:
        return True
    try:
        return not try_lock(handle, unknown=False)
    finally:
        os.close(handle)


def clear(path: Path) -> bool:
    """Removes what nobody holds; False where somebody took it meanwhile. `OSError` where a part of
    it stays.
    """
    if not path.is_dir():
        path.unlink(missing_ok=True)
        return True
    handle = os.open(path, FOLDER)
    try:
        free = try_lock(handle, unknown=False)
        if free:
            private_files.remove_all(path)
    finally:
        os.close(handle)
    return free
