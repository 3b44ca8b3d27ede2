"""Derived files are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def replace(path: Path, text: str) -> Path:
    """Writes `text` under a temporary name beside `path`, then renames it into place."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def put(path: Path, text: str) -> None:
    """Writes a file that a user named: as `replace` does, but through a link, a pipe or a device
    (/dev/stdout), which a rename would put a file in the place of.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_text(text, encoding="utf-8")
    else:
        replace(path, text)
