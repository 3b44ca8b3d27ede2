"""A suite on two hosts, here network namespaces: shares are played, killed, copied, packed and
gathered; `null` stands for any engine.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from dyno.cli import run_words
from dyno.record import Comparison, HostEffect, Trial
from dyno.record.profile import StackProfile
from dyno.runs.run_folder import RunFolder

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]

#: Two cells of four blocks.
EXPERIMENT = """
name = "suite"
candidates = ["old=null@1ms", "new=null@2ms"]
blocks = 4
sequential = true
cpu_profile = false
limits = { steal_percent = 100, foreign_percent = 100 }
[[workload]]
name = "oltp_point_select"
sweep = { threads = [1, 2] }
options = { time = 0.1, warmup_time = 0, table_size = 10 }
"""
#: Four blocks of two hosts say little; what they say is `tests/judge/analysis/test_judge_hosts.py`.
JUDGED = (0, 1, 2)
NAMESPACE = ["unshare", "--net", *(() if os.geteuid() == 0 else ("--map-root-user",))]
WORDS = ["--split", "blocks", "--limit", "foreign=100"]


def start_share(folder: Path, index: int, host: str, *words: str) -> subprocess.Popen[str]:
    """`dyno shard` in a network namespace of its own, into `share-INDEX`."""
    line = ["shard", f"{index}/2", "suite.toml", "--dir", f"share-{index}", "--host", host]
    return subprocess.Popen(
        [*NAMESPACE, sys.executable, "-m", "dyno.cli", *line, *WORDS, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def play_share(folder: Path, index: int, host: str, *words: str) -> str:
    done = start_share(folder, index, host, *words)
    said, errors = done.communicate(timeout=150)
    assert done.returncode == 0, errors
    return said


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the experiment and both shares, each played on a host of its own."""
    folder = tmp_path_factory.mktemp("shards")
    (folder / "suite.toml").write_text(EXPERIMENT)
    both = [start_share(folder, index, host) for index, host in ((1, "left"), (2, "right"))]
    for index, playing in enumerate(both, 1):
        said, errors = playing.communicate(timeout=150)
        assert playing.returncode == 0, errors
        assert f"share {index} of 2" in said
    return folder


@pytest.fixture
def here(played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder, which a test may spoil, as the current one."""
    folder = tmp_path / "here"
    shutil.copytree(played, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    return folder


def gather(*words: str, out: str = "gathered") -> tuple[int, RunFolder]:
    return run_words(["gather", *words, "--out", out]), RunFolder(Path(out))


def find_blocks(trials: list[Trial]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for trial in trials:
        if trial.block >= 0:
            found.setdefault(trial.host, set()).add(trial.block)
    return found


def test_shares_of_two_hosts_are_gathered_and_judged(here: Path) -> None:
    code, folder = gather("share-1", "share-2")
    assert code in JUDGED
    verdict, trials = folder.read_verdict(), folder.read_trials()
    assert verdict
    assert verdict.complete
    blocks = find_blocks(trials)
    assert blocks["left"] <= {0, 1, 4}, "the last one stands in for a dropped one"
    assert blocks["right"] <= {2, 3, 5}, "no block spans hosts"
    assert [t.number for t in trials] == list(range(1, len(trials) + 1))
    assert {c.blocks for c in verdict.comparisons if c.primary} == {4}
    assert (folder.path / "report.html").is_file()
    run = folder.read_run()
    assert run.gathered
    assert [each.share.label for each in run.gathered.shares if each.share] == ["left", "right"]


def test_what_is_gathered_tells_hosts_callers_and_what_noise_took(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for index, sides in ((1, ("old",)), (2, ("old", "new"))):
        share = RunFolder(Path(f"share-{index}"))
        cell = next(iter(share.read_run().workloads)).name
        for number, side in enumerate(sides):
            share.write_profile(StackProfile(number, cell, side, {}))
    files = sorted(Path("share-2/trials").glob("*.json"))
    noisy = next(it for it in map(read_trial, files) if it["block"] == 2)
    for file in files:
        trial = read_trial(file)
        if (trial["block"], trial["workload"]) == (2, noisy["workload"]):
            file.unlink()  # and no spare block took its place
    code, folder = gather("share-1", "share-2", "--partial")
    assert code in JUDGED
    assert f"share 2 of 2 has 1 of 2 blocks of {noisy['workload']}" in capsys.readouterr().err
    rows = list(csv.DictReader((folder.path / "trials.csv").read_text().splitlines()))
    told = {row["trial"]: row["host"] for row in rows}
    assert told == {str(trial.number): trial.host for trial in folder.read_trials()}
    assert {it.host for it in folder.read_profiles()} == {"right"}, "both sides are of one host"
    assert [it.candidate for it in folder.read_profiles()] == ["old", "new"]


def read_trial(file: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(file.read_text())
    return found


def test_a_share_that_was_killed_goes_on_and_is_gathered(here: Path) -> None:
    shutil.rmtree("share-2")
    playing = start_share(here, 2, "right")
    deadline = time.monotonic() + 90
    while not list(Path("share-2").glob("trials/*.json")) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(playing.pid, signal.SIGKILL)
    playing.communicate(timeout=10)
    code, _ = gather("share-1", "share-2")
    assert code == 64
    assert run_words(["resume", "share-2"]) == 0
    code, folder = gather("share-1", "share-2")
    assert code in JUDGED
    assert find_blocks(folder.read_trials())["right"] <= {2, 3, 5}


def test_the_same_command_goes_on_with_a_killed_share(here: Path) -> None:
    newest = sorted(Path("share-1/trials").glob("*.json"))[-1]
    newest.unlink()
    play_share(here, 1, "left")
    assert newest.is_file()
    assert gather("share-1", "share-2")[0] in JUDGED


def test_a_missing_share_is_named_and_what_there_is_is_judged_with_partial_in_doubt(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _ = gather("share-1")
    assert code == 64
    assert "share 2 of 2 of suite is missing" in capsys.readouterr().err
    code, folder = gather("share-1", "--partial")
    verdict = folder.read_verdict()
    assert code in JUDGED
    assert verdict
    assert not verdict.complete
    assert "share 2 of 2 is missing" in verdict.sentence
    (finding,) = [each for each in verdict.findings if each.audit == "shares"]
    assert finding.soundness == "doubtful"


def test_packs_and_folders_of_folders_are_gathered_as_folders_are(here: Path) -> None:
    assert gather("share-1", "share-2", out="plain")[0] in JUDGED
    Path("artifacts/one").mkdir(parents=True)
    for index in (1, 2):
        assert run_words(["pack", f"share-{index}", "-o", f"artifacts/one/{index}.dyno.zip"]) == 0
    code, folder = gather("artifacts")
    plain = RunFolder(Path("plain")).read_verdict()
    packed = folder.read_verdict()
    assert code in JUDGED
    assert plain
    assert packed
    rows = [hide_hosts(each) for each in plain.comparisons]
    assert [hide_hosts(each) for each in packed.comparisons] == rows
    names = {each.host for row in packed.comparisons for each in row.hosts}
    assert len(names) == 2 and all(name.startswith("host-") for name in names)


def hide_hosts(row: Comparison) -> tuple[Comparison, set[HostEffect]]:
    """A row as it is whatever its hosts are called."""
    return replace(row, hosts=()), {replace(each, host="") for each in row.hosts}


def test_a_copy_of_a_share_is_left_out_and_one_played_twice_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree("share-1", "copy")
    newest = sorted(Path("copy/trials").glob("*.json"))[-1]
    newest.unlink()
    assert gather("copy", "share-1", "share-2")[0] in JUDGED
    assert "copy is a copy of share-1" in capsys.readouterr().err
    record = json.loads(Path("copy/run.json").read_text())
    Path("copy/run.json").write_text(json.dumps(record | {"created_utc": "2026-01-01T00:00:00Z"}))
    assert gather("copy", "share-1", "share-2", out="other")[0] == 64
    assert "share 1 is there twice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"dyno": "0.0.1"}, "another Dyno"),
        ({"driver_sha256": "0"}, "another dyno-driver"),
        ({"seed": 5}, "another seed"),
    ],
)
def test_shares_of_other_programs_are_refused_by_name(
    changes: dict[str, object], told: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = json.loads(Path("share-2/run.json").read_text())
    Path("share-2/run.json").write_text(json.dumps(record | changes))
    assert gather("share-1", "share-2")[0] == 64
    errors = capsys.readouterr().err
    assert f"share-2 has {told}" in errors
    assert "Traceback" not in errors
    assert not Path("gathered").exists()


def test_another_build_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads(Path("share-2/run.json").read_text())
    record["candidates"][1]["build"]["sha256"] = "0" * 64
    Path("share-2/run.json").write_text(json.dumps(record))
    assert gather("share-1", "share-2")[0] == 64
    assert "another build, setting or control of new" in capsys.readouterr().err


def test_trials_of_torn_attempts_are_left_out_and_told(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = sorted(Path("share-2/trials").glob("*.json"))
    torn = json.loads(files[-1].read_text()) | {"number": 90, "status": "interrupted", "attempt": 1}
    for file in files:
        trial = json.loads(file.read_text())
        if (trial["block"], trial["workload"]) == (torn["block"], torn["workload"]):
            file.write_text(json.dumps(trial | {"attempt": 2}))
    Path("share-2/trials/0090.json").write_text(json.dumps(torn))
    code, folder = gather("share-1", "share-2")
    assert code in JUDGED
    assert "a torn trial is left out" in capsys.readouterr().err
    assert all(trial.status == "ok" for trial in folder.read_trials())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["gather", "nowhere"], "there is no nowhere"),
        (["gather", "empty"], "there is no share of an experiment in empty"),
        (["gather", "suite.toml"], "no packed run"),
        (["gather", "share-1", "share-2", "--out", "share-1"], "share-1 already exists"),
        (["shard", "3/2", "suite.toml"], "no share 3 of 2"),
        (["shard", "2", "suite.toml"], "not a share such as 2/4"),
        (["shard", "1/2", "suite.toml", "--dir", "share-2"], "another run is in share-2"),
        (["shard", "1/2", "suite.toml", "--dir", "full"], "full is no folder for a share"),
        (["shard", "1/2", "suite.toml", "suite.toml"], "named twice"),
        (["shard", "1/2", "nowhere.toml"], "no experiment file"),
        (["resume", "gathered"], "was gathered"),
    ],
)
def test_bad_input_is_one_sentence(
    words: list[str], told: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty").mkdir()
    Path("full").mkdir()
    Path("full/notes").write_text("mine")
    if words[0] == "resume":
        gather("share-1", "share-2")
    assert run_words([*words, *(WORDS[2:] if words[0] == "shard" else [])]) == 64
    errors = capsys.readouterr().err
    assert told in errors
    assert "Traceback" not in errors


def test_a_share_with_nothing_to_play_says_so_and_is_not_missed(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["shard", "3/3", "suite.toml", "--split", "cells", *WORDS[2:]]) == 0
    assert "share 3 of 3 plays nothing of it" in capsys.readouterr().out
