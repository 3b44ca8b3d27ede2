"""Where comparisons are played: a folder that is empty at first, and cleared after a kill."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dyno import folder
from dyno.errors import HostError


@contextmanager
def room(file: Path) -> Iterator[Path]:
    """A folder beside the store `file`, for nobody else meanwhile; `HostError` where somebody is.

    What a killed calibration left is removed first, its engines' data as well.
    """
    place = file.with_suffix(".playing")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with file.with_suffix(".lock").open("w") as lock:
            _alone(lock.fileno(), file)
            clear(place)
            place.mkdir()
            try:
                yield place
            finally:
                clear(place)
    except PermissionError as error:
        hint = "set DYNO_STATE to a folder that can be written"
        raise HostError(f"cannot write {file.parent}", cause=error.strerror, hint=hint) from error


def _alone(lock: int, file: Path) -> None:
    """The kernel frees the lock if we die."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        hint = "one at a time: two would be each other's noise"
        raise HostError(f"another dyno calibrates this host ({file})", hint=hint) from None


def clear(place: Path) -> None:
    """Removes the runs in `place`, and the folders where their engines keep data."""
    for run in folder.every(place):
        run.clear_homes()
    shutil.rmtree(place, ignore_errors=True)
