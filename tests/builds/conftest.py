"""Programs in the place of apt's and others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from stub_programs import Stub

from dyno.builds import deb


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stub:
    """Puts a script on the path in a program's place; what it was asked lies in `asked`. The system
    has lists of packages.
    """

    def put(name: str, script: str) -> None:
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\necho "{name} $@" >> {tmp_path}/asked\n{script}\n')
        program.chmod(0o755)

    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.defpath}")
    lists = tmp_path / "lists"
    lists.mkdir()
    (lists / "mirror_main_Packages.lz4").touch()
    monkeypatch.setattr(deb, "LISTS", lists)
    return put
