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
        "PATH": f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "BASE": "null@1ms",
        "CANDIDATE": "null@2ms",
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "GITHUB_REPOSITORY": "o/r",
        "PULL": "7",
        "REPORT": "https://ci.example/17",
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
    compare, keep, comment, *_ = re.findall(r"run: \|\n((?: {10}.*\n)+)", PAGE)
    done = play_step(compare, tmp_path)
    assert done.returncode == 1, done.stderr
    assert re.search(r"^::error title=new", done.stdout, re.MULTILINE)
    assert "| new |" in (tmp_path / "summary").read_text()
    assert play_step(keep, tmp_path).returncode == 0
    assert {file.name for file in (tmp_path / "artifacts").iterdir()} == {
        "results.xml",
        "report.html",
    }
    renew_comment(comment, tmp_path)


#: Answers as `gh api` does, of a pull request whose comments are the file `comments`.
GH = """#!/bin/sh
echo "$*" >> calls
case "$*" in *--jq*) cat comments;; esac
"""


def renew_comment(step: str, folder: Path) -> None:
    """The step posts a comment with a link to the report, and renews one that is there."""
    (folder / "gh").write_text(GH)
    (folder / "gh").chmod(0o755)
    for known, told in (
        ("", "repos/o/r/issues/7/comments -F body=@comment.txt"),
        ("42\n43\n", "-X PATCH repos/o/r/issues/comments/42 -F body=@comment.txt"),
    ):
        (folder / "comments").write_text(known)
        done = play_step(step, folder)
        assert done.returncode == 0, done.stderr
        asked, wrote = (folder / "calls").read_text().splitlines()[-2:]
        marker, first, *_ = (folder / "comment.txt").read_text().splitlines()
        assert marker.startswith("<!-- dyno: ") and f'startswith("{marker}")' in asked
        assert wrote == f"api {told}"
        assert "is slower than" in first and "Next: " in first
        assert "[The whole report](<https://ci.example/17>)" in (folder / "comment.txt").read_text()


def test_jenkins_step_leaves_the_results_of_a_failed_comparison(tmp_path: Path) -> None:
    (step,) = re.findall(r"sh '''\n(.*?)'''", PAGE, re.DOTALL)
    assert play_step(step, tmp_path).returncode == 1
    (suite,) = JUnitXml.fromfile(str(tmp_path / "results.xml"))
    assert suite.failures == 1
