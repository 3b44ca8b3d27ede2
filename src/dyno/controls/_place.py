"""Where the journal of host-wide knobs lies, and its lock.

Root's is `/run/dyno`: one for all runs of the host. Another user, who may be allowed a knob or
two, has one in `$XDG_RUNTIME_DIR`, else in /var/tmp: what root puts back must come from root alone.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dyno.controls._knob import Refused
from dyno.errors import HostError

#: Names another folder.
CHOSEN = "DYNO_JOURNAL"
ROOTS = Path("/run/dyno")
LOCK = "lock"
#: What the others may take over a knob; they hold the lock for milliseconds.
PATIENCE_S = 10.0
PAUSE_S = 0.01


def own() -> Path:
    """Our journal's folder; it need not exist yet."""
    if chosen := os.environ.get(CHOSEN):
        return Path(chosen).absolute()
    if os.geteuid() == 0:
        return ROOTS
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime) / "dyno" if runtime else Path(f"/var/tmp/dyno-{os.geteuid()}")


def elsewhere() -> list[str]:
    """The knobs in root's journal, where it is not ours: their names are all that we may see."""
    return [] if own() == ROOTS else sorted(file.stem for file in ROOTS.glob("*.json"))


@contextmanager
def alone(journal: Path) -> Iterator[None]:
    """Nobody else is at the journal meanwhile; the kernel frees its lock if we die.

    `Refused` where the folder cannot be made, `HostError` where others could write what we would
    put back, or hold the lock for good.
    """
    try:
        journal.mkdir(mode=0o755, parents=True, exist_ok=True)
        _check(journal)
        lock = private(journal / LOCK)
    except OSError as error:
        why = f"{error.strerror or error} ({error.filename})".lower()
        raise Refused(f"no journal can be kept: {why}") from error
    with lock:
        _wait(lock.fileno(), journal)
        yield


def private(path: Path) -> IO[str]:
    """A file to write to that only its owner can open, and so only its owner can lock."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w")


def flush(folder: Path) -> None:
    """A file that was renamed or removed is so on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check(journal: Path) -> None:
    found = journal.lstat()
    others = stat.S_IWGRP | stat.S_IWOTH
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & others:
        hint = f"{CHOSEN} names a folder of your own"
        raise HostError(f"others can write to the journal in {journal}", hint=hint)


def _wait(lock: int, journal: Path) -> None:
    ends_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > ends_s:
                message = f"the journal in {journal} is locked"
                raise HostError(message, hint="end the dyno that was stopped in it") from None
            time.sleep(PAUSE_S)
