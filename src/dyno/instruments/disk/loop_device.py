"""A loop device over a file of ours, which passes the page cache by and goes with its last user.

The kernel takes it away when nobody has it open any more (LO_FLAGS_AUTOCLEAR): so nothing of it is
left however we end. The interface is linux/loop.h's.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from dyno.errors import HostError

CONTROL = "/dev/loop-control"
LOOP_CTL_GET_FREE, LOOP_CONFIGURE = 0x4C82, 0x4C0A
READ_ONLY, AUTOCLEAR, DIRECT_IO = 1, 4, 16
#: loop_config: file, block size, and of loop_info64 the flags (behind 52 bytes); 304 bytes in all.
CONFIG = struct.Struct("=II52xI176x64x")
#: Somebody may take the free one between two calls.
TRIES = 8
BLOCK_BYTES = 512


@contextmanager
def open_loop(handle: int) -> Iterator[int]:
    """A loop device that reads the file behind `handle`; its descriptor. `HostError` where the host
    has none for us.
    """
    device = _attach(handle)
    try:
        yield device
    finally:
        os.close(device)


def find_refusal(handle: int) -> str:
    """Why no loop device can be made over the file behind `handle`, a clause; empty where one
    can.
    """
    try:
        with open_loop(handle):
            return ""
    except HostError as refused:
        return refused.sentence


def _attach(handle: int) -> int:
    config = CONFIG.pack(handle, BLOCK_BYTES, READ_ONLY | AUTOCLEAR | DIRECT_IO)
    for _ in range(TRIES):
        device = -1
        try:
            control = os.open(CONTROL, os.O_RDWR | os.O_CLOEXEC)
            try:
                number = fcntl.ioctl(control, LOOP_CTL_GET_FREE)
            finally:
                os.close(control)
            device = os.open(f"/dev/loop{number}", os.O_RDONLY | os.O_CLOEXEC)
            fcntl.ioctl(device, LOOP_CONFIGURE, config)
            return device
        except OSError as error:
            if device >= 0:
                os.close(device)
            if error.errno != errno.EBUSY:
                hint = "as root, on the host itself"
                cause = (error.strerror or "").lower()
                raise HostError("no loop device can be made", cause=cause, hint=hint) from None
    raise HostError("no loop device can be made", cause="somebody else takes each that is free")
