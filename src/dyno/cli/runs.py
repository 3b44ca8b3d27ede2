"""Which run a word means: its path, its name, a unique beginning of it, or `last`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dyno.errors import UsageError

if TYPE_CHECKING:
    from dyno.compare.run_folder import RunFolder


def find_runs_home() -> Path:
    """Where runs lie."""
    from dyno.compare import run_folder

    return run_folder.find_runs_home()


def list_run_names() -> list[str]:
    """The runs at home, oldest first (a run's name begins with its time)."""
    from dyno.compare.run_folder import list_runs

    return [run.path.name for run in list_runs(find_runs_home())]


def find_run(word: str) -> RunFolder:
    """The run that `word` means: a path, a name, a unique beginning of one, or `last`."""
    from dyno.compare.run_folder import open_run

    names = list_run_names()
    if word == "last" and not names:
        raise UsageError(
            f"there is no run yet in {find_runs_home()}", hint="`dyno compare` makes one"
        )
    found = names[-1:] if word == "last" else [name for name in names if name.startswith(word)]
    if len(found) > 1 and word not in names:
        cause = f"{len(found)} runs begin so, {found[0]} to {found[-1]}"
        raise UsageError(
            f"'{word}' names more than one run", cause=cause, hint="write more of the name"
        )
    only = found[0] if len(found) == 1 else word
    return open_run(Path(only), find_runs_home())


def find_runs(folders: Sequence[Path]) -> list[RunFolder]:
    """Every run in or below `folders`; `UsageError` where there is none."""
    from dyno.compare.run_folder import RunFolder

    found: dict[Path, RunFolder] = {}
    for folder in folders:
        if not folder.is_dir():
            hint = "name a folder with runs in it, or a run's own"
            raise UsageError(f"there is no folder {folder}", hint=hint)
        below = [file.parent for file in sorted(folder.rglob("run.json"))]
        if not below:
            raise UsageError(f"there is no run under {folder}", hint="`dyno compare` makes one")
        found |= {path.resolve(): RunFolder(path) for path in below}
    return list(found.values())
