"""The runs in a folder: a new one made, one opened, all of them listed."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

from dyno.errors import HostError, UsageError, unknown
from dyno.folder.file import write
from dyno.folder.run import Folder
from dyno.record import Run


def create(run: Run, runs: Path) -> Folder:
    """A new folder ``<utc>-<name>`` under `runs`, with `run.json` in it."""
    stamp = re.sub(r"[-:]|\.\d+", "", run.created_utc)
    name = re.sub(r"[^A-Za-z0-9._@-]+", "-", run.name).strip("-")[:60]
    path = _fresh(runs, f"{stamp}-{name}")
    for room in ("trials", "logs"):
        (path / room).mkdir()
    write(path / "run.json", asdict(run))
    return Folder(path)


def _fresh(runs: Path, name: str) -> Path:
    for count in range(1, 1000):
        path = runs / (name if count == 1 else f"{name}-{count}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            hint = "name another folder for runs with DYNO_RUNS"
            raise HostError(f"cannot make {path}", cause=error.strerror, hint=hint) from error
        return path
    raise HostError(f"too many runs are called {name}")


def opened(path: Path, runs: Path = Path("runs")) -> Folder:
    """The folder at `path`, or at ``runs/path``; `UsageError` where there is no run in it."""
    for folder in (path, runs / path):
        if (folder / "run.json").is_file():
            return Folder(folder)
    if path.is_dir():
        raise UsageError(f"there is no run in {path}", hint="run.json is missing")
    raise unknown("run", str(path), [f.path.name for f in every(runs)])


def every(runs: Path) -> list[Folder]:
    """All runs under `runs`, oldest first."""
    return [Folder(file.parent) for file in sorted(runs.glob("*/run.json"))]
