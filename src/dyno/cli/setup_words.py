"""The SQL file that makes tables (`--data`, `--set setup=`), made ready, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dyno.cli.terminal import screen

if TYPE_CHECKING:
    from dyno.compare.resolve.setup_files import ReadyFile


def prepare_setup(file: Path, candidates: Sequence[str]) -> ReadyFile:
    """The file for these candidates, and what is not loaded of it, told."""
    from dyno.compare.experiment.candidates import parse_candidate
    from dyno.compare.resolve.setup_files import make_ready

    def say(clause: str) -> None:
        screen.print_line(f"{clause} …", err=True)

    found = make_ready(file.resolve(), [parse_candidate(text) for text in candidates], say)
    for sentence in found.describe():
        screen.print_line(sentence, err=True)
    return found


def prepare_setup_beside(name: str, workload: str, candidates: Sequence[str]) -> dict[str, str]:
    """The options for a file that is named from where the workload's script lies."""
    from dyno.workloads import find_workload

    return prepare_setup(find_workload(workload).parent / name, candidates).list_options()
