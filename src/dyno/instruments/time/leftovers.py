"""Removes what killed runs left on this machine: temporary folders, engines' data, sockets, and
unfinished entries of the cache.

A lock that the kernel frees with its holder tells a dead Dyno's from a living one's; what was
touched just now stays in any case, since its maker locks it a moment later. Tables in
somebody's server are dropped by `dyno resume` alone: a list of names is no proof of whose they are.


**In a server that runs already** the tables that appeared while a trial loaded into an empty
database are listed in the run's folder; that is the ground on which they are taken for ours. At its
end, whatever ends it but a kill, the trial drops those that its script's `cleanup` has left, and
nothing else; `resume` does so after a kill. A kill within `prepare` leaves no list: what lies there
then stays, and `resolve` refuses.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dyno import private_files, scratch
from dyno.access.account import find_server_account
from dyno.builds import Build, Say, cache
from dyno.engines import Attaches, Engine
from dyno.errors import DynoError
from dyno.instruments.time.job import TrialJob
from dyno.private_files import make_folder
from dyno.record import PhaseRecord
from dyno.record.decode import encode
from dyno.record.schema import Record
from dyno.runs.run_folder import LOADED, RunFolder, find_torn, list_runs, read_json, write_json

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
        if _is_old(path) and not cache.is_continued(path):
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


#: The script's commands that load and that drop.
PREPARE, CLEANUP = "prepare", "cleanup"


def is_prepared(phases: Sequence[PhaseRecord]) -> bool:
    """Did `prepare` come to its end, so that what it made is there and its own?"""
    loads = [phase for phase in phases if phase.phase == PREPARE and not phase.interrupted]
    return bool(loads) and not any(stream.failed for load in loads for stream in load.streams)


class _List(Record):
    candidate: str
    tables: tuple[str, ...]


@dataclass
class LoadedTables:
    """The tables that a trial loads into somebody's server; nothing, where the server is ours."""

    job: TrialJob
    before: frozenset[str] | None = None
    made: frozenset[str] = frozenset()

    def begin(self) -> None:
        """The load is about to begin: what is there already is not ours."""
        self.before = self._list_tables()

    def note_tables(self) -> None:
        """The load is over, if one was begun: lists what appeared."""
        job = self.job
        if self.before is not None:
            self.made, self.before = self._list_tables() - self.before, None
        if self.made:
            make_folder(job.loaded.parent, exist_ok=True)
            write_json(job.loaded, encode(_List(job.candidate.name, tuple(sorted(self.made)))))

    def drop(self) -> None:
        """Drops what the script has left of what it made, and the list."""
        engine, left = self.job.engine, self.made and self._list_tables() & self.made
        if left and isinstance(engine, Attaches):
            engine.drop(self.job.build, sorted(left))
        self.job.loaded.unlink(missing_ok=True)

    def _list_tables(self) -> frozenset[str]:
        engine, build = self.job.engine, self.job.build
        if not build.attached or not isinstance(engine, Attaches):
            return frozenset()
        return frozenset(engine.list_tables(build))


def drop_leftovers(
    run: RunFolder, engines: Mapping[str, Engine], builds: Mapping[str, Build], say: Say
) -> None:
    """Drops what the killed trials of a run listed and is there now, and their lists."""
    for file in sorted(run.path.glob(f"{LOADED}/*.json")):
        listed = read_json(_List, file)
        engine, build = engines[listed.candidate], builds[listed.candidate]
        there = engine.list_tables(build) if isinstance(engine, Attaches) else []
        if isinstance(engine, Attaches) and (left := [it for it in there if it in listed.tables]):
            say(f"dropping {', '.join(left)}, which a killed run loaded at {build.name}")
            engine.drop(build, left)
        file.unlink()
