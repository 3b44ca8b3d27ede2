"""The shell steps of docs/guides/ci.md, as a runner would play them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from junitparser import JUnitXml
from repository import ROOT

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/guides/ci.md").read_text()
#: What makes the same steps short.
SHORT = (
    "--quick --set time=0.3 --set warmup_time=0 --set table_size=100 "
    "--limit foreign_percent=100 --limit steal_percent=100"
)


def play_step(step: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The step by a runner's shell, on two builds that differ by a half."""
    own = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "BASE": "null@1ms",
        "CANDIDATE": "null@2ms",
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
    }
    return subprocess.run(
        ["bash", "-e", "-c", textwrap.dedent(step).replace("--budget 10m", SHORT)],
        cwd=folder,
        env=os.environ | own,
        capture_output=True,
        text=True,
        timeout=55,
    )


def test_the_actions_steps_fail_the_job_and_keep_summary_annotations_and_report(
    tmp_path: Path,
) -> None:
    compare, keep, *_ = re.findall(r"run: \|\n((?: {10}.*\n)+)", PAGE)
    done = play_step(compare, tmp_path)
    assert done.returncode == 1, done.stderr
    assert re.search(r"^::error title=new", done.stdout, re.MULTILINE)
    assert "| new |" in (tmp_path / "summary").read_text()
    assert play_step(keep, tmp_path).returncode == 0
    assert {file.name for file in (tmp_path / "artifacts").iterdir()} == {
        "results.xml",
        "report.html",
    }


def test_jenkins_step_leaves_the_results_of_a_failed_comparison(tmp_path: Path) -> None:
    (step,) = re.findall(r"sh '''\n(.*?)'''", PAGE, re.DOTALL)
    assert play_step(step, tmp_path).returncode == 1
    (suite,) = JUnitXml.fromfile(str(tmp_path / "results.xml"))
    assert suite.failures == 1
