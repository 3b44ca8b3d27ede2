"""Locks of the cache: one at a time makes an entry, and one that is used is not removed.

All are `flock`s: the kernel lets go of them however their holder ends. A file system without locks
keeps nobody out.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dyno.errors import HostError


@contextmanager
def alone(file: Path, waiting: Callable[[], object]) -> Iterator[None]:
    """Holds the lock `file`, which it makes; calls `waiting` first where somebody else does."""
    with file.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def used(entry: Path) -> Iterator[None]:
    """Shares the lock of the folder `entry`; `HostError` where there is none any more."""
    try:
        handle = os.open(entry, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        raise _gone(entry) from None
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_SH)
        if not entry.exists():  # removed between the two calls
            raise _gone(entry)
        yield
    finally:
        os.close(handle)


@contextmanager
def unused(entry: Path) -> Iterator[bool]:
    """Says whether nobody uses the folder `entry`, and lets nobody begin to meanwhile."""
    try:
        handle = os.open(entry, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        yield True
        return
    try:
        yield _locked(handle)
    finally:
        os.close(handle)


def is_used(entry: Path) -> bool:
    """Does somebody use the folder `entry` just now?"""
    with unused(entry) as free:
        return not free


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _gone(entry: Path) -> HostError:
    hint = "start again: what is missing is fetched or made anew"
    return HostError(f"{entry.name} was removed from the cache meanwhile", hint=hint)
