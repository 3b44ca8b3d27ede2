"""Statements of a log as bytes of a file that the driver plays
(`crates/driver/src/script/recording.rs` reads it).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

#: An event: ns from the first statement of all; number of its type; bytes of its text, which
#: follows; number of its values, -1 where it has no parameters, each with its bytes, -1 for NULL.
EVENT, LENGTH = struct.Struct("<QIIi"), struct.Struct("<i")


def encode(text: str) -> bytes:
    """The bytes that were logged."""
    return text.encode(errors="surrogateescape")


def encode_values(values: Sequence[str | None]) -> bytes:
    """Values as a file has them."""
    parts = list[bytes]()
    for value in values:
        said = encode(value) if value is not None else b""
        parts += (LENGTH.pack(-1 if value is None else len(said)), said)
    return b"".join(parts)
