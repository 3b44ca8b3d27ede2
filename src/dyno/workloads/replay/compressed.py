"""Files that are compressed, known by their first bytes and read as a stream."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from dyno.errors import UsageError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_OPENERS: dict[bytes, Callable[[Path], object]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
    b"\x28\xb5\x2f\xfd": zstd.open,
}
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
def open_log(path: Path, kind: str = "log") -> Iterator[IO[bytes]]:
    """The bytes of a log (or of what `kind` says), unpacked where it is compressed; `UsageError`
    where it is something that is not read.
    """
    with path.open("rb") as file:
        begin = file.read(_TAR_AT + len(_TAR))
    for magic, (what, hint) in _REFUSED.items():
        if begin.startswith(magic):
            raise UsageError(f"the {kind} {path} is not read: it is {what}", hint=hint)
    if begin[_TAR_AT:] == _TAR:
        raise UsageError(f"the {kind} {path} is not read: it is a TAR archive", hint="tar -x it")
    try:
        opener = next((it for magic, it in _OPENERS.items() if begin.startswith(magic)), None)
        with cast(IO[bytes], opener(path)) if opener else path.open("rb") as opened:
            yield opened
    except (EOFError, OSError, zlib.error, lzma.LZMAError, zstd.ZstdError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's; what unpacks has no number
        raise UsageError(
            f"the {kind} {path} cannot be unpacked", cause=error, hint="was it copied whole?"
        ) from None
