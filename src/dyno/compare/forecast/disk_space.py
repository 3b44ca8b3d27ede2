"""Is there disk space for a run's data? Checked before anything is announced, built or loaded."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from dyno.builds import cache
from dyno.compare.forecast.estimate import disk_bytes
from dyno.compare.resolve.experiment import Prepared, RunDraft
from dyno.compare.run_folder import RunFolder
from dyno.errors import HostError, UsageError


def check_disk_space(prepared: Prepared | RunDraft) -> None:
    """`HostError` where a run that has no folder yet would not fit where runs lie."""
    check_folder_space(RunFolder(Path(os.environ.get("DYNO_RUNS") or "runs") / "any"), prepared)


def check_folder_space(folder: RunFolder, prepared: Prepared | RunDraft) -> None:
    """`HostError` where the data of `folder`'s run would not fit; `UsageError` for a limit of the
    cache that is none, which loads would come upon late, and a `$DYNO_TMP` that takes no data.
    """
    cache.limit_bytes()
    temporary_folder()
    there = next(path for path in folder.homes().parents if path.exists())
    needed_bytes, free_bytes = disk_bytes(prepared), shutil.disk_usage(there).free
    if free_bytes < needed_bytes:
        raise HostError(
            f"{there} has {free_bytes >> 20} MB free, and the run needs {needed_bytes >> 20} MB",
            hint="free some (dyno clean), or set $DYNO_TMP to another file system",
        )


def temporary_folder() -> str | None:
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
