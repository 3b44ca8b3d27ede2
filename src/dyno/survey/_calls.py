"""The questions about a machine that no file answers."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
from pathlib import Path

#: `io_uring_setup` has one number on every architecture (it is younger than their agreement).
IO_URING_SETUP = 425
#: timex(2): `status` lies behind one int and four longs; this bit of it is STA_UNSYNC.
TIMEX_STATUS, STA_UNSYNC = 40, 0x40
TIMEX_BYTES = 256


def free(folder: Path) -> tuple[int, int]:
    """Bytes that are free, and bytes in all, on the file system of `folder`."""
    usage = shutil.disk_usage(folder)
    return usage.free, usage.total


def uring_errno() -> int:
    """Why the kernel refuses io_uring, or 0.

    It is asked for a ring without entries at no address, which it never makes: where it is willing
    it finds fault with these (EINVAL, EFAULT), else with us (EPERM, ENOSYS).
    """
    code = _errno(IO_URING_SETUP)
    return 0 if code in (errno.EINVAL, errno.EFAULT) else code


def _errno(number: int) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    answer = library.syscall(ctypes.c_long(number), ctypes.c_uint(0), None)
    if answer >= 0:
        os.close(answer)
        return 0
    return ctypes.get_errno()


def clock_synchronised() -> bool | None:
    """Does somebody (NTP) keep the kernel's clock right? adjtimex(2) without a change."""
    library = ctypes.CDLL(None, use_errno=True)
    timex = ctypes.create_string_buffer(TIMEX_BYTES)
    if ctypes.sizeof(ctypes.c_long) != 8 or library.adjtimex(timex) < 0:
        return None
    status = int.from_bytes(timex.raw[TIMEX_STATUS : TIMEX_STATUS + 4], "little")
    return not status & STA_UNSYNC
