"""Plays a run to its end: the floor, then blocks, until the looks decide."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

from dyno.builds import Say, cache
from dyno.conduct import leftovers, room
from dyno.conduct import prepared as preparing
from dyno.conduct import trial as trials
from dyno.conduct.blocks import Next
from dyno.conduct.changes import changes
from dyno.conduct.prepared import Prepared
from dyno.conduct.stage import Stage
from dyno.conduct.watch import RunStarted, TrialEnded, TrialStarted, Watch
from dyno.errors import InternalError, UsageError
from dyno.folder import Folder
from dyno.record import Run, Trial


def play(prepared: Prepared, folder: Folder, watch: Watch) -> Run:
    """Plays what is left of `prepared` into `folder` (made by `folder.create`).

    Everything measured stays in the folder, whatever is raised: `TrialFailed` where a candidate
    does not work at all, `HostError` where the disk is full, `KeyboardInterrupt` as it came.
    """
    with folder.alone():
        room.check(folder, prepared)
        with _programs(prepared), _homes(folder):
            Stage(prepared, folder, watch, folder.trials()).play()
    return prepared.run


def resume(folder: Folder, watch: Watch, say: Say = lambda _: None) -> Run:
    """Goes on with a torn run; `UsageError` where host, program or script are not the same.

    A run that is over stays as it is.
    """
    run = folder.run()
    prepared = preparing.again(run, say)
    if found := changes(run, prepared):
        hint = "start a new run; this one's verdict so far: dyno report"
        raise UsageError("the run cannot go on", cause="; ".join(found), hint=hint)
    with folder.alone():
        leftovers.drop(folder, prepared.engines, prepared.builds, say)
    return play(preparing.check_empty(prepared), folder, watch)


def play_once(prepared: Prepared, watch: Watch) -> Trial:
    """One trial of the first candidate on the first workload, judged by nobody, kept nowhere.

    A failed or interrupted one is answered too, with what it measured before.
    """
    with (
        tempfile.TemporaryDirectory(prefix="dyno-", dir=room.chosen()) as place,
        _programs(prepared),
        _homes(Folder(Path(place))) as folder,
    ):
        (folder.path / "logs").mkdir()
        room.check(folder, prepared)
        watch(RunStarted(prepared.run, None, 0))
        stage = Stage(prepared, folder, watch, [])
        workload, candidate = prepared.run.workloads[0], prepared.run.candidates[0]
        job = stage.job(workload, candidate, Next(0, 1), 0)
        watch(TrialStarted(0, 1, workload.name, candidate.name, 1, 1, 1))
        trial, error = trials.play(replace(job, load=None), watch)
        if isinstance(error, InternalError):
            raise error
        watch(TrialEnded(trial))
        return trial


def _programs(prepared: Prepared) -> AbstractContextManager[None]:
    """Keeps the programs in the cache: `dyno clean` may be called meanwhile."""
    return cache.held(build.program for build in prepared.builds.values())


@contextmanager
def _homes(folder: Folder) -> Iterator[Folder]:
    """A folder for the engines' data, empty at first and gone at the end."""
    folder.clear_homes()
    folder.make_homes()
    try:
        yield folder
    finally:
        folder.clear_homes()
