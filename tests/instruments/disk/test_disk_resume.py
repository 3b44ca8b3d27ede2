"""A run of disks that was killed or stopped: what is left, what goes on, and what other commands
make of one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from disk_runs import MB, READ, make_run, make_side
from msgspec.structs import replace

from dyno.cli import run_words
from dyno.instruments.disk.verdict import is_over
from dyno.record.disk import DiskRun
from dyno.runs.run_folder import RunFolder, read_json, write_json

WORDS = ("--size", "4M", "--blocks", "3", "--only", "read 4K, one*")


def wait_until(holds: Callable[[], object]) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come about in 60 s")


def read_runs(runs: Path) -> list[DiskRun]:
    return [read_json(DiskRun, file) for file in sorted(runs.glob("*/disk.json"))]


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dyno.cli", "disk", str(folder), *WORDS, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def stop(process: subprocess.Popen[str], runs: Path, by: signal.Signals) -> str:
    """Stops it in its second block; what it said."""
    try:
        wait_until(lambda: any(run.blocks for run in read_runs(runs)))
    finally:
        process.send_signal(by)
        _, said = process.communicate(timeout=30)
    return " ".join(said.split())


@pytest.mark.chaos
def test_a_killed_run_goes_on_with_the_block_that_was_torn_and_leaves_nothing(
    folder: Path, runs: Path
) -> None:
    stop(start(folder, "--time", "2s"), runs, signal.SIGKILL)
    (torn,) = read_runs(runs)
    assert 1 <= torn.blocks < 3 and not torn.is_traced
    assert run_words(["report", "last"]) == 0
    assert run_words(["resume", "last"]) == 0
    (whole,) = read_runs(runs)
    assert whole.blocks == 3 and whole.is_traced
    assert whole.plays[: len(torn.plays)] == torn.plays
    assert whole.plays[-1].at_s > torn.plays[-1].at_s
    assert not list(folder.iterdir())
    assert not list(runs.glob("*/.*"))


@pytest.mark.chaos
def test_an_interrupt_says_what_stays_and_how_it_goes_on(folder: Path, runs: Path) -> None:
    process = start(folder, "--time", "2s")
    said = stop(process, runs, signal.SIGINT)
    (name,) = [path.name for path in runs.iterdir()]
    assert process.returncode == 130 and f"`dyno resume {name}` goes on" in said


@pytest.mark.slow
def test_a_run_is_there_before_its_first_block_and_resumed_whole(folder: Path, runs: Path) -> None:
    assert run_words(["disk", str(folder), *WORDS, "--time", "0.1"]) == 0
    (run,) = read_runs(runs)
    (path,) = runs.iterdir()
    write_json(path / "disk.json", replace(run, plays=(), traces=(), is_traced=False))
    assert run_words(["report", "last"]) == 0
    assert run_words(["resume", "last"]) == 0
    assert read_runs(runs)[0].blocks == 3


def put_run(runs: Path, run: DiskRun, name: str = "20260102T000000Z-disk-x") -> Path:
    path = runs / name
    path.mkdir(parents=True)
    write_json(path / "disk.json", run)
    return path


def refuse(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run_words(list(words)) == 64
    return " ".join(capsys.readouterr().err.split())


def test_a_run_that_is_over_is_told_again_though_nothing_of_it_is_there_any_more(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = (make_side("/old"), make_side("/new"))
    slow = make_run(pair, rate=lambda side, block: 1e4 + block if side == "/old" else 5e3)
    put_run(runs, replace(slow, is_traced=True))
    assert run_words(["resume", "last"]) == 1
    assert "/new is slower" in capsys.readouterr().out


def test_a_run_whose_sides_or_fio_changed_is_not_resumed(
    folder: Path, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "data"
    file.write_bytes(os.urandom(4 * MB))
    assert run_words(["disk", str(file), *WORDS, "--time", "0.1"]) == 0
    (run,) = read_runs(runs)
    (path,) = runs.iterdir()
    torn = replace(run, plays=run.plays[:1], is_traced=False)
    capsys.readouterr()
    write_json(path / "disk.json", replace(torn, fio="fio-2.0"))
    assert "fio was fio-2.0 and is fio-" in refuse(capsys, "resume", "last")
    write_json(path / "disk.json", replace(torn, host=run.host | {"kernel": "1.0"}))
    assert "kernel was '1.0'" in refuse(capsys, "resume", "last")
    write_json(path / "disk.json", torn)
    file.write_bytes(os.urandom(5 * MB))
    assert f"{file}'s size was 4194304 and is 5242880" in refuse(capsys, "resume", "last")
    file.unlink()
    assert f"{file} cannot be measured" in refuse(capsys, "resume", "last")


def test_a_run_that_writes_to_a_device_is_resumed_only_where_its_name_is_typed_again(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    side = make_side("/dev/sdx", kind="device")
    put_run(runs, replace(make_run([side], blocks=1), analyses=(5,), writable=("/dev/sdx",)))
    said = refuse(capsys, "resume", "last")
    assert "the run writes to /dev/sdx" in said and "--write-device /dev/sdx" in said
    said = refuse(capsys, "resume", "last", "--write-device", "/dev/sdy")
    assert "the run writes to /dev/sdx" in said


def test_a_comparison_that_was_stopped_early_is_inconclusive_and_says_how_it_goes_on(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = (make_side("/old"), make_side("/new"))
    path = put_run(runs, replace(make_run(pair, blocks=1), analyses=(6, 10)))
    told = runs / "told.json"
    assert run_words(["report", "last", "--strict", "--json", str(told)]) == 2
    said = capsys.readouterr().out
    assert "Inconclusive: 1 block of 2" in said and f"dyno resume {path.name}" in said
    assert json.loads(told.read_text())["overall"] == "inconclusive"


def test_two_dynos_do_not_play_one_run(
    folder: Path, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["disk", str(folder), *WORDS, "--time", "0.1"]) == 0
    (path,) = runs.iterdir()
    (run,) = read_runs(runs)
    write_json(path / "disk.json", replace(run, plays=(), is_traced=False))
    with RunFolder(path).hold_alone():
        assert "another dyno plays" in refuse(capsys, "resume", "last")
        assert run_words(["clean", "--runs"]) == 0
        assert "is being played and stays" in capsys.readouterr().out


def test_what_was_half_written_goes_with_the_next_command_unless_somebody_plays_the_run(
    runs: Path, folder: Path
) -> None:
    path = put_run(runs, replace(make_run(), is_traced=True))
    files = [path / ".disk.json.4711.new", path / ".disk.json.4712.new"]
    for file in files:
        file.write_text("{")
    os.utime(files[0], (0, 0))
    words = ["disk", str(folder), *WORDS, "--time", "0.1", "--only", "nothing"]
    with RunFolder(path).hold_alone():
        assert run_words(words) == 64 and files[0].exists()
    assert run_words(words) == 64
    assert not files[0].exists() and files[1].exists()


def test_clean_frees_runs_of_every_kind(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = []
    for number, record in enumerate(("disk.json", "count.json", "capacity.json", "run.json")):
        names.append(f"2026010{number}T000000Z-x")
        (runs / names[-1]).mkdir(parents=True)
        (runs / names[-1] / record).write_text("{}")
    assert run_words(["clean", *names]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in names)
    assert run_words(["clean", *names, "--yes"]) == 0
    assert not list(runs.iterdir())


def test_what_takes_a_comparison_says_that_a_run_of_disks_is_none(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = put_run(runs, replace(make_run(), is_traced=True))
    assert "run of disks" in refuse(capsys, "report", "last", "--profile", "firefox")
    words = ("disk", "/var/tmp", *WORDS, "--run", path.name)
    assert f"{path.name} is a run of disks" in refuse(capsys, *words)
    for record in ("run.json", "capacity.json", "fleet.json"):
        (runs / f"of-{record}").mkdir()
        (runs / f"of-{record}" / record).write_text("{}")
        said = refuse(capsys, "resume", f"of-{record}", "--write-device", "/dev/x")
        assert "--write-device is for" in said


def test_a_packed_run_of_disks_is_judged_elsewhere(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put_run(runs, replace(make_run(jobs=(READ,)), is_traced=True))
    archive = tmp_path / "x.dyno.zip"
    assert run_words(["pack", "last", "--output", str(archive)]) == 0
    monkeypatch.setenv("DYNO_RUNS", str(tmp_path / "elsewhere"))
    assert run_words(["report", str(archive)]) == 0
    assert "1 job, 6 blocks" in capsys.readouterr().out
    with suppress(FileNotFoundError):
        archive.unlink()


def test_a_run_is_over_at_its_last_block_or_once_it_is_decided() -> None:
    pair = (make_side("/old"), make_side("/new"))
    slow = make_run(pair, rate=lambda side, block: 1e4 + block if side == "/old" else 5e3)
    assert is_over(replace(slow, analyses=(6, 10))) and not is_over(replace(slow, analyses=(10,)))
    assert not is_over(replace(make_run(pair, blocks=5), analyses=(6, 10)))
