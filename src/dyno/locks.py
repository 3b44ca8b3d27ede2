"""Locks of the kernel on open files and folders: they go with their holder, however that ends."""

from __future__ import annotations

import fcntl


def try_lock(handle: int, *, unknown: bool = True) -> bool:
    """Locks what `handle` is open on for us alone, without waiting; False where somebody holds it.

    `unknown` is the answer on a file system without locks, which keeps nobody out.
    """
    return _try(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, unknown)


def is_locked(handle: int) -> bool:
    """Does somebody hold what `handle` is open on alone? Those who ask do not get in each other's
    way; who asks holds it shared, until `handle` is closed.
    """
    return not _try(handle, fcntl.LOCK_SH | fcntl.LOCK_NB, True)


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
