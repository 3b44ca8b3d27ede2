"""What killed runs left is swept by the next one, and nothing that a living Dyno holds."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from fakes import make_run
from processes import wait_for

from dyno import scratch
from dyno.builds import cache
from dyno.instruments.time.leftovers import sweep_leftovers
from dyno.runs.run_folder import RunFolder, create_run

PLAY = ["play", "null", "-w", "oltp_point_select", "--set", "warmup_time=0"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of our own: where temporary things, homes, sockets, runs and the cache lie."""
    names = {"TMPDIR": "tmp", "DYNO_TMP": "homes", "XDG_RUNTIME_DIR": "user", "DYNO_CACHE": "cache"}
    for name, folder in names.items():
        (tmp_path / folder).mkdir()
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return tmp_path


def old(path: Path) -> Path:
    """A folder of a while ago, with something in it."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "data").write_bytes(bytes(5000))
    age(path)
    return path


def age(path: Path) -> None:
    os.utime(path, (time.time() - 3600,) * 2)


def test_folders_of_the_dead_go_and_those_of_the_living_stay(place: Path) -> None:
    dead = [
        old(place / "tmp" / "dyno-npm-abcdefgh"),
        old(place / "homes" / "dyno-play-abcdefgh"),
        old(place / "homes" / "dyno-20260101T000000Z-a-0123abcd"),
        old(place / "user" / "dyno-socket-abcdefgh"),
        old(place / "cache" / "program" / f"{cache.UNDER_WAY}sqlite-3.24-abcdefgh"),
        old(place / "cache" / "program" / f"{cache.UNDER_WAY}abcdefgh"),
    ]
    run = create_run(make_run(), place / "runs")
    dead.append(old(run.path / "home"))
    for name in ("20260101T000000Z-count-a", "20260101T000000Z-count-played", "mine"):
        (place / "runs" / name / "callgrind").mkdir(parents=True)
        old(place / "runs" / name)
    dead.append(place / "runs" / "20260101T000000Z-count-a")
    (place / "cache" / cache.LOCKS).mkdir()
    playing = RunFolder(place / "runs" / "20260101T000000Z-count-played")
    stays = [
        playing.path,
        place / "runs" / "mine",
        old(place / "tmp" / "dyno-notes"),
        old(place / "tmp" / "other"),
        old(place / "cache" / "program" / "sqlite-3.24"),
        # the work of a build that was killed, which the same command continues
        old(place / "cache" / "built" / f"{cache.UNDER_WAY}mysql-9.7.2-0123{cache.ARCHIVES}"),
        run.path / "run.json",
        place / "tmp" / "dyno-npm-justmade",
    ]
    stays[-1].mkdir()
    (place / "tmp" / "dyno-npm-linklink").symlink_to(place / "tmp" / "other")
    with scratch.make_folder("pgbench") as living, playing.hold_alone():
        age(living)
        swept = sweep_leftovers(place / "runs")
        assert living.exists() and sweep_leftovers(place / "runs").count == 0
    assert [it for it in dead if it.exists()] == []
    assert all(it.exists() for it in stays) and (place / "tmp" / "other" / "data").exists()
    assert swept.count == len(dead) and swept.size_bytes >= 5000 * len(dead)


def test_what_somebody_is_at_stays(place: Path) -> None:
    run = create_run(make_run(), place / "runs")
    home = old(run.path / "home")
    making = old(place / "cache" / "program" / f"{cache.UNDER_WAY}sqlite-3.24-abcdefgh")
    (place / "cache" / cache.LOCKS).mkdir()
    lock = place / "cache" / cache.LOCKS / "program-sqlite-3.24"
    with run.hold_alone(), cache.hold_lock(lock, lambda: None):
        assert sweep_leftovers(place / "runs").count == 0
        assert home.exists() and making.exists()
    assert sweep_leftovers(place / "runs").count == 2


@pytest.mark.slow
def test_the_run_after_a_killed_one_sweeps_and_says_so_in_a_line(place: Path) -> None:
    command = [sys.executable, "-m", "dyno.cli", *PLAY, "--set"]
    with subprocess.Popen([*command, "time=60"], stdout=subprocess.DEVNULL) as play:
        wait_for(lambda: len(list(place.glob("homes/dyno-*/0001"))) == 1)
        folders = list(place.glob("homes/dyno-*"))
        for path in folders:
            age(path)
        lives = subprocess.run([*command, "time=0.1"], capture_output=True, text=True, timeout=60)
        assert "killed runs" not in lives.stderr and all(it.exists() for it in folders)
        play.kill()
    for path in folders:
        age(path)
    after = subprocess.run([*command, "time=0.1"], capture_output=True, text=True, timeout=60)
    assert after.stderr.count(f"note: {len(folders)} folders of killed runs removed") == 1
    assert not any(it.exists() for it in folders)


def test_nothing_behind_a_link_is_swept(place: Path) -> None:
    victim = old(place / "victim" / "home")
    (place / "victim" / "run.json").write_text("{}")
    age(victim)
    (place / "runs").mkdir()
    (place / "runs" / "linked").symlink_to(place / "victim")
    run = create_run(make_run(), place / "runs")
    (run.path / "home").symlink_to(victim)
    os.utime(run.path / "home", (0, 0), follow_symlinks=False)
    swept = sweep_leftovers(place / "runs")
    assert (victim / "data").exists()
    # what stays is said
    stay = sorted(said.partition(" could not be removed: ")[0] for said in swept.left)
    assert stay == sorted(map(str, (run.path / "home", place / "runs" / "linked" / "home")))
    assert swept.count == 0


def test_folders_that_go_while_they_are_listed_are_no_fault(place: Path) -> None:
    ends = threading.Event()

    def come_and_go() -> None:
        while not ends.is_set():
            for number in range(50):
                (place / "tmp" / f"dyno-ask-{number:08}").mkdir()
            for number in range(50):
                (place / "tmp" / f"dyno-ask-{number:08}").rmdir()

    others = threading.Thread(target=come_and_go)
    others.start()
    try:
        for _ in range(300):
            scratch.list_leftovers()
            sweep_leftovers(place / "runs")
    finally:
        ends.set()
        others.join()
