"""The SQL file that makes tables (`--data`, `--set setup=`), made ready, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dyno.cli.terminal import screen

if TYPE_CHECKING:
    from dyno.compare.experiment import Experiment, Workload
    from dyno.compare.experiment.candidates import Spec
    from dyno.compare.resolve.setup_files import ReadyFile


def prepare_setup(file: Path, candidates: Sequence[str]) -> ReadyFile:
    """The file for these candidates, and what is not loaded of it, told."""
    from dyno.compare.experiment.candidates import parse_candidate

    return _prepare(file, [parse_candidate(text) for text in candidates])


def _prepare(file: Path, candidates: Sequence[Spec]) -> ReadyFile:
    from dyno.compare.resolve.copies import check_setup
    from dyno.compare.resolve.setup_files import make_ready

    def say(clause: str) -> None:
        screen.print_line(f"{clause} …", err=True)

    found = make_ready(file.resolve(), candidates, say)
    check_setup(found, candidates)
    for sentence in found.describe():
        screen.print_line(sentence, err=True)
    return found


def prepare_setup_beside(name: str, workload: str, candidates: Sequence[str]) -> dict[str, str]:
    """The options for a file that is named from where the workload's script lies."""
    from dyno.workloads import find_workload

    script = find_workload(workload)
    if not _has_dump(script):
        return {}
    return prepare_setup(script.parent / name, candidates).list_options()


def _has_dump(script: Path) -> bool:
    """Does its option `setup` name a dump? That of a user's script in Lua is the script's own."""
    return script.suffix != ".lua" or b"dyno.recording" in script.read_bytes()


def prepare_workloads(
    workloads: Sequence[Workload], candidates: Sequence[Spec]
) -> tuple[Workload, ...]:
    """An experiment's workloads, the SQL files that make their tables made ready."""
    from dyno.workloads import find_workload

    found = []
    for each in workloads:
        script = find_workload(each.name) if "setup" in each.options else None
        if script and (name := each.options["setup"]) and _has_dump(script):
            ready = _prepare(script.parent / name, candidates)
            each = replace(each, options=each.options | ready.list_options())
        found.append(each)
    return tuple(found)


def prepare_experiment(experiment: Experiment) -> Experiment:
    """An experiment of a command's words, the SQL file that makes its tables made ready."""
    workloads = prepare_workloads(experiment.workloads, experiment.candidates)
    return replace(experiment, workloads=workloads)
