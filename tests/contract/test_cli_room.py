"""Too little room on the disk: told before anything else is said, made or measured."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from dyno.cli import ended

WORDS = ["compare", "null@100us", "null@200us", "-w", "oltp_point_select"]


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def test_no_forecast_is_made_and_no_folder(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = SimpleNamespace(total=1 << 40, used=0, free=5 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert ended(WORDS) == 64
    said = capsys.readouterr()
    assert "has 5 MB free, and the run needs" in said.err
    assert said.err.rstrip().endswith("or set $DYNO_TMP to another file system")
    assert said.out == "" and not runs.exists()


def test_a_limit_of_the_cache_that_is_none_is_told_as_early(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DYNO_CACHE_LIMIT", "abc")
    assert ended(WORDS) == 64
    assert "$DYNO_CACHE_LIMIT cannot be 'abc'" in capsys.readouterr().err
    assert not runs.exists()
