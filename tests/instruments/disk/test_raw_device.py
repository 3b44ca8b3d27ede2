"""A raw device: played past any file system, and written to only where nobody uses it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import machines
import pytest
from disk_runs import MB
from loop_devices import attached, make_image

from dyno.cli import run_words
from dyno.errors import UsageError
from dyno.instruments.disk.side import check_unused, hold_device
from dyno.record.disk import DiskRun
from dyno.runs.run_folder import read_json

SHORT = ("--time", "0.1", "--blocks", "2")
READ, WRITE = ("--only", "read 4K, one*"), ("--only", "write 4K*")


@pytest.fixture
def device(folder: Path) -> Iterator[Path]:
    """A device of 8 MB that nobody uses, filled."""
    with attached(make_image(folder / "image", 8 * MB), "--direct-io=on") as found:
        yield found


def read_run(runs: Path) -> DiskRun:
    (record,) = runs.glob("*/disk.json")
    return read_json(DiskRun, record)


def refuse(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert run_words(["disk", *map(str, words)]) == 64
    return " ".join(capsys.readouterr().err.split())


def test_a_device_is_only_read_unless_its_name_is_typed_again(
    device: Path, folder: Path, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (folder / "image").read_bytes()
    assert run_words(["disk", str(device), *SHORT, *READ, *WRITE]) == 0
    assert f"{device} is only read" in capsys.readouterr().out
    assert (folder / "image").read_bytes() == before
    run = read_run(runs)
    assert [job.name for job in run.jobs] == ["read 4K, one at a time"] and not run.writable
    assert run.sides[0].kind == "device" and run.sides[0].blocks.zero_percent == 0.0


def test_a_device_whose_name_is_typed_again_is_written_to(
    device: Path, folder: Path, runs: Path
) -> None:
    before = (folder / "image").read_bytes()
    words = ["disk", str(device), "--write-device", str(device), *SHORT, *WRITE]
    assert run_words([*words, "--only", "log 4K + fsync"]) == 0
    after = (folder / "image").read_bytes()
    assert after != before and len(after) == len(before)
    assert read_run(runs).writable == (str(device),)


@pytest.mark.slow
def test_blocks_that_were_never_written_are_named_beside_filled_ones(
    device: Path, folder: Path, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with attached(make_image(folder / "hole", 8 * MB, filled=False), "--direct-io=on") as empty:
        assert run_words(["disk", str(device), str(empty), *SHORT, *READ]) == 3
        said = " ".join(capsys.readouterr().out.split())
    assert f"{empty}: 100 % of its sampled blocks hold zeros only" in said
    assert "unwritten invalid" in said
    assert f"unwritten): {device}" not in said


@pytest.mark.slow
def test_a_factor_is_played_on_a_device_that_is_written_to_and_the_scheduler_put_back(
    device: Path, runs: Path
) -> None:
    knob = Path(f"/sys/block/{device.name}/queue/scheduler")
    before = knob.read_text()
    if "mq-deadline" not in before or "none" not in before:
        pytest.skip(f"this kernel offers {before.strip()}")
    words = ["disk", str(device), "--write-device", str(device), *SHORT, *WRITE]
    assert run_words([*words, "--factor", "io_scheduler=none,mq-deadline"]) in (0, 1, 2)
    assert [side.scheduler for side in read_run(runs).sides] == ["none", "mq-deadline"]
    assert knob.read_text() == before


def test_a_device_with_a_file_system_that_is_mounted_is_not_written_to(
    device: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make = ["mkfs.ext4", "-q", str(device)]
    if shutil.which(make[0]) is None or subprocess.run(make, timeout=20).returncode:
        pytest.skip("there is no mkfs.ext4")
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    subprocess.run(["mount", str(device), str(mounted)], check=True, timeout=20)
    try:
        words = (device, "--write-device", device)
        assert f"{device} is mounted at {mounted}, and is not written to" in refuse(capsys, *words)
    finally:
        subprocess.run(["umount", str(mounted)], check=True, timeout=20)


def test_nobody_can_mount_a_device_while_it_is_written_to(device: Path) -> None:
    with hold_device(str(device)), pytest.raises(OSError, match="busy"):
        os.open(device, os.O_RDWR | os.O_EXCL)
    os.close(os.open(device, os.O_RDWR | os.O_EXCL))


BLOCK = "/sys/dev/block/8:0"


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"/proc/self/mountinfo": "20 1 8:0 / /x rw - ext4 /dev/sda rw\n"}, "is mounted at /x"),
        ({f"{BLOCK}/sda1/partition": "1\n", f"{BLOCK}/sda2/partition": "2\n"}, "has partitions"),
        ({f"{BLOCK}/holders/dm-0": ""}, "is in use by dm-0"),
        ({f"{BLOCK}/holders/md0": ""}, "is in use by md0"),
        (
            {"/proc/swaps": "Filename Type Size Used Priority\n/dev/sda partition 9 0 -2\n"},
            "is swapped to",
        ),
    ],
    ids=["mounted", "partitioned", "mapped", "array", "swap"],
)
def test_a_device_that_is_used_is_not_written_to(
    files: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    machines.write(tmp_path, {"/proc/self/mountinfo": "", **files})
    with pytest.raises(UsageError, match=f"/dev/sda {sentence}.* and is not written to"):
        check_unused(Path("/dev/sda"), os.makedev(8, 0), machines.machine(tmp_path))


def test_a_device_that_somebody_holds_is_not_written_to(device: Path) -> None:
    with hold_device(str(device)), pytest.raises(UsageError, match="somebody uses it"):
        check_unused(device, device.stat().st_rdev)


def test_a_name_that_is_typed_wrong_writes_to_nothing(
    device: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (folder / "image").read_bytes()
    assert "none of the paths" in refuse(capsys, device, "--write-device", f"{device}0")
    assert "none of the paths" in refuse(capsys, device, "--write-device", "/dev/vda")
    link = folder / "link"
    link.symlink_to(device)
    assert "none of the paths" in refuse(capsys, device, "--write-device", link)
    assert (folder / "image").read_bytes() == before
