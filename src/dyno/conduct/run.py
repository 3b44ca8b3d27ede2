"""Plays a run to its end: the floor, then blocks, until the looks decide."""

from __future__ import annotations

from dyno.conduct.prepared import Prepared
from dyno.conduct.watch import Watch
from dyno.folder import Folder
from dyno.record import Run, Trial


def play(prepared: Prepared, folder: Folder, watch: Watch) -> Run:
    """Plays what is left of `prepared` into `folder` (made by `folder.create`)."""
    raise NotImplementedError


def resume(folder: Folder, watch: Watch) -> Run:
    """Goes on with a torn run; `UsageError` where host, program or script are not the same."""
    raise NotImplementedError


def play_once(prepared: Prepared, watch: Watch) -> Trial:
    """One trial of the first candidate on the first workload, judged by nobody, kept nowhere."""
    raise NotImplementedError
