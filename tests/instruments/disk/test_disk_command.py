"""`dyno disk`, played by a real fio: a folder, two of them, and what is refused by a sentence."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dyno.cli import run_words
from dyno.host.checks import Machine
from dyno.instruments.disk.matrix import change_job, read_matrix
from dyno.instruments.disk.play import choose_slices, draw_file_order, is_turned
from dyno.instruments.disk.run import DiskPlan, plan_disk_run
from dyno.record.disk import DiskJob, DiskRun
from dyno.runs.run_folder import read_json

SHORT = ("--time", "0.1", "--size", "4M", "--blocks", "2")


@pytest.mark.slow
def test_a_folder_is_measured_and_nothing_is_left_in_it(
    folder: Path, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["disk", str(folder), *SHORT, "--only", "read 4K*"]) == 0
    said = capsys.readouterr().out
    assert "read 4K, one at a time" in said and "a second path would be compared" in said
    assert not list(folder.iterdir())
    (record,) = runs.glob("*/disk.json")
    run = read_json(DiskRun, record)
    assert run.blocks == 2 and run.sides[0].blocks.absent_percent == 0.0
    assert "Where the time of a request goes" in (record.parent / "report.html").read_text()


@pytest.mark.slow
def test_two_folders_are_compared_with_the_words_of_a_comparison(
    folder: Path, tmp_path: Path
) -> None:
    told = tmp_path / "told.json"
    other = folder / "other"
    other.mkdir(exist_ok=True)
    words = ["disk", str(folder), str(other), *SHORT, "--only", "log 4K + fsync"]
    code = run_words([*words, "--margin", "99", "--json", str(told)])
    data = json.loads(told.read_text())
    assert code == {"not slower": 0, "faster": 0, "slower": 1, "inconclusive": 2}[data["overall"]]
    (row,) = data["comparisons"]
    assert (row["base"], row["candidate"], row["blocks"]) == (str(folder), str(other), 2)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("/nowhere",), "/nowhere cannot be measured: no such file or directory"),
        (("/dev/null",), "no folder, file or block device"),
        (("/var/tmp", "--only", "rite*"), "unknown job 'rite*'"),
        (("/var/tmp", "--matrix", "ful"), "unknown matrix 'ful'"),
        (("/var/tmp", "--size", "1K"), "takes 1 MB at least"),
        (("/var/tmp", "--size", "900T"), "does not fit"),
        (("/var/tmp", "--margin", "0"), "--margin must be above 0"),
        (("/var/tmp", "--factor", "noatime=on,off"), "for mount options, name two folders"),
        (("/var/tmp", "--factor", "engine=sync,psync"), "unknown engine 'sync'"),
        (("/var/tmp", "--factor", "io_scheduler=fast,none"), "unknown value of io_scheduler"),
        (("/var/tmp", "--write-device", "/dev/sdx"), "none of the paths"),
        (("/var/tmp", "--write-device", "/var/tmp"), "is no block device"),
        (("/var/tmp", "/tmp", "--blocks", "1"), "--blocks is 2 at least"),
        (("/proc",), "does not fit"),
        (("/var/tmp", "/var/tmp/"), "one path is named twice: /var/tmp and /var/tmp/"),
        (("/var/tmp", "--factor", "users=2,2", "--only", "read 4K, one*"), "be played twice"),
        (("/var/tmp", "--factor", "sync=,none", "--only", "log 4K + f*"), "be played twice"),
        (("/var/tmp", "--factor", "users=2"), "a factor has two levels at least, users has one"),
        (("",), "a PATH is empty"),
        (("/proc/self/mem",), "/proc/self/mem cannot be read: invalid argument"),
        (("/var/tmp", "--time", "1ms"), "--time is 0.05 at least (got 0.001)"),
        (("/var/tmp", "/tmp", "--aa"), "--aa plays one path against itself"),
        (("/var/tmp", "--aa", "--factor", "depth=1,2"), "--aa plays one path against itself"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_is_played(
    words: tuple[str, ...], sentence: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["disk", *words]) == 64
    said = " ".join(capsys.readouterr().err.split())
    assert sentence in said and said.count("hint:") <= 1
    assert not list(runs.glob("*"))


JOB = '[[jobs]]\nname = "a"\npattern = "randread"\n'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("jobs = 5", "jobs is a list of tables"),
        ('[jobs]\nname = "a"', "jobs is a list of tables"),
        ('[[jobs]]\nname = 5\npattern = "read"', "name of a job is a text (got 5)"),
        ('[[jobs]]\nname = "a"\npattern = ["read"]', "pattern of a job is a text"),
        (f"{JOB}block = []", "has no jobs"),
        (f"{JOB}block = 4096.5", "a block is 512 bytes to 16M (got '4096.5')"),
        (f'{JOB}block = "1.0001K"', "a block is 512 bytes to 16M (got '1.0001K')"),
        (f"{JOB}depth = true", "depth is 1 to 64 (got 'True')"),
        (f"{JOB}users = [2, 2]", "has two jobs named 'a, users 2'"),
        (f"{JOB}[[sides]]\nloop = true", "a side needs a name"),
        (f'{JOB}[[sides]]\nname = "x"\nloop = "no"', "loop of side 'x' is true or false"),
        (f'{JOB}[[sides]]\nname = "x"\n[[sides]]\nname = "x"', "'x' would be played twice"),
        (f'{JOB}[[published]]\nfactor = "two"', "a published figure needs what"),
        (f"question = 5\n{JOB}", "is a text (got 5)"),
    ],
)
def test_a_mistake_in_a_matrix_is_a_sentence(
    text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.toml").write_text(text)
    words = ["disk", "/var/tmp", "--matrix", str(tmp_path / "m.toml"), *SHORT]
    assert run_words(words) == 64
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_a_block_is_counted_in_powers_of_two() -> None:
    job = change_job(DiskJob("a", "read"), {"block": "1.5K"})
    assert job.block_bytes == 1536


def test_a_file_is_only_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "data: with a colon"
    content = os.urandom(4 << 20)
    file.write_bytes(content)
    assert run_words(["disk", str(file), *SHORT, "--only", "scan*", "--only", "log*"]) == 0
    assert "4 jobs are left out that write" in capsys.readouterr().out
    assert file.read_bytes() == content
    file.unlink()


@pytest.mark.slow
def test_waiting_for_the_disk_in_each_write_is_slower_than_not_waiting(folder: Path) -> None:
    words = ["disk", str(folder), "--factor", "sync=none,dsync", "--only", "log 16K*"]
    assert run_words([*words, "--time", "0.2", "--size", "8M", "--blocks", "5"]) == 1


def test_a_directory_on_memory_is_called_memory(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not os.path.ismount("/dev/shm"):
        pytest.skip("there is no /dev/shm")
    words = ["disk", "/dev/shm", *SHORT, "--only", "read 4K, buffered"]
    assert run_words(words) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "buffered: /dev/shm lies on tmpfs: memory, and no disk is below it" in said


def test_a_sparse_file_is_caught_by_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "sparse"
    with file.open("wb") as out:
        out.truncate(8 << 20)
    try:
        assert run_words(["disk", str(file), *SHORT, "--only", "read 4K, one*"]) == 3
    finally:
        file.unlink()
    assert "100 % of the file was never written" in " ".join(capsys.readouterr().out.split())


@pytest.fixture
def throttled() -> Iterator[Path]:
    """A control group in which every disk reads 200 times a second at most."""
    group = Path("/sys/fs/cgroup/blkio") / f"dyno-test-{os.getpid()}"
    device = Path("/var/tmp").stat().st_dev
    disk = f"{os.major(device)}:{os.minor(device)}"
    if os.geteuid() or not group.parent.is_dir() or not Path(f"/sys/dev/block/{disk}").is_dir():
        pytest.skip("takes root, cgroups of version 1 and a disk")
    group.mkdir()
    try:
        (group / "blkio.throttle.read_iops_device").write_text(f"{disk} 200")
        yield group
    finally:
        group.rmdir()


@pytest.mark.slow
def test_a_device_that_a_control_group_slows_down_is_caught_by_name(
    folder: Path, runs: Path, throttled: Path
) -> None:
    words = ["disk", str(folder), *SHORT, "--only", "read 4K, one*"]
    enter = f'echo $$ >{throttled}/cgroup.procs && exec "$@"'
    command = ["sh", "-c", enter, "sh", sys.executable, "-m", "dyno.cli", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert "this control group allows read_iops=200 on" in done.stdout, done.stderr
    (record,) = runs.glob("*/disk.json")
    assert read_json(DiskRun, record).plays[-1].rate < 400


def test_a_container_that_refuses_io_uring_plays_libaio_and_says_so(folder: Path) -> None:
    plan = DiskPlan([str(folder)], read_matrix("default"), size_bytes=4 << 20)
    run = plan_disk_run(plan, Machine(uring_errno=lambda: errno.EPERM))
    assert {job.engine for job in run.jobs} == {"psync", "libaio"}
    assert "io_uring is refused here (operation not permitted)" in run.notes[0]
    allowed = plan_disk_run(plan, Machine(uring_errno=lambda: 0))
    assert "io_uring" in {job.engine for job in allowed.jobs} and not allowed.notes


@pytest.mark.slow
def test_paths_are_interleaved_in_slices_that_balance_a_drift(folder: Path, runs: Path) -> None:
    words = ["disk", str(folder), "--aa", *SHORT, "--only", "read 4K, one*"]
    assert run_words([*words, "--margin", "99"]) in (0, 1, 2)
    (record,) = runs.glob("*/disk.json")
    run = read_json(DiskRun, record)
    assert run.is_aa and run.slices == 2 and run.analyses == (2,)
    names = [side.name for side in run.sides]
    assert names == [str(folder), f"{folder} (again)"]
    made = [draw_file_order(run, block) for block in range(2)]
    assert made[0] == made[1][::-1] and sorted(made[0]) == names  # each file is first once
    for block in range(2):
        order = [names.index(play.side) for play in run.plays if play.block == block]
        assert order in ([0, 1, 1, 0], [1, 0, 0, 1])


def test_a_long_job_has_many_slices_and_a_single_path_one() -> None:
    assert [choose_slices(play_s, 2) for play_s in (0.1, 1.0, 2.0, 4.0, 60.0)] == [2, 2, 4, 8, 16]
    assert choose_slices(60.0, 1) == 1
    assert [is_turned(at) for at in range(4)] == [False, True, True, False]


def test_a_home_of_runs_that_cannot_be_made_is_a_sentence(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "runs"
    file.touch()
    for home, cause in (("/proc/x", ""), (str(file), f"{file} is a file")):
        monkeypatch.setenv("DYNO_RUNS", home)
        assert run_words(["disk", str(folder), *SHORT, "--only", "read 4K, one*"]) == 64
        said = capsys.readouterr().err
        assert f"cannot make {home}/" in said and "with DYNO_RUNS" in said
        assert cause in said
