"""Which run a word means: its path, its name, a unique beginning of it, or `last`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyno.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dyno.runs.run_folder import Instrument, RunFolder
    from dyno.runs.run_summary import RunPlace


def find_runs_home() -> Path:
    """Where runs lie."""
    from dyno.runs import run_folder

    return run_folder.find_runs_home()


def list_run_names() -> list[str]:
    """The runs at home, oldest first (a run's name begins with its time)."""
    from dyno.runs.run_folder import list_runs

    return [run.path.name for run in list_runs(find_runs_home())]


def list_other_runs() -> list[tuple[str, str]]:
    """Those that are no comparisons, and what they are."""
    return [(name, own.said) for own in list_others() for name in _list_names_with(own.record)]


def list_others() -> list[Instrument]:
    """The instruments whose runs are folders and no comparisons."""
    from dyno.runs.run_folder import load_instruments

    return [it for it in load_instruments().values() if it.record and not it.has_trials]


def _list_names_with(record: str) -> list[str]:
    return [file.parent.name for file in sorted(find_runs_home().glob(f"*/{record}"))]


def find_place(word: str) -> RunPlace:
    """The run of any kind that `word` means, as `find_run` has it; `last` is the newest of all
    folders. A profile is meant by its file, or its name among the runs.
    """
    from dyno.runs.run_folder import SERVER_PROFILES, load_instruments
    from dyno.runs.run_summary import RunPlace

    for own in (it for it in load_instruments().values() if it.is_file):
        home = find_runs_home() / SERVER_PROFILES
        for file in (Path(word), home / word, home / f"{word}.json"):
            if file.suffix == ".json" and file.is_file():
                return RunPlace(own.name, file)
    for own in list_others():
        if folder := find_folder_with(own.record, word):
            return RunPlace(own.name, folder)
    played = next(it for it in load_instruments().values() if it.has_trials)
    return RunPlace(played.name, find_run(word).path)


def open_command(kind: str) -> Any:
    """Return the file of `cli` for such runs: with `tell_run` or `report_run`, `resume_run`, and
    `show_run` if its result is not all there is to show.
    """
    from dyno.runs.run_folder import load_instruments

    return import_module(f"dyno.cli.{load_instruments()[kind].command}")


def find_run(word: str) -> RunFolder:
    """The comparison that `word` means: a path, a name, a unique beginning of one, or `last`."""
    from dyno.runs.run_folder import open_run

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
    for own in list_others() if not found else ():
        if find_folder_with(own.record, word):
            hint = "it wants a comparison; `dyno show` and `dyno report` tell any run"
            raise UsageError(f"{word} is {own.noun}", hint=hint)
    return open_run(Path(only), find_runs_home())


def unpack(word: str) -> str:
    """The word of the run in a file of `dyno pack`, unpacked among the runs; any other as it is."""
    if not word.endswith(".zip") or not Path(word).is_file():
        return word
    from dyno.runs.pack.archive import unpack_run

    return str(unpack_run(Path(word), find_runs_home()))


def shorten_name(folder: Path) -> str:
    """What a run of this folder is called on a command line: `last` where it is the last one at
    home, its name where it lies there, else its path.
    """
    names = list_run_names()
    if folder.resolve().parent != find_runs_home().resolve() or folder.name not in names:
        return str(folder)
    return "last" if names[-1] == folder.name else folder.name


def find_folder_with(record: str, word: str) -> Path | None:
    """The folder with such a record that `word` means; None where it means none, or another."""
    from dyno.runs.run_folder import list_records

    home, names = find_runs_home(), _list_names_with(record)
    every = {name for each in list_records() for name in _list_names_with(each)}
    others = every - {*names}  # a fleet's run has two records
    if word == "last":
        newest = max([*names, *others], default="")
        return home / newest if newest in names else None
    for folder in (Path(word), home / word):
        if (folder / record).is_file():
            return folder
    begun = [name for name in names if name.startswith(word)]
    unclear = any(name.startswith(word) for name in others)
    return home / begun[0] if len(begun) == 1 and not unclear else None


def refuse_device(words: Mapping[str, Any]) -> None:
    """Raise `UsageError` if `--write-device` is given for a run that writes to none."""
    if words["writable"]:
        raise UsageError("--write-device is for runs of `dyno disk` only")
