"""A folder of nights, and what `dyno history` says of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from nightly_runs import HistoryCommand, history_command


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def shown(runs: Path, capsys: pytest.CaptureFixture[str]) -> HistoryCommand:
    return history_command(runs, capsys)
