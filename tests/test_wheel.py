"""The wheel: it installs in an environment that has nothing, and what it installs works there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

#: What would lead back to the environment of the tests.
OURS = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def run(*words: str | Path, cwd: Path) -> str:
    environment = {name: word for name, word in os.environ.items() if name not in OURS}
    environment["DYNO_RUNS"] = str(cwd / "runs")
    done = subprocess.run(
        list(map(str, words)),
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_one_wheel_installs_in_a_bare_environment_and_plays_there(tmp_path: Path) -> None:
    wheel = run(ROOT / "tools/wheel", tmp_path, cwd=tmp_path).strip()
    assert not (ROOT / "data/data").exists()
    bare = tmp_path / "bare"
    run(sys.executable, "-m", "venv", bare, cwd=tmp_path)
    run(bare / "bin/pip", "install", "--quiet", wheel, cwd=tmp_path)
    dyno = bare / "bin/dyno"
    assert "0.1.0" in run(dyno, "--version", cwd=tmp_path)
    assert "oltp_point_select" in run(dyno, "show", "workloads", cwd=tmp_path)
    words = ["-w", "oltp_point_select", "--set", "table_size=100", "--set", "time=0.2"]
    assert "one restart" in run(dyno, "play", "null@200us", *words, cwd=tmp_path)
    package = next(bare.glob("lib/python3*/site-packages/dyno"))
    assert (package / "servers/kit/dyno_kit.so").is_file()
    assert (package / "host/probes/_flushes.so").is_file()
    assert (package / "profile/_lock_calls.so").is_file()
    share = bare / "share"
    assert "\n.nf\ndyno compare null@200us" in (share / "man/man1/dyno-compare.1").read_text()
    script = (share / "bash-completion/completions/dyno").read_text()
    subprocess.run(["bash", "-n"], input=script, text=True, check=True, timeout=30)
