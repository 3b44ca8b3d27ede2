"""What lies below a folder that others may write to meanwhile, and how much that is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def list_within(place: Path) -> Iterator[Path]:
    """All folders and files below `place`; a link is listed and not followed.

    A folder that goes meanwhile is passed over, where `Path.rglob` ends with an error.
    """
    for folder, folders, files in os.walk(place):
        yield from (Path(folder, name) for name in (*folders, *files))


def measure_file_bytes(place: Path) -> int:
    """How long the files below `place` are together; one that goes meanwhile counts nothing."""
    total = 0
    for file in list_within(place):
        with suppress(FileNotFoundError):
            total += file.lstat().st_size if file.is_file() else 0
    return total


def measure_block_bytes(place: Path) -> int:
    """What all below `place` occupies on the disk; what goes meanwhile counts nothing."""
    total = 0
    for file in list_within(place):
        with suppress(FileNotFoundError):
            total += file.lstat().st_blocks * 512
    return total
