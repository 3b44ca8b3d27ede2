"""A program under the layer: does what its words say to files in its working folder, and is killed.

Each word is `call,file,…`; the layer's calls are those of the C library, which Python's `os` makes.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import platform
import sys
from collections.abc import Callable

LIBC = ctypes.CDLL(None, use_errno=True)
#: linux/fs.h
RWF_DSYNC = 2
#: syscall(2)'s numbers of a write and of a sync.
NUMBERS = (1, 74) if platform.machine() == "x86_64" else (64, 82)
FILES: dict[str, int] = {}


def open_file(name: str, flags: int = os.O_RDWR | os.O_CREAT) -> int:
    if name not in FILES:
        FILES[name] = os.open(name, flags, 0o644)
    return FILES[name]


def write_direct(name: str, at: str, letter: str) -> None:
    page = mmap.mmap(-1, 4096)
    page.write(letter.encode() * 4096)
    os.pwritev(open_file(name, os.O_WRONLY | os.O_CREAT | os.O_DIRECT), [page], int(at))


def map_file(name: str) -> None:
    with mmap.mmap(open_file(name), 0) as mapped:
        mapped[0] = 33


def fork(*words: str) -> None:
    if os.fork() == 0:
        play(",".join(words))
        os._exit(0)
    os.wait()


def sync_range(name: str) -> None:
    assert LIBC.sync_file_range(open_file(name), ctypes.c_int64(0), ctypes.c_int64(0), 7) == 0


def write_by_number(name: str, text: str) -> None:
    assert LIBC.syscall(NUMBERS[0], open_file(name), text.encode(), len(text)) == len(text)


CALLS: dict[str, Callable[..., object]] = {
    "open": lambda name, flags: open_file(name, eval(flags, vars(os))),
    "write": lambda name, text: os.write(open_file(name), text.encode()),
    "writev": lambda name, *texts: os.writev(open_file(name), [it.encode() for it in texts]),
    "pwrite": lambda name, at, text: os.pwrite(open_file(name), text.encode(), int(at)),
    "pwritev": lambda name, at, text: os.pwritev(open_file(name), [text.encode()], int(at)),
    "dsync": lambda name, at, text: os.pwritev(
        open_file(name), [text.encode()], int(at), RWF_DSYNC
    ),
    "direct": write_direct,
    "ftruncate": lambda name, size: os.ftruncate(open_file(name), int(size)),
    "truncate": lambda name, size: os.truncate(name, int(size)),
    "allocate": lambda name, size: os.posix_fallocate(open_file(name), 0, int(size)),
    "copy": lambda name, to: os.copy_file_range(open_file(name), open_file(to), 1000, 0, 0),
    "send": lambda name, to: os.sendfile(open_file(to), open_file(name), 0, 1000),
    "write_by_number": write_by_number,
    "fsync_by_number": lambda name: LIBC.syscall(NUMBERS[1], open_file(name)),
    "fsync": lambda name: os.fsync(open_file(name)),
    "fdatasync": lambda name: os.fdatasync(open_file(name)),
    "sync": os.sync,
    "syncdir": lambda: os.fsync(os.open(".", os.O_RDONLY)),
    "link": os.link,
    "mkdir": os.mkdir,
    "sync_range": sync_range,
    "mmap": map_file,
    "rename": os.rename,
    "unlink": os.unlink,
    "close": lambda name: os.close(FILES.pop(name)),
    "lock": lambda name: fcntl.lockf(open_file(name), fcntl.LOCK_EX),
    "fork": fork,
}


def play(word: str) -> None:
    call, *rest = word.split(",")
    CALLS[call](*rest)


if __name__ == "__main__":
    for each in sys.argv[1:]:
        play(each)
    sys.stdout.write("done\n")
    sys.stdout.flush()
    sys.stdin.read()
