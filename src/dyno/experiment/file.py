"""An experiment's TOML file: found, read, checked."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path

from dyno.errors import UsageError, unknown
from dyno.experiment import sections
from dyno.experiment.comparison import Experiment
from dyno.experiment.measuring import Measuring
from dyno.experiment.table import Table

_KEYS = {
    *("name", "question", "published", "candidates", "workload", "design", "factor"),
    *(each.name for each in fields(Measuring) if each.name not in ("fixed", "quick")),
    sections.MAX_BLOCKS,
}


def every() -> dict[str, Path]:
    """The experiments that come with Dyno (the folder `experiments`), by name."""
    return {path.stem: path for path in sorted(Path("experiments").glob("*.toml"))}


def read(path: Path) -> Experiment:
    """The experiment in a TOML file; `UsageError` with file and line where it is malformed.

    A name without a path is one of those in `experiments/`.
    """
    file = path if path.is_file() else every().get(str(path))
    if file is None:
        raise _missing(path)
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not TOML", cause="it is not text in UTF-8") from error
    try:
        return _experiment(Table(file, text, tomllib.loads(text)))
    except tomllib.TOMLDecodeError as error:
        hint = "strings stand in quotes, lists end with ]; dyno show experiments has examples"
        raise UsageError(f"{file} is not TOML", cause=error, hint=hint) from error


def _missing(path: Path) -> UsageError:
    """A path is told from a name: what is near a mistyped file is no help."""
    if path.suffix == ".toml" or len(path.parts) != 1:
        hint = "a TOML file, or a name that `dyno show experiments` lists"
        return UsageError(f"there is no experiment file '{path}'", hint=hint)
    if not every():
        hint = "names are those of the folder experiments, which is not here; give a file's path"
        return UsageError(f"unknown experiment '{path}'", hint=hint)
    return unknown("experiment", str(path), every())


def _experiment(top: Table) -> Experiment:
    top.only(_KEYS)
    crossed = sections.crossed(top)
    return Experiment(
        name=top.get("name", str) or top.file.stem,
        candidates=sections.sides(top, crossed),
        workloads=sections.workloads(top),
        measuring=sections.measuring(top),
        question=top.get("question", str) or "",
        published=tuple(
            {k: str(v) for k, v in each.data.items()} for each in top.tables("published")
        ),
        command=f"dyno run {top.file}",
        crossed=crossed,
    )
