"""What `dyno disk` leaves behind, and to what it does not write: files, devices, loop devices."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from disk_runs import MB, READ, make_side
from msgspec.structs import replace
from privileges import need_root

from dyno.cli import run_words
from dyno.errors import HostError, UsageError
from dyno.host.checks import Machine
from dyno.host.checks.device import read_device_facts
from dyno.instruments.disk.file_blocks import read_blocks
from dyno.instruments.disk.loop_device import open_loop
from dyno.instruments.disk.play import list_playable_jobs
from dyno.instruments.disk.side import check_unused, make_content, open_side
from dyno.instruments.disk.side import make_side as resolve_side
from dyno.record.disk import DiskJob


@pytest.fixture
def loop_devices() -> None:
    """Root's loop devices, which some containers have not."""
    need_root("loop devices")
    if not os.access("/dev/loop-control", os.W_OK):
        pytest.skip("this container has no loop devices")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder on a disk: tests' own may lie in memory."""
    path = Path("/var/tmp") / f"dyno-test-safety-{os.getpid()}"
    path.mkdir()
    yield path
    path.rmdir()


@contextmanager
def unnamed(folder: Path) -> Iterator[int]:
    handle = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)


def list_backing_files() -> list[str]:
    """What the loop devices of this machine lie in."""
    found = []
    for file in Path("/sys/block").glob("loop*/loop/backing_file"):
        with suppress(OSError):
            found.append(file.read_text().strip())
    return found


def test_a_filled_file_is_all_there_and_a_sparse_or_allocated_one_is_not(folder: Path) -> None:
    with unnamed(folder) as handle:
        make_content(handle, 2 * MB, "filled", str(folder))
        assert read_blocks(handle, 2 * MB).absent_percent == 0.0
    with unnamed(folder) as handle:
        make_content(handle, 2 * MB, "unwritten", str(folder))
        found = read_blocks(handle, 2 * MB)
        assert (found.absent_percent, found.zero_percent) == (100.0, 100.0)
    with unnamed(folder) as handle:
        os.posix_fallocate(handle, 0, 2 * MB)
        os.pwrite(handle, os.urandom(MB), 0)
        os.fsync(handle)
        found = read_blocks(handle, 2 * MB)
        assert (found.written_bytes, found.unwritten_bytes) == (MB, MB)


def test_our_file_has_no_name_while_it_is_measured(folder: Path) -> None:
    side = resolve_side(str(folder), 2 * MB)
    with open_side(side) as opened:
        assert not list(folder.iterdir())
        assert Path(opened.path).stat().st_size == 2 * MB
        assert opened.side.blocks.absent_percent == 0.0


def test_a_file_system_without_unnamed_files_has_one_that_loses_its_name_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def refuse(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return opened(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", refuse)
    (folder / "dyno-disk-killed00").touch()
    (folder / "dyno-disk-written0").write_text("somebody's")
    with open_side(resolve_side(str(folder), 2 * MB)) as opened_side:
        assert Path(opened_side.path).stat().st_size == 2 * MB
        assert [each.name for each in folder.iterdir()] == ["dyno-disk-written0"]
    (folder / "dyno-disk-written0").unlink()


def test_a_disk_that_fills_up_is_a_sentence() -> None:
    with (
        Path("/dev/full").open("wb", buffering=0) as full,
        pytest.raises(HostError, match="cannot fill a file in /x: no space left"),
    ):
        make_content(full.fileno(), MB, "filled", "/x")


def test_what_is_no_folder_of_the_users_is_only_read() -> None:
    write = DiskJob("write 4K", "randwrite")
    disk = make_side("/dev/sdx", kind="device")
    for side in (make_side("/data/file", kind="file"), disk):
        jobs, (note,) = list_playable_jobs((READ, write), [side], [])
        assert jobs == (READ,) and "only read" in note
    assert list_playable_jobs((READ, write), [disk], ["/dev/sdx"]) == ((READ, write), [])
    assert list_playable_jobs((READ, write), [make_side()], []) == ((READ, write), [])


@pytest.mark.usefixtures("loop_devices")
def test_a_mounted_device_is_not_written_to_though_its_name_is_typed_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    device = next(
        line.split()[0]
        for line in Path("/proc/mounts").read_text().splitlines()
        if line.startswith("/dev/")
    )
    assert run_words(["disk", device, "--write-device", device]) == 64
    assert "is mounted at" in capsys.readouterr().err


@pytest.mark.usefixtures("loop_devices")
def test_a_device_in_use_is_not_written_to(folder: Path) -> None:
    with unnamed(folder) as handle:
        make_content(handle, 2 * MB, "filled", str(folder))
        with open_loop(handle) as device:
            path = Path(f"/proc/self/fd/{device}").readlink()
            user = os.open(path, os.O_RDONLY | os.O_EXCL)
            try:
                with pytest.raises(UsageError, match=r"somebody uses it|read-only|permitted"):
                    check_unused(path, os.fstat(device).st_rdev)
            finally:
                os.close(user)


@pytest.mark.usefixtures("loop_devices")
def test_a_loop_device_of_ours_has_direct_io_and_goes_with_us(folder: Path) -> None:
    side = replace(resolve_side(str(folder), 2 * MB), kind="loop")
    with open_side(side) as opened:
        facts = opened.side.device
        assert facts.loop_direct and facts.name.startswith("loop")
        assert any(str(folder) in name for name in list_backing_files())
    wait_until(lambda: not any(str(folder) in name for name in list_backing_files()))


@pytest.mark.usefixtures("loop_devices")
def test_a_loop_device_without_direct_io_is_seen(folder: Path) -> None:
    file = folder / "image"
    file.write_bytes(os.urandom(2 * MB))
    made = subprocess.run(
        ["losetup", "--find", "--show", "--read-only", str(file)],
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    device = made.stdout.strip()
    try:
        number = Path(device).stat().st_rdev
        facts = read_device_facts(Machine(), f"{os.major(number)}:{os.minor(number)}")
        assert facts.loop_direct is False and facts.loop_file == str(file)
    finally:
        subprocess.run(["losetup", "--detach", device], check=True, timeout=20)
        file.unlink()


def wait_until(holds: Callable[[], object]) -> None:
    for _ in range(400):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come about in 40 s")


def list_users(folder: Path) -> list[int]:
    """The processes that have a file open below the folder."""
    found = []
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if str(folder) in str(link.readlink()):
                found.append(int(link.parts[2]))
    return found


@pytest.mark.chaos
def test_killed_at_once_it_leaves_no_file_no_fio_and_no_loop_device(
    folder: Path, tmp_path: Path
) -> None:
    matrix = tmp_path / "m.toml"
    matrix.write_text(
        '[[jobs]]\nname = "read"\npattern = "randread"\n'
        '[[sides]]\nname = "file"\n[[sides]]\nname = "raw"\nloop = true\n'
    )
    words = ["disk", str(folder), "--matrix", str(matrix), "--time", "30s", "--size", "4M"]
    process = subprocess.Popen(
        [sys.executable, "-m", "dyno.cli", *words],
        env=os.environ | {"DYNO_RUNS": str(tmp_path / "runs")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: find_fio_of(process.pid))
        (fio,) = find_fio_of(process.pid)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=10)
    wait_until(lambda: not Path(f"/proc/{fio}").exists())
    wait_until(lambda: not list_users(folder))
    wait_until(lambda: not any(str(folder) in name for name in list_backing_files()))
    assert not list(folder.iterdir())


def find_fio_of(pid: int) -> list[int]:
    """The process fio that plays what our process has open."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = line.read_bytes().split(b"\0")
            if words[0].endswith(b"fio") and any(b"/proc/%d/fd/" % pid in it for it in words):
                found.append(int(line.parts[2]))
    return found
