"""The files of an experiment that a host must have, by their paths beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from dyno import workloads
from dyno.builds import compute_sha256
from dyno.compare.experiment import read_experiment
from dyno.compare.experiments import find_experiment
from dyno.compare.fleet.messages import ShippedFile, is_safe_path
from dyno.errors import UsageError

#: Where the scripts lie that come along.
OWN = Path(workloads.__file__).resolve().parent


def list_experiment_files(file: Path, settings: Mapping[str, str]) -> dict[str, Path]:
    """The experiment's file first, then scripts with all that they require, and setup files, each
    by the path that it has from the folder of the experiment. `settings` are those of the command
    line, which replace the file's.

    Dyno's own scripts are not among them: every host has those of its own, and their checksums are
    compared. `UsageError` for a file that lies outside of the experiment's folder.
    """
    found = file if file.is_file() else find_experiment(str(file))
    if found is None:
        raise UsageError(f"there is no experiment file '{file}'")
    experiment = read_experiment(found)
    home = found.resolve().parent
    files = {found.name: found.resolve()}
    for workload in experiment.workloads:
        script = workloads.find_workload(workload.name)
        for each in workloads.list_files(script, {**workload.options, **settings}):
            if each.resolve().parent != OWN:
                files[_name_beside(each.resolve(), home, found)] = each.resolve()
    return files


def _name_beside(file: Path, home: Path, experiment: Path) -> str:
    path = os.path.relpath(file, home)
    if not is_safe_path(path):
        hint = f"put it beside {experiment.name} or below: hosts get the files of that folder"
        raise UsageError(f"{file} cannot be sent to other hosts", hint=hint)
    return path


def hash_files(files: Mapping[str, Path]) -> tuple[ShippedFile, ...]:
    """The files with their checksums."""
    return tuple(ShippedFile(name, compute_sha256(file)) for name, file in files.items())
