"""Without root: what needs none works, and the rest is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import fake_sysfs
import pytest
from repository import ROOT

HOLDING = ROOT / "tests" / "hold_controls.py"


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="is an ordinary user anyway")
def test_nobody_is_told_what_needs_root_and_gets_what_does_not(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = fake_sysfs.make_tree(home / "tree")
    for name, value in fake_sysfs.environment(tree, home / "journal").items():
        monkeypatch.setenv(name, value)
    needs = ("swap=0", "thp=never", "governor=performance", "niceness=-5")
    frees = ("niceness=19", "thp=off", "aslr=off")  # the tests themselves may run at 10
    found = [_as_nobody(word) for word in (*needs, *frees)]
    assert [each.get("refused", "held").rpartition(": ")[2] for each in found] == [
        *(["needs root"] * len(needs)),
        *(["held"] * len(frees)),
    ]
    assert [each["set"] for each in found[len(needs) :]] == ["19", "off", "off"]
    assert not (home / "journal").exists()


def _as_nobody(word: str) -> dict[str, str]:
    """What holding one control finds, as an ordinary user."""
    command = [sys.executable, str(HOLDING), "--as-nobody", word]
    done = subprocess.run(command, input="", capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout).values()
    return dict(found)
