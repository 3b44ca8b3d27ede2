"""Programs from outside (a compiler, npm, cargo) as scripts of a line, and what the builds said."""

from __future__ import annotations

from pathlib import Path

#: What was said while builds were fetched or made; the fixture `own_cache` empties it.
SAID: list[str] = []


def stub(folder: Path, name: str, script: str) -> None:
    """Puts a script of `sh` into `folder`, to be found on the path as `name`."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
