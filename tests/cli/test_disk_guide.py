"""Every command of docs/guides/disk.md, played short."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from repository import ROOT

from dyno.cli import run_words
from dyno.plugins import load_modules

PAGE = (ROOT / "docs/guides/disk.md").read_text()
FENCES = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for kind, _, text in FENCES if kind == "sh" for line in text.strip().splitlines()]
SHORT = ["--time", "0.05", "--size", "2M", "--blocks", "2"]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk, with the guide's files in it."""
    folder = Path("/var/tmp") / f"dyno-test-guide-{os.getpid()}" / "inner"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    for _, name, text in FENCES:
        if name:
            (folder / name).write_text(text)
    yield folder
    shutil.rmtree(folder.parent)


def test_the_guide_shows_commands() -> None:
    assert len(COMMANDS) == 4 and all(line.startswith("dyno disk ") for line in COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_guide_is_played(
    line: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words([*shlex.split(line)[1:], *SHORT]) in (0, 1, 2), capsys.readouterr().err
    assert "report  " in capsys.readouterr().out


def test_the_guide_names_each_audit_and_no_other() -> None:
    table = PAGE.split("| audit | names |")[1].split("\n\n")[0]
    named = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert sorted(named) == sorted(load_modules("dyno.instruments.disk.audits"))
