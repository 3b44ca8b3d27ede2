"""Experiments that come with Dyno, one TOML file each; your own folder `experiments` adds to them.

`dyno show experiments` lists them, `dyno run NAME` plays one, in whatever folder it is called.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from dyno.former_names import find_current_name

_ROOM, _YOURS = Path(__file__).parent, Path("experiments")


def list_experiments() -> dict[str, Path]:
    """The files by name: Dyno's, and those in ./experiments, which go before."""
    files = sorted((*_ROOM.glob("*.toml"), *_YOURS.glob("*.toml")), key=lambda file: file.stem)
    return {file.stem: file for file in files}


def find_experiment(name: str) -> Path | None:
    """The file of an experiment by its name, or by its former one, which is noted."""
    files = list_experiments()
    return files.get(name) or files.get(find_current_name(name, read_former_names()))


@cache
def read_former_names() -> dict[str, str]:
    """What experiments that come along were called (`former_name` in a file) to their names."""
    told = {file.stem: tomllib.loads(file.read_text("utf-8")) for file in _ROOM.glob("*.toml")}
    return {table["former_name"]: name for name, table in told.items() if "former_name" in table}
