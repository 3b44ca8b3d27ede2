"""A word of the user's as a side that is played: what it is, what it lies on, and who may write.

A folder gets a file of ours without a name, which the kernel removes with its last user. Somebody's
file is only read. A device is only read, unless its name was typed again and nobody uses it. What
fio opens is `/proc/PID/fd/N`, so no name of a file is read as an option.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from dyno.errors import HostError, UsageError
from dyno.host.checks import Machine, find_mount
from dyno.host.checks.device import read_device_facts
from dyno.instruments.disk import loop_device
from dyno.instruments.disk.file_blocks import measure_cached_bytes, read_blocks
from dyno.record.disk import DeviceFacts, DiskContent, DiskKind, DiskSide, FileBlocks

#: A smaller file is in the device's own cache, and says nothing.
LEAST_BYTES = 1 << 20
#: How much is written at once where a file of ours is filled.
CHUNK_BYTES = 4 << 20
#: What a file of ours is called until it loses its name.
PREFIX = "dyno-disk-"
#: Free space that is left beside a file of ours.
SPARE_BYTES = 64 << 20


def make_side(word: str, size_bytes: int, writable: Sequence[str] = ()) -> DiskSide:
    """The side that a path means; `writable` are devices whose names were typed again.

    `UsageError` for what is no folder, file or block device, `HostError` for a folder that cannot
    be written to or has no space.
    """
    if not word:
        raise UsageError("a PATH is empty", hint="`.` is the current folder")
    path = Path(word)
    try:
        found = path.stat()
    except OSError as error:
        cause = (error.strerror or "").lower()
        raise UsageError(f"{word} cannot be measured", cause=cause) from None
    if stat.S_ISDIR(found.st_mode):
        check_folder(path, size_bytes)
        return _describe(word, "directory", size_bytes, found.st_dev)
    if stat.S_ISBLK(found.st_mode):
        if word in writable:
            check_unused(path, found.st_rdev)
        size = _measure_size(path)
        return _describe(word, "device", size, found.st_rdev, raw=True)
    if stat.S_ISREG(found.st_mode):
        return _describe(word, "file", _measure_size(path), found.st_dev)
    raise UsageError(f"{word} is no folder, file or block device")


def _describe(
    word: str, kind: DiskKind, size_bytes: int, device: int, raw: bool = False
) -> DiskSide:
    if size_bytes < LEAST_BYTES:
        hint = "a smaller one lies in the device's own cache"
        raise UsageError(f"{word} has {size_bytes} bytes, and takes 1 MB at least", hint=hint)
    machine = Machine()
    mount = None if raw else find_mount(machine, Path(word).resolve())
    number = f"{os.major(device)}:{os.minor(device)}"
    if mount and not os.major(device):
        number = _find_source_number(mount.device)
    return DiskSide(
        name=word,
        path=str(Path(word).resolve()),
        kind=kind,
        size_bytes=size_bytes,
        file_system=mount.kind if mount else "",
        mount_options=tuple(sorted(mount.options)) if mount else (),
        device=read_device_facts(machine, number),
    )


def _find_source_number(source: str) -> str:
    """The device of a file system that counts as one of its own, as btrfs does."""
    with suppress(OSError):
        found = Path(source).stat()
        if stat.S_ISBLK(found.st_mode):
            return f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"
    return "0:0"


def _measure_size(path: Path) -> int:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.lseek(handle, 0, os.SEEK_END)
        finally:
            os.close(handle)
    except OSError as error:
        hint = "as root, and where no rules of a container's forbid it"
        cause = (error.strerror or "").lower()
        raise HostError(f"{path} cannot be read", cause=cause, hint=hint) from None


def check_folder(path: Path, size_bytes: int) -> None:
    """`HostError` where a file of that size does not fit, or none may be made."""
    free = shutil.disk_usage(path).free
    if free < size_bytes + SPARE_BYTES:
        raise HostError(
            f"{path} has {free >> 20} MB free, and the file of {size_bytes >> 20} MB does not fit",
            hint="free some, or take a smaller --size",
        )
    try:
        os.close(_open_unnamed(path))
    except OSError as error:
        cause = (error.strerror or "").lower()
        hint = "name a folder to which you may write"
        raise HostError(f"no file can be made in {path}", cause=cause, hint=hint) from None


def check_unused(path: Path, number: int, machine: Machine | None = None) -> None:
    """`UsageError` for a device that somebody uses: mounted, partitioned, swapped to, part of a
    mapping or an array, or held by any other.
    """
    machine, word = machine or Machine(), f"{os.major(number)}:{os.minor(number)}"
    rows = machine.read_text("/proc/self/mountinfo").splitlines()
    mounted = [row.split()[4] for row in rows if row.split()[2] == word]
    block = machine.find_path(f"/sys/dev/block/{word}")
    parts = sorted(each.parent.name for each in block.glob("*/partition"))
    holders = sorted(each.name for each in block.glob("holders/*"))
    swaps = machine.read_text("/proc/swaps").splitlines()[1:]
    if str(path.resolve()) in [row.split()[0] for row in swaps]:
        raise UsageError(f"{path} is swapped to, and is not written to")
    if mounted:
        raise UsageError(f"{path} is mounted at {mounted[0]}, and is not written to")
    if parts:
        raise UsageError(f"{path} has partitions ({', '.join(parts)}), and is not written to")
    if holders:
        raise UsageError(f"{path} is in use by {', '.join(holders)}, and is not written to")
    try:
        os.close(os.open(path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        cause = "the kernel says that somebody uses it" if error.errno == errno.EBUSY else ""
        raise UsageError(
            f"{path} is not written to", cause=cause or (error.strerror or "").lower()
        ) from None


def _open_unnamed(folder: Path) -> int:
    """A file without a name; where a file system has none, one that loses its name at once."""
    flags = os.O_RDWR | os.O_CLOEXEC
    try:
        return os.open(folder, os.O_TMPFILE | flags, 0o600)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
            raise
    for left in folder.glob(f"{PREFIX}????????"):  # of one that was killed just here
        with suppress(OSError):
            found = left.lstat()
            if stat.S_ISREG(found.st_mode) and not found.st_size and found.st_uid == os.geteuid():
                left.unlink()
    handle, name = tempfile.mkstemp(prefix=PREFIX, dir=folder)
    Path(name).unlink(missing_ok=True)
    return handle


@dataclass(frozen=True)
class OpenSide:
    """A side while it is played: `handle` is what fio opens; `file` the file behind it, ours or
    somebody's, which is the same but for a loop device; None for a device.
    """

    side: DiskSide
    handle: int
    file: int | None

    @property
    def _cached(self) -> set[int]:
        """What has pages in the page cache: a loop device some of its own beside its file's."""
        return {self.handle} | ({self.file} if self.file is not None else set())

    def drop_cache(self) -> None:
        """Takes its clean pages out of the page cache."""
        for handle in self._cached:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)

    def measure_cached_bytes(self) -> int | None:
        """How much of it the page cache holds; None where the kernel does not tell."""
        found = [measure_cached_bytes(handle) for handle in self._cached]
        return None if None in found else sum(filter(None, found))

    @property
    def path(self) -> str:
        """What fio opens."""
        return f"/proc/{os.getpid()}/fd/{self.handle}"


@contextmanager
def open_side(side: DiskSide, writable: bool = False) -> Iterator[OpenSide]:
    """Opens a side for a block: in a folder, a new file. `writable`: a device that may be written
    to, which `hold_device` holds. `HostError` where the disk is full.
    """
    with ExitStack() as stack:
        file: int | None
        if side.kind in ("directory", "loop"):
            file = _open_unnamed(Path(side.path))
            stack.callback(os.close, file)
            make_content(file, side.size_bytes, side.content, side.path)
            handle = (
                stack.enter_context(loop_device.open_loop(file)) if side.kind == "loop" else file
            )
        else:
            handle = _open_path(side.path, os.O_RDWR if writable else os.O_RDONLY)
            stack.callback(os.close, handle)
            file = handle if side.kind == "file" else None
        yield OpenSide(_look_again(side, handle, file), handle, file)


@contextmanager
def hold_device(path: str) -> Iterator[None]:
    """Holds a device that is written to: nobody else can mount it meanwhile, and `HostError` where
    somebody has. Several sides may lie on it.
    """
    handle = _open_path(path, os.O_RDWR | os.O_EXCL)
    try:
        yield
    finally:
        os.close(handle)


def _open_path(path: str, flags: int) -> int:
    try:
        return os.open(path, flags | os.O_CLOEXEC)
    except OSError as error:
        cause = (error.strerror or "").lower()
        raise HostError(f"{path} cannot be opened any more", cause=cause) from None


def _look_again(side: DiskSide, handle: int, file: int | None) -> DiskSide:
    """The side with what is seen once it is open: its blocks, a loop device of ours."""
    blocks = FileBlocks() if side.blocks == FileBlocks() else side.blocks
    if blocks == FileBlocks():
        blocks = read_blocks(handle if file is None else file, side.size_bytes)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    device: DeviceFacts = side.device
    if side.kind == "loop":
        number = os.fstat(handle).st_rdev
        own = read_device_facts(Machine(), f"{os.major(number)}:{os.minor(number)}")
        below = side.device.stack[-1:]
        device = replace(own, stack=(*own.stack, *below))
    return replace(side, blocks=blocks, device=device)


def find_loop_refusal(side: DiskSide) -> str:
    """Why a folder's file cannot be read through a loop device; empty where it can."""
    file = _open_unnamed(Path(side.path))
    try:
        os.ftruncate(file, LEAST_BYTES)
        return loop_device.find_refusal(file)
    finally:
        os.close(file)


def make_content(handle: int, size_bytes: int, content: DiskContent, where: str) -> None:
    """Gives a new file its size: random bytes, synced and out of the page cache, or a hole."""
    try:
        if content == "unwritten":
            os.ftruncate(handle, size_bytes)
            return
        left = size_bytes
        while left:
            data = os.urandom(min(CHUNK_BYTES, left))
            left -= os.write(handle, data)
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    except OSError as error:
        cause = (error.strerror or "").lower()
        hint = "free some, or take a smaller --size"
        raise HostError(f"cannot fill a file in {where}", cause=cause, hint=hint) from None
