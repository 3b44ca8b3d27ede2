"""Locks of the kernel on open files and folders: they go with their holder, however that ends."""

from __future__ import annotations

import fcntl
import struct
from contextlib import suppress

#: The kernel's `struct flock`, of fcntl(2): type, whence, start, length, process.
_FLOCK = "hhqqi4x"


def try_lock(handle: int, *, unknown: bool = True) -> bool:
    """Locks what `handle` is open on for us alone, without waiting; False where somebody holds it.

    `unknown` is the answer on a file system without locks, which keeps nobody out.
    """
    return _try(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, unknown)


def mark(handle: int) -> None:
    """Shows that what `handle` is open on is held, until `handle` is closed: beside the lock, for
    those who only ask. Without effect on a file system without locks.
    """
    with suppress(OSError):
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, fcntl.F_RDLCK, 0, 0, 0, 0))


def is_marked(handle: int) -> bool:
    """Is what `handle` is open on marked? Who asks holds nothing, so nobody's `try_lock` fails."""
    asked = struct.pack(_FLOCK, fcntl.F_WRLCK, 0, 0, 0, 0)
    try:
        answer = fcntl.fcntl(handle, fcntl.F_OFD_GETLK, asked)
    except OSError:
        return False
    return bool(struct.unpack(_FLOCK, answer)[0] != fcntl.F_UNLCK)


def share_lock(handle: int) -> None:
    """Shares the lock with others who share it; waits while somebody holds it alone. Without effect
    on a file system without locks.
    """
    _try(handle, fcntl.LOCK_SH, True)


def _try(handle: int, operation: int, unknown: bool) -> bool:
    try:
        fcntl.flock(handle, operation)
    except BlockingIOError:
        return False
    except OSError:
        return unknown
    return True
