"""Programs from outside (a compiler, npm, cargo) as scripts of a line, and what the builds said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

#: What was said while builds were fetched or made; the fixture `own_cache` empties it.
SAID: list[str] = []

#: What the fixture `stub` of the builds' tests puts in place: a program's name, and its script.
Stub = Callable[[str, str], None]


def stub(folder: Path, name: str, script: str) -> None:
    """Puts a script of `sh` into `folder`, to be found on the path as `name`."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
