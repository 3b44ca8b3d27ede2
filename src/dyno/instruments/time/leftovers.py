"""Removes what killed runs left on this machine: temporary folders, engines' data, sockets, and
unfinished entries of the cache.

A lock that the kernel frees with its holder tells a dead Dyno's from a living one's; what was
touched just now stays in any case, since whoever makes a folder locks it a moment later. Tables in
somebody's server are dropped by `dyno resume` alone: a list of names is no proof of whose they are.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dyno import private_files, scratch
from dyno.access.account import find_server_account
from dyno.builds import cache
from dyno.errors import DynoError
from dyno.runs.run_folder import RunFolder, find_torn, list_runs

#: What is younger may be in the making.
YOUNG_S = 60.0


@dataclass(frozen=True)
class Swept:
    """How many things went, the disk that they took, and a sentence for each that could not go."""

    count: int = 0
    size_bytes: int = 0
    left: tuple[str, ...] = ()


def sweep_leftovers(runs: Path) -> Swept:
    """Removes what dead Dynos left, those that played under `runs` among them."""
    private_files.remove_half_written(runs, YOUNG_S)
    count = size_bytes = 0
    left = []
    for path, remove in _find_dead(runs):
        size = _measure_size_bytes(path)
        try:
            remove()
        except FileNotFoundError:  # somebody else sweeps too
            pass
        except OSError as error:
            left.append(f"{path} could not be removed: {error.strerror or error}")
        if not path.exists():
            count, size_bytes = count + 1, size_bytes + size
    return Swept(count, size_bytes, tuple(left))


def _find_dead(runs: Path) -> Iterator[tuple[Path, Callable[[], object]]]:
    """What nobody alive holds, and how to remove it, which tries again whether anybody does."""
    owners = {os.geteuid()}
    with suppress(DynoError):  # root without anybody to switch to starts no server
        owners.add(find_server_account().uid)
    for path in scratch.list_leftovers():
        with suppress(OSError):  # it went meanwhile
            if path.is_dir() and path.lstat().st_uid in owners and _is_old(path):
                yield path, partial(scratch.clear, path)
    for run in list_runs(runs):
        home = run.path / "home"
        if home.is_dir() and _is_old(home) and not run.is_played():
            yield home, partial(_clear_home, run)
    for path in runs.glob("[0-9]*Z-*"):
        if find_torn(path) and path.lstat().st_uid in owners and _is_old(path):
            yield path, partial(scratch.clear, path)
    for path in cache.list_unfinished():
        if _is_old(path):
            yield path, partial(cache.remove_unfinished, path)


def _clear_home(run: RunFolder) -> None:
    """Removes the data in a run's folder, by the folder that was looked at, whatever has its name
    by now: its parent may be somebody else's.
    """
    handle = os.open(run.path, scratch.FOLDER)
    try:
        os.stat("run.json", dir_fd=handle, follow_symlinks=False)
        if os.fstat(handle).st_uid == os.geteuid():
            with suppress(DynoError), run.hold_alone():  # somebody plays it: it is not dead
                private_files.remove_all("home", dir_fd=handle)
    finally:
        os.close(handle)


def _is_old(path: Path) -> bool:
    with suppress(OSError):
        return time.time() - path.lstat().st_mtime > YOUNG_S
    return False


def _measure_size_bytes(folder: Path) -> int:
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                total += Path(place, name).lstat().st_blocks * 512
    return total
