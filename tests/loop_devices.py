"""Loop devices of a test's own: root's, which some containers have not."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from privileges import need_root


@contextmanager
def attached(file: Path, *words: str) -> Iterator[Path]:
    """The file as a loop device, by losetup's `words`; the test is skipped where there is none."""
    need_root("loop devices")
    if not os.access("/dev/loop-control", os.W_OK):
        pytest.skip("this container has no loop devices")
    command = ["losetup", "--find", "--show", *words, str(file)]
    made = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    try:
        yield Path(made.stdout.strip())
    finally:
        subprocess.run(["losetup", "--detach", made.stdout.strip()], check=True, timeout=20)


def make_image(file: Path, size: int, filled: bool = True) -> Path:
    """A file of random bytes, or of a hole."""
    with file.open("wb") as out:
        if filled:
            out.write(os.urandom(size))
            os.fsync(out.fileno())
        out.truncate(size)
    return file
