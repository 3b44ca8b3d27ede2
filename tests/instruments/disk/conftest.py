"""What the tests of disks share: a home for runs, and a folder that lies on a disk."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder on a disk: tests' own may lie in memory."""
    path = Path(tempfile.mkdtemp(prefix="dyno-test-disk-", dir="/var/tmp"))
    yield path
    shutil.rmtree(path)
