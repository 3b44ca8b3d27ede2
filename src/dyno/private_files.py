"""Records that are ours alone: folders of mode 0700, files of 0600, whatever the umask says.

A file is written whole or not at all, whatever kills us: beside its place, synced, renamed, and the
folder synced. A file beside it is made anew, so that no link that somebody put there is followed.
"""

from __future__ import annotations

import os
import shutil
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path

from dyno.locks import try_lock

FOLDER, FILE = 0o700, 0o600
#: What a user's own file may be, before the umask.
ANYBODYS = 0o666
#: What a file is called while it is written (`_write_aside`), in a run's folder or one within.
HALF_WRITTEN = ("*/.*.[0-9]*.new", "*/*/.*.[0-9]*.new")
#: What others must not have.
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_folder(path: Path, *, exist_ok: bool = False) -> None:
    """A private folder; those above it are made as any other. `OSError` as `Path.mkdir`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.mkdir(mode=FOLDER)
    except FileExistsError:
        if not exist_ok or not path.is_dir():
            raise
        tighten(path)


def remove_all(path: Path | str, dir_fd: int | None = None) -> None:
    """Removes a folder with all in it, as far as that can be; `OSError` where a part stays. One
    that is not there is none; `dir_fd` is the open folder that `path` lies in, if any.
    """
    try:
        shutil.rmtree(path, dir_fd=dir_fd)
    except OSError:
        # somebody may be at it too, and one file that stays is no reason for others to
        shutil.rmtree(path, ignore_errors=True, dir_fd=dir_fd)
        try:
            os.stat(path, dir_fd=dir_fd, follow_symlinks=False)
        except FileNotFoundError:
            return
        raise


def remove_folder(path: Path) -> str:
    """Removes a folder with all in it, as far as that can be; answers why the rest stays, as a
    sentence, empty where nothing does.
    """
    try:
        remove_all(path)
    except OSError as error:
        return f"{path} could not be removed: {error.strerror or error}"
    return ""


def tighten(path: Path) -> None:
    """Takes from others what they may do in a folder of ours, and in all within it; somebody
    else's folder, and one that is closed to others, stays as it is.
    """
    with suppress(OSError):
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or not _is_open(found):
            return
        path.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)
        for folder, _, files in os.walk(path):
            for place in (Path(folder), *(Path(folder, name) for name in files)):
                _close(place)


def _close(path: Path) -> None:
    with suppress(OSError):
        found = path.lstat()
        if not stat.S_ISLNK(found.st_mode) and _is_open(found):
            path.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)


def _is_open(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and bool(found.st_mode & _OTHERS)


def open_private(path: str | Path, flags: int) -> int:
    """An opener for `open`: a new file is private, and no link is followed."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, FILE)


@contextmanager
def write_new_file(path: Path, mode: int = FILE) -> Iterator[TextIOWrapper]:
    """A text file that gets its name once it is whole and on the disk; `OSError` leaves nothing."""
    with (
        _write_aside(path, mode) as handle,
        open(handle, "w", encoding="utf-8", newline="", closefd=False) as out,
    ):
        yield out


def write_bytes_whole(path: Path, content: bytes, mode: int = FILE) -> None:
    """The same of a file that is no text."""
    with _write_aside(path, mode) as handle, open(handle, "wb", closefd=False) as out:
        out.write(content)


@contextmanager
def _write_aside(path: Path, mode: int) -> Iterator[int]:
    """A descriptor of a file beside `path`, which takes its place at the end."""
    # Each thread has its own: two may write one file at once, and the last to end stays.
    aside = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_native_id()}.new")
    aside.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        handle = os.open(aside, flags, mode)
        try:
            yield handle
            os.fsync(handle)
        finally:
            os.close(handle)
        aside.replace(path)
        sync(path.parent)
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def remove_half_written(runs: Path, young_s: float) -> None:
    """Removes what killed Dynos had not yet written whole in the runs' folders; what is younger,
    and what lies in a folder that somebody has locked, stays.
    """
    for file in (file for names in HALF_WRITTEN for file in runs.glob(names)):
        with suppress(OSError):
            if time.time() - file.lstat().st_mtime <= young_s:
                continue
            folder = os.open(runs / file.relative_to(runs).parts[0], os.O_RDONLY | os.O_DIRECTORY)
            try:
                if try_lock(folder):
                    file.unlink(missing_ok=True)
            finally:
                os.close(folder)


def write_whole(path: Path, content: str | bytes, mode: int = FILE) -> None:
    """`write_new_file` with this text, or these bytes."""
    with write_new_file(path, mode) as out:
        if isinstance(content, bytes):
            out.buffer.write(content)
        else:
            out.write(content)


def sync(path: Path) -> None:
    """Has the system write a file, or a folder's names, to the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    """The same for all files and folders in `folder`, and for itself."""
    for place, _, files in os.walk(folder):
        for path in (*(Path(place, name) for name in files), Path(place)):
            if not path.is_symlink() and (path.is_file() or path.is_dir()):
                sync(path)
