"""Which run a word means: its path, its name, a unique beginning of it, or `last`."""

from __future__ import annotations

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


def list_count_names() -> list[str]:
    """The counts of instructions at home, oldest first."""
    from dyno.compare.run_folder import COUNT_RECORD

    return _list_names_with(COUNT_RECORD)


def list_disk_names() -> list[str]:
    """The runs of `dyno disk` at home, oldest first."""
    from dyno.compare.run_folder import DISK_RECORD

    return _list_names_with(DISK_RECORD)


def list_capacity_names() -> list[str]:
    """The runs of `dyno capacity` at home, oldest first."""
    from dyno.compare.run_folder import CAPACITY_RECORD

    return _list_names_with(CAPACITY_RECORD)


def _list_names_with(record: str) -> list[str]:
    return [file.parent.name for file in sorted(find_runs_home().glob(f"*/{record}"))]


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
    if not found and (kind := _find_other_kind(word)):
        hint = "it wants a comparison; `dyno show` and `dyno report` tell any run"
        raise UsageError(f"{word} is {kind}", hint=hint)
    return open_run(Path(only), find_runs_home())


def _find_other_kind(word: str) -> str:
    """What a word means that is no comparison, in words; empty for anything else."""
    kinds = {"a run of disks": find_disk_run, "a capacity": find_capacity, "a count": find_count}
    return next((kind for kind, find in kinds.items() if find(word)), "")


def unpack(word: str) -> str:
    """The word of the run in a file of `dyno pack`, unpacked among the runs; any other as it is."""
    if not word.endswith(".zip") or not Path(word).is_file():
        return word
    from dyno.compare.pack.archive import unpack_run

    return str(unpack_run(Path(word), find_runs_home()))


def shorten_name(folder: Path) -> str:
    """What a run of this folder is called on a command line: `last` where it is the last one at
    home, its name where it lies there, else its path.
    """
    names = list_run_names()
    if folder.resolve().parent != find_runs_home().resolve() or folder.name not in names:
        return str(folder)
    return "last" if names[-1] == folder.name else folder.name


def find_count(word: str) -> Path | None:
    """The folder of `dyno count` that `word` means, as `find_run` does; None where it means none,
    or another. `last` is a count where that is the newest of all.
    """
    from dyno.compare.run_folder import COUNT_RECORD

    return _find_folder_with(COUNT_RECORD, word)


def find_disk_run(word: str) -> Path | None:
    """The same of `dyno disk`."""
    from dyno.compare.run_folder import DISK_RECORD

    return _find_folder_with(DISK_RECORD, word)


def find_capacity(word: str) -> Path | None:
    """The same of `dyno capacity`."""
    from dyno.compare.run_folder import CAPACITY_RECORD

    return _find_folder_with(CAPACITY_RECORD, word)


def find_fleet(word: str) -> Path | None:
    """The same of a run over a cluster."""
    from dyno.compare.run_folder import FLEET_RECORD

    return _find_folder_with(FLEET_RECORD, word)


def _find_folder_with(record: str, word: str) -> Path | None:
    from dyno.compare.run_folder import RECORDS

    home, names = find_runs_home(), _list_names_with(record)
    others = {name for kind in RECORDS if kind != record for name in _list_names_with(kind)}
    others -= {*names}  # a fleet's run has two records
    if word == "last":
        newest = max([*names, *others], default="")
        return home / newest if newest in names else None
    for folder in (Path(word), home / word):
        if (folder / record).is_file():
            return folder
    begun = [name for name in names if name.startswith(word)]
    unclear = any(name.startswith(word) for name in others)
    return home / begun[0] if len(begun) == 1 and not unclear else None
