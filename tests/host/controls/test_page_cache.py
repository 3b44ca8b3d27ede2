"""Control `page_cache`: the kernel itself is asked what of a file it holds."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dyno.host.controls import ControlTarget, load_controls

SIZE = 4 << 20


def _cached_bytes(file: Path) -> int:
    command = ["fincore", "--bytes", "--noheadings", "--output", "RES", str(file)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _restored(value: str, home: Path) -> dict[str, str] | None:
    control = load_controls()["page_cache"]
    with control.hold(value, ControlTarget(embedded=False)) as held:
        return held.restored(home) if held.restored else None


@pytest.fixture
def file(tmp_path: Path) -> Path:
    if shutil.which("fincore") is None:
        pytest.skip("fincore (util-linux) is not on this machine")
    (tmp_path / "deep").mkdir()
    file = tmp_path / "deep" / "data"
    file.write_bytes(b"x" * SIZE)
    (tmp_path / "link").symlink_to(file)
    return file


def test_drop_empties_the_page_cache_and_warm_fills_it(file: Path, tmp_path: Path) -> None:
    assert _cached_bytes(file) == SIZE
    assert _restored("drop", tmp_path) == {"files": "1"}
    assert _cached_bytes(file) == 0
    assert _restored("warm", tmp_path) == {"files": "1"}
    assert _cached_bytes(file) == SIZE


def test_the_value_keep_touches_nothing(file: Path, tmp_path: Path) -> None:
    assert _restored("keep", tmp_path) is None
