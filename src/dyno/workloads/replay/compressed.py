"""Files that are compressed, known by their first bytes and read as a stream."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from dyno.errors import UsageError

_OPENERS: dict[bytes, Callable[[Path], object]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
_ZSTD = b"\x28\xb5\x2f\xfd"
#: Formats that hold files, or text in another form; each with what makes a log of it.
_REFUSED = {
    b"PK\x03\x04": ("a ZIP archive", "unzip it"),
    b"7z\xbc\xaf": ("a 7z archive", "unpack it"),
    b"\x04\x22\x4d\x18": ("compressed with LZ4", "lz4 -d it"),
    b"\xff\xfe": ("in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE"),
    b"\xfe\xff": ("in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE"),
    b"\xd4\xc3\xb2\xa1": ("a capture of packets", "replay the server's own log"),
    b"\xa1\xb2\xc3\xd4": ("a capture of packets", "replay the server's own log"),
    b"\x0a\x0d\x0d\x0a": ("a capture of packets", "replay the server's own log"),
}
_TAR_AT, _TAR = 257, b"ustar"


@contextmanager
def open_log(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a log, unpacked where it is compressed; `UsageError` where it is something that
    is not read.
    """
    with path.open("rb") as file:
        begin = file.read(_TAR_AT + len(_TAR))
    for magic, (what, hint) in _REFUSED.items():
        if begin.startswith(magic):
            raise UsageError(f"the log {path} is not read: it is {what}", hint=hint)
    if begin[_TAR_AT:] == _TAR:
        raise UsageError(f"the log {path} is not read: it is a TAR archive", hint="tar -x it")
    try:
        if begin.startswith(_ZSTD):
            with _unpack_zstd(path) as unpacked:
                yield unpacked
            return
        opener = next((it for magic, it in _OPENERS.items() if begin.startswith(magic)), None)
        with cast(IO[bytes], opener(path)) if opener else path.open("rb") as opened:
            yield opened
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise UsageError(
            f"the log {path} cannot be unpacked", cause=error, hint="was it copied whole?"
        ) from None


@contextmanager
def _unpack_zstd(path: Path) -> Iterator[IO[bytes]]:
    program = shutil.which("zstd")
    if program is None:
        raise UsageError(
            f"the log {path} is not read: it is compressed with Zstandard",
            hint="install the program zstd, or unpack it elsewhere",
        )
    command = [program, "-dcq", "--", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        with io.BufferedReader(cast(io.RawIOBase, process.stdout), 1 << 16) as unpacked:
            try:
                yield unpacked
                is_whole = not unpacked.read(1)
            except BaseException:
                process.kill()
                raise
        if not is_whole:
            process.kill()
        elif process.wait(60):
            raise EOFError("it ends within what it packs")
