"""The shell lines of docs/guides/fleet.md and docs/guides/ci.md, played as a CI and others do.

Hosts are folders: stand-ins of ssh, scp and parallel do in these what the real ones do on hosts.
Two shares are played where the guide has four.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from repository import ROOT

from dyno.runs.run_folder import RunFolder

pytestmark = [pytest.mark.slow, pytest.mark.timeout(150)]

PAGE = (ROOT / "docs/guides/fleet.md").read_text()
CI = (ROOT / "docs/guides/ci.md").read_text().split("## A matrix of shares")[1]
EXPERIMENT = """
name = "suite"
candidates = ["old=null@1ms", "new=null@2ms"]
blocks = 3
sequential = true
cpu_profile = false
limits = { steal_percent = 100, foreign_percent = 100 }
[[workload]]
name = "oltp_point_select"
options = { time = 0.05, warmup_time = 0, table_size = 10 }
"""
SSH = """#!/bin/sh
host=$1; shift; mkdir -p "$HOSTS/$host"; cd "$HOSTS/$host" && exec sh -c "$*"
"""
SCP = """#!/bin/sh
case "$2" in
*:*) exec cp -r "$HOSTS/${2%%:*}/${2#*:}" "$3" ;;
*) mkdir -p "$HOSTS/${3%%:*}"; exec cp "$2" "$HOSTS/${3%%:*}/" ;;
esac
"""
#: One job for each host, as `--jobs 1` has it.
PARALLEL = """#!/usr/bin/env python3
import os, shutil, subprocess, sys
words, inputs = sys.argv[1 : sys.argv.index(":::")], sys.argv[sys.argv.index(":::") + 1 :]
options = {words[at]: words[at + 1] for at in range(0, 8, 2)}
jobs = []
for host, value in zip(options["--sshlogin"].split(","), inputs):
    home = os.path.join(os.environ["HOSTS"], host)
    os.makedirs(home)
    shutil.copy(options["--transferfile"], home)
    line = [word.replace("{}", value) for word in words[8:]]
    jobs.append((subprocess.Popen(line, cwd=home), home, options["--return"].replace("{}", value)))
for job, home, back in jobs:
    assert job.wait() == 0
    shutil.copytree(os.path.join(home, back), back)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the experiment, and programs that stand in for others."""
    (tmp_path / "suite.toml").write_text(EXPERIMENT)
    (tmp_path / "bin").mkdir()
    for name, text in {"ssh": SSH, "scp": SCP, "parallel": PARALLEL}.items():
        program = tmp_path / "bin" / name
        program.write_text(text)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def play(lines: str, folder: Path, **more: str) -> None:
    """The lines by a shell, two shares in the place of four."""
    lines = lines.replace("1 2 3 4", "1 2").replace("/4", "/2").replace("seq 4", "seq 2")
    lines = lines.replace(
        "dyno gather share-*", "dyno gather share-* --inconclusive pass || [ $? = 1 ]"
    )
    own = {
        "PATH": f"{folder}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOSTS": str(folder / "hosts"),
        "DYNO_RUNS": str(folder / "runs"),
    }
    done = subprocess.run(
        ["bash", "-e", "-c", textwrap.dedent(lines)],
        cwd=folder,
        env=os.environ | own | more,
        capture_output=True,
        text=True,
        timeout=55,
    )
    assert done.returncode == 0, done.stderr


def check_gathered(folder: Path) -> None:
    verdict = RunFolder(folder).read_verdict()
    assert verdict
    assert verdict.complete
    assert {c.blocks for c in verdict.comparisons if c.primary} == {3}


def find_lines(title: str, language: str) -> list[str]:
    section = PAGE.split(f"\n## {title}")[1].split("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


def test_the_actions_jobs_play_shares_and_judge_them(folder: Path) -> None:
    share, judge = re.findall(r"run: \|\n((?: {10}.*\n)+)", CI)
    for index in ("1", "2"):
        play(share, folder, SHARE=index, RUNNER_NAME=f"runner {index}")
        (folder / "shares").mkdir(exist_ok=True)
        (folder / f"share-{index}").rename(folder / "shares" / f"share-{index}")
    judge = f"{judge.rstrip()} || [ $? = 1 ]\n"
    play(judge, folder, GITHUB_STEP_SUMMARY=str(folder / "summary"))
    assert "new" in (folder / "summary").read_text()
    check_gathered(folder / "gathered")


def test_a_slurm_array_plays_each_share_and_a_requeued_task_continues(folder: Path) -> None:
    (script,) = find_lines("Slurm", "bash")
    for index in ("1", "1", "2"):
        play(script, folder, SLURM_ARRAY_TASK_ID=index, SLURM_ARRAY_TASK_COUNT="2")
    play("dyno gather share-*", folder)
    check_gathered(next((folder / "runs").iterdir()))


@pytest.mark.parametrize("which", [0, 1])
def test_parallel_and_ssh_bring_shares_back(which: int, folder: Path) -> None:
    lines = find_lines("GNU parallel, or ssh", "sh")[which]
    play(lines, folder)
    check_gathered(next((folder / "runs").iterdir()))
