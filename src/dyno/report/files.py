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
