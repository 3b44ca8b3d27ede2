"""HDR histograms, read as the driver writes them.

The format is HdrHistogram's V2 without compression, in base64: a header of 40 bytes, then counts in
zigzag LEB128, a negative one for so many empty buckets (github.com/HdrHistogram/HdrHistogram,
AbstractHistogram.encodeIntoByteBuffer).
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

COOKIE = 0x1C849313
_HEADER = struct.Struct(">iiiiqqd")
#: The ninth byte of a number holds eight bits, and no sign that another follows.
_BYTES_MOST = 9


@dataclass(frozen=True)
class Histogram:
    """Counts by bucket, for values from `lowest` on, told apart to so many significant `digits`."""

    counts: NDArray[np.int64]
    lowest: int
    digits: int

    def list_values(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The largest value of each bucket that is not empty, and how many were recorded in it."""
        found = np.flatnonzero(self.counts)
        largest = np.array([self._find_largest(int(index)) for index in found], dtype=float)
        return largest, self.counts[found].astype(float)

    def _find_largest(self, index: int) -> int:
        """The largest value that falls into the bucket `index`."""
        magnitude = max(1, math.ceil(math.log2(2 * 10**self.digits)))
        half = 1 << (magnitude - 1)
        bucket, rest = (index >> (magnitude - 1)) - 1, (index & (half - 1)) + half
        if bucket < 0:
            bucket, rest = 0, rest - half
        shift = bucket + int(math.log2(self.lowest))
        return ((rest + 1) << shift) - 1


def decode_histogram(text: str) -> Histogram:
    """The histogram that `text` holds; `ValueError` where it is none."""
    try:
        data = base64.b64decode(text, validate=True)
        cookie, length, _, digits, lowest, _, _ = _HEADER.unpack_from(data)
    except (binascii.Error, struct.error) as error:
        raise ValueError(f"not an HDR histogram: {error}") from error
    if cookie != COOKIE or len(data) != _HEADER.size + length:
        raise ValueError("not an HDR histogram in V2 encoding")
    counts: list[int] = []
    for number in _decode_numbers(data[_HEADER.size :]):
        counts.extend([0] * -number if number < 0 else [number])
    return Histogram(np.asarray(counts, dtype=np.int64), lowest, digits)


def _decode_numbers(data: bytes) -> Iterator[int]:
    """Zigzag LEB128: seven bits a byte, lowest first, the sign in the last bit."""
    value = shift = 0
    for byte in data:
        last = shift == 7 * (_BYTES_MOST - 1)
        value |= (byte if last else byte & 0x7F) << shift
        shift += 7
        if last or byte < 0x80:
            yield (value >> 1) ^ -(value & 1)
            value = shift = 0
