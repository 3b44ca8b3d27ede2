"""Histograms made of values, in the encoding that the driver writes; and as its own are checked:
added up, bucket by bucket, and their percentiles read.
"""

from __future__ import annotations

import base64
import math
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from dyno.judge.stats.histogram import Histogram, decode_histogram

HALF_BITS = 10


def encoded(values: Iterable[int]) -> str:
    """HDR V2 in base64: 1 ns to 1 h, three digits."""
    counts = Counter(_bucket(value) for value in values)
    body = bytes(byte for number in _runs(counts) for byte in _leb128(number))
    head = struct.pack(">iiiiqqd", 0x1C849313, len(body), 0, 3, 1, 3_600_000_000_000, 1.0)
    return base64.b64encode(head + body).decode()


def _bucket(value: int) -> int:
    shift = max(0, value.bit_length() - HALF_BITS - 1)
    return (shift << HALF_BITS) + (value >> shift)


def _runs(counts: Counter[int]) -> Iterator[int]:
    """Counts in order, an empty stretch as a negative number."""
    at = 0
    for bucket in sorted(counts):
        if bucket > at:
            yield at - bucket
        yield counts[bucket]
        at = bucket + 1


def _leb128(number: int) -> Iterator[int]:
    rest = number << 1 if number >= 0 else (-number << 1) - 1
    while rest >= 0x80:
        yield rest & 0x7F | 0x80
        rest >>= 7
    yield rest


def added_up(texts: Sequence[str]) -> Histogram:
    """The sum of encoded histograms of the same buckets."""
    found = [decode_histogram(text) for text in texts]
    counts = np.zeros(max(each.counts.size for each in found), dtype=np.int64)
    for each in found:
        counts[: each.counts.size] += each.counts
    return Histogram(counts, found[0].lowest, found[0].digits)


def percentile(histogram: Histogram, percent: float) -> int:
    """The largest value of the bucket below which `percent` of the values end; 0 of none.

    As the driver reads its own: at least one value, and rounded up to a whole number of them.
    99.9 ÷ 100 is a little over 0.999, which of 1000 values would make the last of the 999th.
    """
    largest, counts = histogram.list_values()
    if not counts.size:
        return 0
    quantile = round(min(percent, 100.0) * 1000.0) / 100_000.0
    wanted = max(1, math.ceil(quantile * int(counts.sum())))
    return int(largest[np.searchsorted(np.cumsum(counts), wanted)])
