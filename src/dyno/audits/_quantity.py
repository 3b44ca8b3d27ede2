"""Settings as numbers: sizes, times and switches, however they are spelled."""

from __future__ import annotations

import re

QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?)\s*([a-zµ]*)")
BYTES = {"b": 0, "k": 1, "kb": 1, "kib": 1, "m": 2, "mb": 2, "mib": 2, "g": 3, "gb": 3, "gib": 3}
SECONDS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
SWITCHES = {"on": 1.0, "true": 1.0, "yes": 1.0, "off": 0.0, "false": 0.0, "no": 0.0}


def quantity(text: str) -> tuple[str, float] | None:
    """A number and its kind (`bytes`, `seconds`, or none); None for words."""
    word = text.strip().casefold()
    if word in SWITCHES:
        return "", SWITCHES[word]
    match = QUANTITY.fullmatch(word)
    if match is None:
        return None
    number, unit = float(match[1]), match[2]
    if unit in BYTES:
        return "bytes", number * 1024 ** BYTES[unit]
    if unit in SECONDS:
        return "seconds", number * SECONDS[unit]
    return None if unit else ("", number)
