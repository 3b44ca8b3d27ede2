"""Which blocks of a file are there: written, allocated and never written, or holes; and how much of
it the page cache holds.

The kernel is asked by FIEMAP (Documentation/filesystems/fiemap.rst), by SEEK_DATA where a file
system has none (lseek(2)), and by cachestat(2), which is there since Linux 6.5.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import random
import stat
import struct
from collections.abc import Iterator

from dyno.record.disk import FileBlocks

#: ioctl FS_IOC_FIEMAP, its header and an extent of it, and flags of linux/fiemap.h.
FIEMAP, FIEMAP_SYNC = 0xC020660B, 1
HEADER, EXTENT = struct.Struct("=QQIIII"), struct.Struct("=QQQ16xI12x")
EXTENT_LAST, EXTENT_UNWRITTEN = 0x1, 0x800
EXTENTS_AT_ONCE = 512
#: cachestat(2): one number on every machine, for it is younger than their agreement.
CACHESTAT = 451
#: Blocks of a sample, in which never-written ones are seen by their zeros.
SAMPLED, SAMPLE_BYTES = 64, 4096


def read_blocks(handle: int, size_bytes: int) -> FileBlocks:
    """The blocks of the file or device behind `handle`; of a device, and where a file system tells
    nothing, only the sample.
    """
    zero = measure_zero_percent(handle, size_bytes)
    if stat.S_ISBLK(os.fstat(handle).st_mode):
        return FileBlocks(zero_percent=zero)
    try:
        extents = list(_list_extents(handle, size_bytes))
    except OSError:
        return _measure_by_seek(handle, size_bytes, zero)
    written = sum(length for length, flags in extents if not flags & EXTENT_UNWRITTEN)
    unwritten = sum(length for length, flags in extents if flags & EXTENT_UNWRITTEN)
    written, unwritten = min(written, size_bytes), min(unwritten, size_bytes)
    hole = max(0, size_bytes - written - unwritten)
    return FileBlocks(written, unwritten, hole, len(extents), zero)


def _list_extents(handle: int, size_bytes: int) -> Iterator[tuple[int, int]]:
    """Length and flags of each extent, as far as it lies within the file."""
    start = 0
    while start < size_bytes:
        header = HEADER.pack(start, size_bytes - start, FIEMAP_SYNC, 0, EXTENTS_AT_ONCE, 0)
        buffer = bytearray(header + bytes(EXTENTS_AT_ONCE * EXTENT.size))
        fcntl.ioctl(handle, FIEMAP, buffer)
        count = HEADER.unpack_from(buffer)[3]
        for number in range(count):
            at, _, length, flags = EXTENT.unpack_from(buffer, HEADER.size + number * EXTENT.size)
            yield min(at + length, size_bytes) - at, flags
            start = at + length
            if flags & EXTENT_LAST:
                return
        if not count:
            return


def _measure_by_seek(handle: int, size_bytes: int, zero: float | None) -> FileBlocks:
    """Data and holes by SEEK_DATA: it does not tell written blocks from unwritten ones."""
    at = data = 0
    try:
        while at < size_bytes:
            begin = os.lseek(handle, at, os.SEEK_DATA)
            at = os.lseek(handle, begin, os.SEEK_HOLE)
            data += at - begin
    except OSError as error:
        if error.errno != errno.ENXIO:  # that is: no data behind here
            return FileBlocks(zero_percent=zero)
    return FileBlocks(data, 0, size_bytes - data, None, zero)


def measure_zero_percent(handle: int, size_bytes: int) -> float | None:
    """The share of blocks, of some drawn at random, that hold zeros only; None where none can be
    read.
    """
    rng = random.Random(size_bytes)
    blocks = size_bytes // SAMPLE_BYTES
    if blocks == 0:
        return None
    zeros = 0
    for _ in range(SAMPLED):
        try:
            data = os.pread(handle, SAMPLE_BYTES, rng.randrange(blocks) * SAMPLE_BYTES)
        except OSError:
            return None
        zeros += not any(data)
    return 100.0 * zeros / SAMPLED


def measure_cached_bytes(handle: int) -> int | None:
    """How much of a file the page cache holds; None where the kernel does not tell."""
    library = ctypes.CDLL(None, use_errno=True)
    whole, found = (ctypes.c_uint64 * 2)(0, 0), (ctypes.c_uint64 * 5)()
    if library.syscall(CACHESTAT, handle, ctypes.byref(whole), ctypes.byref(found), 0):
        return None
    return int(found[0]) * os.sysconf("SC_PAGE_SIZE")
