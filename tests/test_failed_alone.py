"""What `make test` plays once more: few failures, alone, and named whatever comes of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent.parent / "tools" / "failed_alone.py"
TESTS = """
def test_a_race(): pass
def test_b_race(): pass
def test_c_race(): pass
def test_defect(): assert False
@__import__("pytest").mark.parametrize("at", ["mysql@8.0"])
def test_e(at): pass
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("failed", "code", "said"),
    [
        (["a_race"], 0, "FAILED BESIDE OTHERS, PASSED ALONE: test_it.py::test_a_race"),
        (["a_race", "defect"], 1, "FAILED ALONE, TOO: test_it.py::test_defect"),
        (["a_race", "defect"], 1, "PASSED ALONE: test_it.py::test_a_race\n"),
        (["e[mysql@8.0]"], 0, "PASSED ALONE: test_it.py::test_e[mysql@8.0]\n"),
        (["a_race", "b_race"], 0, "2 of 2 failures passed alone; 2 may"),
        (["a_race", "b_race", "c_race"], 1, "3 of 3 failures passed alone; 2 may"),
        ([f"{turn}_race" for turn in range(11)], 1, "11 failed; up to 10 would be played"),
    ],
)
def test_few_failures_are_played_once_more_alone(
    failed: list[str], code: int, said: str, tmp_path: Path
) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    cache = tmp_path / ".pytest_cache" / "v" / "cache"
    cache.mkdir(parents=True)
    names = {f"test_it.py::test_{name}": True for name in failed}
    (cache / "lastfailed").write_text(json.dumps(names))
    command = [sys.executable, str(PROGRAM)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, said in done.stdout) == (code, True), done.stdout + done.stderr
